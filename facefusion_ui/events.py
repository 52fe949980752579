"""What a job yields while it runs."""

from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from facefusion_ui.arrays import Frame
from facefusion_ui.notices import SteppedDown, SteppedUp, Warned
from facefusion_ui.report import Report


@dataclass(frozen=True)
class Progress:
    """Frames done so far. `total` is None when the file does not say; `left_s` likewise."""

    done: int
    total: int | None
    fps: float
    left_s: float | None


@dataclass(frozen=True, eq=False)
class FrameReady:
    """A finished frame, (H, W, 3) uint8 BGR; `index` counts from 0 in the output."""

    index: int
    frame: Frame


@dataclass(frozen=True)
class Done:
    """The output is whole and has its final name."""

    output_path: Path
    report: Report


Event: TypeAlias = Progress | FrameReady | Warned | SteppedDown | SteppedUp | Done
