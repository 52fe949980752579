"""The job report: what was asked, what ran, what came out, what the user was warned of."""

from datetime import datetime
from pathlib import Path

from pydantic import BaseModel

from facefusion_ui.notices import SteppedDown, SteppedUp, Warned
from facefusion_ui.plans import Plan
from facefusion_ui.settings import Settings


class ModelUsed(BaseModel):
    """A model that ran in the job."""

    name: str
    task: str
    licence: str
    commercial_use: bool
    device: str


class Report(BaseModel):
    """Written as JSON by `--report FILE.json` or beside the output.

    Counts are of output frames; `faces_swapped` counts faces over all frames. `seconds` maps a
    stage to its wall time; `peak_memory_bytes` is the resident set of this process,
    `peak_card_bytes` what the models took of the card. `plan` is what was foreseen at the start,
    `loads` how often each model was opened then.
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
    peak_card_bytes: int
    plan: Plan | None
    loads: dict[str, int]
    steps_down: list[SteppedDown]
    steps_up: list[SteppedUp]
    warnings: list[Warned]
