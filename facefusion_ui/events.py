"""What a job yields while it runs."""

from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from facefusion_ui.arrays import Frame
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
class Warned:
    """Something the user should know; the job goes on. Each message is sent once per job."""

    message: str
    hint: str


@dataclass(frozen=True)
class SteppedDown:
    """Memory ran out, and the job goes on with less. The first of its kind in a job is shown.

    Attributes:
        stage: the model's task.
        rung: what is done now; a name of `registry/ladder.py`, or "evict".
        free_bytes: of the card at that moment; None where it cannot be read.
        reason: the runtime's own words, in one line.
        lossless: whether the picture stays the same.
        message, hint: the same in plain words.
    """

    stage: str
    model: str
    rung: str
    free_bytes: int | None
    reason: str
    lossless: bool
    message: str
    hint: str


@dataclass(frozen=True)
class Done:
    """The output is whole and has its final name."""

    output_path: Path
    report: Report


Event: TypeAlias = Progress | FrameReady | Warned | SteppedDown | Done
