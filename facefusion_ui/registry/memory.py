"""How much of the card's memory is free, and how much of it this program may use.

The driver's reading counts all programs. Without a driver that can be asked (AMD, Apple, WSL), what
the program's own models take is counted against the limit the user gave.
"""

import os
import sys
from typing import Literal

import pynvml

from facefusion_ui.registry.virtual_card import VirtualCard

Level = Literal["ok", "tight", "critical"]

TIGHT_SHARE = 0.85  # of the card in use
TIGHT_BYTES = 512_000_000  # free
CRITICAL_BYTES = 128_000_000  # free
# For what no arena shows: the CUDA context, cuDNN's and cuBLAS's handles; Windows keeps more.
RESERVE_BYTES = 768_000_000 if sys.platform == "win32" else 512_000_000


def driver_name(device_id: int, visible: str | None) -> int | str:
    """Return what the driver calls CUDA's card `device_id`: its number in PCI order, or its UUID.

    Args:
        visible: the environment's CUDA_VISIBLE_DEVICES, which the driver itself does not heed.

    >>> driver_name(1, None), driver_name(1, "2,0"), driver_name(0, "GPU-5ca1ab1e")
    (1, 0, 'GPU-5ca1ab1e')
    """
    names = [name.strip() for name in (visible or "").split(",") if name.strip()]
    if not names:
        return device_id
    name = names[min(device_id, len(names) - 1)]
    return int(name) if name.isdecimal() else name


class DriverReading:
    """The memory of an NVIDIA card as its driver shows it; asking makes no CUDA context."""

    def __init__(self, device_id: int) -> None:
        """Find the card.

        Raises:
            pynvml.NVMLError: there is no driver, or it does not show this card.
        """
        pynvml.nvmlInit()
        name = driver_name(device_id, os.environ.get("CUDA_VISIBLE_DEVICES"))
        self._handle = (
            pynvml.nvmlDeviceGetHandleByIndex(name)
            if isinstance(name, int)
            else pynvml.nvmlDeviceGetHandleByUUID(name)
        )
        self.name: str = pynvml.nvmlDeviceGetName(self._handle)
        self.total_bytes = int(pynvml.nvmlDeviceGetMemoryInfo(self._handle).total)
        self.capability: tuple[int, int] = tuple(
            pynvml.nvmlDeviceGetCudaComputeCapability(self._handle)
        )

    @property
    def free_bytes(self) -> int:
        """What no program uses now."""
        return int(pynvml.nvmlDeviceGetMemoryInfo(self._handle).free)

    @property
    def used_bytes(self) -> int:
        """What all programs use now."""
        return self.total_bytes - self.free_bytes

    def begin(self) -> None:
        """Begin to watch what is used."""

    def most_bytes(self) -> int:
        """Return the most that was used since `begin`: what a run has taken its session keeps."""
        return self.used_bytes


class Memory:
    """The memory that models on the card may take.

    Attributes:
        reading: what shows it; None: nothing does.
        limit_bytes: what may be used at most; None: what is free.
        reserve_bytes: kept free for what is not in a model's account.
        spills: the driver moves memory to the system, and slows down, in place of failing.
    """

    def __init__(self, reading: DriverReading | VirtualCard | None) -> None:
        self.reading = reading
        self.limit_bytes: int | None = None
        real = isinstance(reading, DriverReading)
        self.reserve_bytes = RESERVE_BYTES if real else 0
        self.spills = real and sys.platform == "win32"

    @property
    def total_bytes(self) -> int | None:
        """The card's size, or the limit if that is less; None: nobody knows."""
        sizes = [self.limit_bytes, self.reading.total_bytes if self.reading else None]
        return min((size for size in sizes if size is not None), default=None)

    def free_bytes(self, held_bytes: int) -> int | None:
        """Return what may still be taken; None: nobody knows.

        Args:
            held_bytes: what this program's own models hold on the card.
        """
        free = [self.reading.free_bytes - self.reserve_bytes] if self.reading else []
        if self.limit_bytes is not None:
            free.append(self.limit_bytes - held_bytes)
        return max(0, min(free)) if free else None

    def level(self, held_bytes: int) -> Level:
        """Return how near the end of the memory is."""
        free, total = self.free_bytes(held_bytes), self.total_bytes
        if free is None or total is None:
            return "ok"
        if free < CRITICAL_BYTES:
            return "critical"
        return "tight" if free < TIGHT_BYTES or free < (1 - TIGHT_SHARE) * total else "ok"
