"""Opening networks: the only module that imports onnxruntime.

ONNX Runtime falls back to the CPU without a word when a provider does not load, and its outputs are
views that keep memory of the session alive; here the first is an error and the second a copy.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facefusion_ui.errors import DeviceError, ModelError
from facefusion_ui.registry.device import ORT_NAMES
from facefusion_ui.registry.graphs import read_graph
from facefusion_ui.settings import ExecutionProvider

SPARING = {  # of a card's memory: no arena that doubles, no search and no scratch space to spare
    "arena_extend_strategy": "kSameAsRequested",
    "cudnn_conv_algo_search": "HEURISTIC",
    "cudnn_conv_use_max_workspace": "0",
}
LOG_FATAL = 4  # the runtime's own lines say nothing the raised errors do not


def load_runtime() -> Any:
    """Return onnxruntime: quiet, and without the telemetry that some of its builds carry."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read while it is imported
    import onnxruntime

    onnxruntime.set_default_logger_severity(LOG_FATAL)
    return onnxruntime


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
    ) -> None:
        """Open `path`; `frees_shape` lets its inputs have any batch and size; 0 `threads`: all.

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
            ort.preload_dlls()
        options = ort.SessionOptions()
        options.enable_mem_pattern = False
        options.intra_op_num_threads = threads
        options.log_severity_level = LOG_FATAL
        device = {} if provider == "cpu" else {"device_id": str(device_id)}
        if provider == "cuda":
            options.add_session_config_entry("session.use_device_allocator_for_initializers", "1")
            device |= SPARING
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
            raise DeviceError(
                f"{provider} was asked for, but ONNX Runtime could not load it",
                hint="Update the card's driver (580 or newer), or use --execution-providers cpu.",
            )
        self.shrinks = False
        self._shrinking = ort.RunOptions()
        if provider == "cuda":
            self._shrinking.add_run_config_entry(
                "memory.enable_memory_arena_shrinkage", f"gpu:{device_id}"
            )

    @property
    def input_shapes(self) -> Mapping[str, tuple[int | str | None, ...]]:
        return {node.name: tuple(node.shape) for node in self._session.get_inputs()}

    def __call__(self, feeds: Mapping[str, NDArray[np.generic]]) -> list[NDArray[np.float32]]:
        how = self._shrinking if self.shrinks else None
        return [np.array(output) for output in self._session.run(None, dict(feeds), how)]
