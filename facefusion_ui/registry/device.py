"""Which device runs the models."""

from collections.abc import Sequence

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


def choose_provider(asked: Sequence[ExecutionProvider]) -> ExecutionProvider:
    """Return the provider to open models on: the first asked for, `auto` resolved by looking.

    >>> choose_provider(["cpu"])
    'cpu'
    """
    first = asked[0]
    if first == "auto":
        return "cuda" if count_nvidia_cards() else "cpu"
    return first
