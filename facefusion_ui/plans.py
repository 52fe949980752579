"""What a job is going to do with the card's memory."""

from typing import Literal

from pydantic import BaseModel

from facefusion_ui.cards import Task
from facefusion_ui.notices import told_bytes


class PlannedStage(BaseModel):
    """One model in the plan. `passing`: closed after each stage, opened again for the next chunk.

    Bytes are of the card, 0 on the processor; `working_bytes` comes on top while it runs.
    """

    task: Task
    model: str
    device: str
    rung: str
    passing: bool
    weights_bytes: int
    working_bytes: int


class Plan(BaseModel):
    """Who is resident when, and what the peak on the card will be.

    Attributes:
        order: "frame": each frame passes all stages; "stage": each stage passes a chunk of frames.
        chunk_frames: frames in hand at a time.
        budget_bytes: what models may take of the card; None: there is no card, or nobody knows.
        unpinned: the generator's name, if not even it stays on the card.
        choices: which models were chosen by the program, and why.
    """

    order: Literal["frame", "stage"]
    chunk_frames: int
    stages: tuple[PlannedStage, ...]
    peak_bytes: int
    budget_bytes: int | None
    unpinned: str | None = None
    choices: tuple[str, ...] = ()

    @property
    def staying(self) -> frozenset[str]:
        """Names of the models that stay open after their stage."""
        return frozenset(stage.model for stage in self.stages if not stage.passing)

    def told(self) -> list[str]:
        """Return the plan for people, in a few words per model."""
        said = [*self.choices]
        said += [_told_stage(stage, self.chunk_frames) for stage in self.stages]
        if self.budget_bytes is not None:
            said.append(f"peak {told_bytes(self.peak_bytes)} of {told_bytes(self.budget_bytes)}")
        return said


def _told_stage(stage: PlannedStage, chunk_frames: int) -> str:
    if stage.device == "cpu":
        return f"{stage.model} {'left out' if stage.rung == 'off' else 'on the processor'}"
    said = f"{stage.model} {told_bytes(stage.weights_bytes)}"
    if stage.rung != "card":
        said += f" with {stage.rung}"
    if not stage.passing:
        return f"{said} resident"
    return f"{said} opened once per {chunk_frames} frame{'s' if chunk_frames > 1 else ''}"
