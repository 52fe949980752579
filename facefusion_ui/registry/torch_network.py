"""Running torch's own networks, and writing them as ONNX: the only module that imports torch."""

import contextlib
import gc
import pickle
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facefusion_ui.cards import TorchCode
from facefusion_ui.errors import DeviceError, ModelError

OPSET = 17
EXAMPLE_SIDE = 64  # of a picture that may have any size


class TorchNetwork:
    """A network of torch's on one device; implements `contracts.Network`.

    Attributes:
        bytes: what its weights take.
    """

    def __init__(self, path: Path, code: TorchCode, *, device: str, half: bool) -> None:
        """Open the weights at `path`.

        Args:
            device: "cpu" or "cuda:0".
            half: run in half precision where torch thinks it right.

        Raises:
            DeviceError: torch does not find `device`; the CPU is never taken in its place.
            ModelError: the file is not what `code` expects.
            Exception: torch's own, when memory runs out.
        """
        import torch

        if device != "cpu" and not torch.cuda.is_available():
            raise DeviceError(
                f"{device} was asked for, but torch does not find it",
                hint="Look at doctor, or use --execution-providers cpu.",
            )
        self._torch: Any = torch
        self._code = code
        self._device = device
        self._half = half
        self._network = _load(path, code).to(device)
        tensors = [*self._network.parameters(), *self._network.buffers()]
        self.bytes = sum(tensor.numel() * tensor.element_size() for tensor in tensors)

    @property
    def input_shapes(self) -> Mapping[str, tuple[int | str | None, ...]]:
        return {
            name: tuple(None if side < 0 else side for side in shape)
            for name, shape in self._code.inputs.items()
        }

    @property
    def output_names(self) -> tuple[str, ...]:
        return ("output",)

    def last_initializer(self) -> NDArray[np.generic]:
        raise ModelError("torch's networks have no graph", hint="Use the model's ONNX edition.")

    def __call__(self, feeds: Mapping[str, NDArray[np.generic]]) -> list[NDArray[np.float32]]:
        torch = self._torch
        half = torch.autocast("cuda", torch.float16) if self._half else contextlib.nullcontext()
        with torch.inference_mode(), half:
            inputs = [torch.from_numpy(feeds[name]).to(self._device) for name in self._code.inputs]
            output = self._code.call(self._network, *inputs)
            return [np.array(output.float().cpu().numpy())]

    def close(self) -> None:
        """Give the memory back; the network cannot run any more."""
        del self._network
        gc.collect()
        if self._device != "cpu":
            self._torch.cuda.empty_cache()


def write_onnx(path: Path, code: TorchCode, out: Path) -> None:
    """Write the network of the weights at `path` as ONNX to `out`.

    Raises:
        ModelError: the file is not what `code` expects.
    """
    import torch

    network = _load(path, code)

    class Traced(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, *inputs: Any) -> Any:
            return code.call(self.network, *inputs)

    free = {
        name: {axis: f"side_{axis}" for axis, side in enumerate(shape) if side < 0}
        for name, shape in code.inputs.items()
    }
    examples = [
        torch.rand(
            [EXAMPLE_SIDE if side < 0 else side for side in shape],
            dtype=torch.float64 if name in code.doubles else torch.float32,
        )
        for name, shape in code.inputs.items()
    ]
    with torch.inference_mode(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the tracer's, about lengths that it keeps
        torch.onnx.export(
            Traced().eval(),
            tuple(examples),
            str(out),
            input_names=list(code.inputs),
            output_names=["output"],
            dynamic_axes={name: axes for name, axes in free.items() if axes},
            opset_version=OPSET,
            dynamo=False,
        )


def _load(path: Path, code: TorchCode) -> Any:
    """Return the network of the weights at `path`, on the processor, for use alone."""
    import torch

    try:  # the file is mapped, not read: only what the device takes is taken
        mapped = zipfile.is_zipfile(path)  # what torch wrote before 1.6 is read whole
        state = torch.load(path, map_location="cpu", mmap=mapped, weights_only=True)
        return code.build(state).eval().requires_grad_(False)
    except (KeyError, EOFError, ValueError, OSError, pickle.UnpicklingError) as error:
        raise _wrong(path, error) from error
    except RuntimeError as error:
        if "state_dict" not in str(error) and "archive" not in str(error):
            raise
        raise _wrong(path, error) from error


def _wrong(path: Path, error: Exception) -> ModelError:
    first = str(error).strip().partition("\n")[0].partition(". ")[0][:200]
    return ModelError(
        f"{path.name} is not what its card says: {first}", hint="Download the model again."
    )
