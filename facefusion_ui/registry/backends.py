"""Opening networks: the only module that imports onnxruntime.

ONNX Runtime falls back to the CPU without a word when a provider does not load, and its outputs are
views that keep memory of the session alive; here the first is an error and the second a copy.
"""

import contextlib
import ctypes
import io
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facefusion_ui.errors import DeviceError, ModelError
from facefusion_ui.registry.device import ORT_NAMES
from facefusion_ui.registry.graphs import check_feeds, last_initializer, read_graph
from facefusion_ui.settings import ExecutionProvider

LOG_FATAL = 4  # the runtime's own lines say nothing the raised errors do not


NEEDED = "(lib[^ /]+[.]so[.0-9]*): cannot open shared object"
CUDA_FILES = ("libonnxruntime_providers_cuda.so", "onnxruntime_providers_cuda.dll")
DRIVER_CURE = "Install the card's driver, 580 or newer"
LIBRARY_CURE = 'Run: pip install "onnxruntime-gpu[cuda,cudnn]=={version}"'


def cuda_options(
    device_id: int, *, generous: bool, limit_bytes: int | None, weights_bytes: int
) -> dict[str, str]:
    """Return the options of a session on an NVIDIA card.

    Args:
        generous: memory may be spent on scratch space and on searching the fastest convolution.
        limit_bytes: what the arena may grow to; below the weights the runtime would heed no limit.

    >>> options = cuda_options(0, generous=False, limit_bytes=None, weights_bytes=1)
    >>> options["cudnn_conv_algo_search"], options["cudnn_conv_use_max_workspace"]
    ('HEURISTIC', '0')
    """
    options = {
        "device_id": str(device_id),
        "arena_extend_strategy": "kSameAsRequested",  # the other one doubles
        "cudnn_conv_algo_search": "EXHAUSTIVE" if generous else "HEURISTIC",
        "cudnn_conv_use_max_workspace": "1" if generous else "0",
    }
    if limit_bytes is not None and limit_bytes > weights_bytes:
        options["gpu_mem_limit"] = str(limit_bytes)
    return options


def load_runtime() -> Any:
    """Return onnxruntime: quiet, and without the telemetry that some of its builds carry."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read while it is imported
    import onnxruntime

    onnxruntime.set_default_logger_severity(LOG_FATAL)
    return onnxruntime


def cuda_is_overwritten() -> bool:
    """Tell whether the GPU build lies under the files of another build, which offers no CUDA."""
    ort = load_runtime()
    offered = ORT_NAMES["cuda"] in ort.get_available_providers()
    return bool(_cuda_files()) and not offered


def _cuda_files() -> list[Path]:
    folder = Path(load_runtime().__file__).parent / "capi"
    return [folder / name for name in CUDA_FILES if (folder / name).is_file()]


def cuda_trouble() -> tuple[str, str]:
    """Return why ONNX Runtime cannot load CUDA here, and the cure."""
    ort = load_runtime()
    with contextlib.redirect_stdout(io.StringIO()):  # it prints what it does not find
        ort.preload_dlls()
    install = LIBRARY_CURE.format(version=ort.__version__)
    if not _cuda_files():
        return "the installed onnxruntime has no CUDA in it", install
    try:
        ctypes.CDLL(str(_cuda_files()[0]))
    except OSError as error:
        missing = re.search(NEEDED, str(error))
        name = missing[1] if missing else str(error)
        is_driver = name.startswith(("libcuda.so", "libnvidia"))
        return f"{name} is missing", DRIVER_CURE if is_driver else install
    return "the card or its driver does not answer", DRIVER_CURE


class OnnxNetwork:
    """A session on one device; implements `contracts.Network`.

    Attributes:
        shrinks: after a run, memory that is not in use is given back to the device at once.
    """

    def __init__(
        self,
        path: Path,
        *,
        provider: ExecutionProvider,
        device_id: int,
        frees_shape: bool = False,
        threads: int = 0,
        generous: bool = False,
        limit_bytes: int | None = None,
    ) -> None:
        """Open `path`.

        Args:
            frees_shape: lets its inputs have any batch and size.
            threads: of the processor; 0: as many as there are cores.
            generous, limit_bytes: see `cuda_options`.

        Raises:
            DeviceError: `provider` does not run here; the CPU is never taken in its place.
            ModelError: the file is not a network ONNX Runtime can open.
        """
        ort = load_runtime()
        name = ORT_NAMES[provider]
        if name not in ort.get_available_providers():
            raise DeviceError(
                f"{provider} is not part of the installed onnxruntime",
                hint="Use --execution-providers cpu, or reinstall the requirements.",
            )
        if provider == "cuda":
            with contextlib.redirect_stdout(io.StringIO()):  # it prints what it does not find
                ort.preload_dlls()
        options = ort.SessionOptions()
        options.enable_mem_pattern = False
        options.intra_op_num_threads = threads
        options.log_severity_level = LOG_FATAL
        device: dict[str, str] = {}
        if provider == "cuda":
            options.add_session_config_entry("session.use_device_allocator_for_initializers", "1")
            device = cuda_options(
                device_id,
                generous=generous,
                limit_bytes=limit_bytes,
                weights_bytes=path.stat().st_size,
            )
        try:
            self._session = ort.InferenceSession(
                read_graph(path, frees_shape=True).SerializeToString()
                if frees_shape
                else str(path),
                options,
                providers=[(name, device)],
                enable_fallback=0,
            )
        except Exception as error:
            raise ModelError(
                f"{path.name} cannot be opened: {error}", hint="The file may be damaged."
            ) from error
        if self._session.get_providers()[0] != name:
            why, cure = cuda_trouble() if provider == "cuda" else ("it does not run here", "")
            raise DeviceError(
                f"{provider} was asked for, but ONNX Runtime could not load it: {why}",
                hint=f"{cure or 'Look at doctor'}, or use --execution-providers cpu.",
            )
        self._path = path
        self.shrinks = False
        self._shrinking = ort.RunOptions()
        if provider == "cuda":
            self._shrinking.add_run_config_entry(
                "memory.enable_memory_arena_shrinkage", f"gpu:{device_id}"
            )

    @property
    def input_shapes(self) -> Mapping[str, tuple[int | str | None, ...]]:
        return {node.name: tuple(node.shape) for node in self._session.get_inputs()}

    @property
    def output_names(self) -> tuple[str, ...]:
        return tuple(node.name for node in self._session.get_outputs())

    def last_initializer(self) -> NDArray[np.generic]:
        return last_initializer(self._path)

    def __call__(self, feeds: Mapping[str, NDArray[np.generic]]) -> list[NDArray[np.float32]]:
        check_feeds(self._path, self.input_shapes, feeds)
        how = self._shrinking if self.shrinks else None
        return [np.array(output) for output in self._session.run(None, dict(feeds), how)]
