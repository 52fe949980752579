"""Which device runs the models."""

from dataclasses import dataclass

import pynvml

from facefusion_ui.settings import ExecutionProvider

ORT_NAMES: dict[ExecutionProvider, str] = {
    "cpu": "CPUExecutionProvider",
    "cuda": "CUDAExecutionProvider",
    "coreml": "CoreMLExecutionProvider",
}


@dataclass(frozen=True)
class NvidiaCard:
    """A card as the driver shows it at this moment."""

    name: str
    total_bytes: int
    free_bytes: int
    capability: str
    driver: str


def nvidia_cards() -> list[NvidiaCard]:
    """Return the cards that an NVIDIA driver shows; none without a driver."""
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return []
    try:
        driver = pynvml.nvmlSystemGetDriverVersion()
        cards = []
        for index in range(pynvml.nvmlDeviceGetCount()):
            handle = pynvml.nvmlDeviceGetHandleByIndex(index)
            memory = pynvml.nvmlDeviceGetMemoryInfo(handle)
            major, minor = pynvml.nvmlDeviceGetCudaComputeCapability(handle)
            cards.append(
                NvidiaCard(
                    name=pynvml.nvmlDeviceGetName(handle),
                    total_bytes=int(memory.total),
                    free_bytes=int(memory.free),
                    capability=f"{major}.{minor}",
                    driver=driver,
                )
            )
        return cards
    finally:
        pynvml.nvmlShutdown()


def choose_provider(asked: ExecutionProvider) -> ExecutionProvider:
    """Return the provider to open models on; `auto` is resolved by looking for a card.

    >>> choose_provider("cpu")
    'cpu'
    """
    if asked == "auto":
        return "cuda" if nvidia_cards() else "cpu"
    return asked


def card_bytes(asked: ExecutionProvider, device_id: int) -> int | None:
    """Return the size of the card that models will run on; None: there is none, or nobody knows."""
    cards = nvidia_cards() if choose_provider(asked) == "cuda" else []
    return cards[device_id].total_bytes if device_id < len(cards) else None
