"""Which device runs the models."""

import pynvml

from facefusion_ui.settings import ExecutionProvider

ORT_NAMES: dict[ExecutionProvider, str] = {
    "cpu": "CPUExecutionProvider",
    "cuda": "CUDAExecutionProvider",
    "coreml": "CoreMLExecutionProvider",
}


def count_nvidia_cards() -> int:
    """Return how many NVIDIA cards the driver shows; 0 without a driver."""
    try:
        pynvml.nvmlInit()
        try:
            return int(pynvml.nvmlDeviceGetCount())
        finally:
            pynvml.nvmlShutdown()
    except pynvml.NVMLError:
        return 0


def choose_provider(asked: ExecutionProvider) -> ExecutionProvider:
    """Return the provider to open models on; `auto` is resolved by looking for a card.

    >>> choose_provider("cpu")
    'cpu'
    """
    if asked == "auto":
        return "cuda" if count_nvidia_cards() else "cpu"
    return asked
