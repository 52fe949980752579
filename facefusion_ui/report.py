"""The job report: what was asked, what ran, what came out, what the user was warned of."""

from datetime import datetime
from pathlib import Path

from pydantic import BaseModel

from facefusion_ui.settings import Settings


class ModelUsed(BaseModel):
    """A model that ran in the job."""

    name: str
    task: str
    licence: str
    commercial_use: bool
    device: str


class WarningGiven(BaseModel):
    """A warning as the user saw it."""

    message: str
    hint: str


class StepDown(BaseModel):
    """What was given up when memory ran out; see `events.SteppedDown`."""

    stage: str
    model: str
    rung: str
    free_bytes: int | None
    reason: str
    lossless: bool
    message: str
    hint: str


class Report(BaseModel):
    """Written as JSON by `--report FILE.json` or beside the output.

    Counts are of output frames; `faces_swapped` counts faces over all frames. `seconds` maps a
    stage to its wall time; `peak_memory_bytes` is the resident set of this process.
    """

    version: str
    started: datetime
    settings: Settings
    output_path: Path
    device: str
    models: list[ModelUsed]
    frames: int
    frames_without_face: int
    faces_swapped: int
    seconds: dict[str, float]
    total_seconds: float
    peak_memory_bytes: int
    steps_down: list[StepDown]
    warnings: list[WarningGiven]
