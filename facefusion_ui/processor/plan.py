"""What a job will do with the card's memory, foreseen from what its models need.

Everything stays on the card where it fits. Where it does not, a clip is worked on in chunks: all
frames of a chunk pass one stage, then the next, so that a model is opened once per chunk.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import psutil

from facefusion_ui.cards import ModelCard
from facefusion_ui.plans import Plan, PlannedStage
from facefusion_ui.registry.costs import weights_bytes
from facefusion_ui.registry.ladder import Descent, Rung
from facefusion_ui.registry.registry import PINNED, Registry
from facefusion_ui.settings import FrameFormat, MemoryStrategy, Settings

MULTIPLE = 32  # detectors' inputs are padded to it
SHARES: dict[MemoryStrategy, float] = {"strict": 0.0, "moderate": 0.85, "tolerant": 1.0}
MOST_FRAMES = 240  # in a chunk; more saves little and makes Stop and the preview wait
PACKED: dict[FrameFormat, float] = {"bmp": 1.0, "png": 0.6, "jpg": 0.15}  # of a frame's bytes


@dataclass(frozen=True)
class Work:
    """A model of the job and how many pixels its network sees at once."""

    card: ModelCard
    pixels: int


def make_plan(
    works: Sequence[Work],
    settings: Settings,
    registry: Registry,
    descent: Descent,
    *,
    frame_bytes: int,
    frames: int,
) -> Plan:
    """Return the plan for what memory there is at this moment.

    Args:
        works: in the order of the stages.
        frame_bytes: of a finished frame.
        frames: of the target.
    """
    budget = registry.budget_bytes
    rungs = {}
    for work in works:

        def fits(rung: Rung, work: Work = work) -> bool:
            seen = rung.pixels(work.card, work.pixels)
            if budget is None:
                return True
            known = registry.costs.is_too_big(work.card, seen, budget)
            return not known and registry.costs.need_bytes(work.card, seen) <= budget

        rungs[work.card.name] = descent.foreseen_rung(work.card, fits)
    stages = [_stage(work, rungs[work.card.name], registry) for work in works]
    on_card = {stage.model: stage for stage in stages if stage.device != "cpu"}
    together = sum(stage.weights_bytes for stage in on_card.values())
    together += max((stage.working_bytes for stage in on_card.values()), default=0)
    crowded = budget is not None and budget <= descent.crowded_bytes
    roomy = budget is None or together <= SHARES[settings.video_memory_strategy] * budget
    order: Literal["frame", "stage"] = "stage"
    unpinned = None
    if len(on_card) < 2 or (roomy and not crowded):
        order, peak, staying = "frame", together, set(on_card)
    else:
        pinned = {stage.model for stage in on_card.values() if stage.task in PINNED}
        peak = _peak(on_card, pinned)
        staying = pinned
        if budget is not None and peak > budget:
            staying, unpinned = set(), next(iter(pinned), None)
            peak = _peak(on_card, staying)
    return Plan(
        order=order,
        chunk_frames=1 if order == "frame" else _chunk_frames(settings, frame_bytes, frames),
        stages=tuple(
            stage.model_copy(update={"passing": True})
            if stage.model in on_card and stage.model not in staying
            else stage
            for stage in stages
        ),
        peak_bytes=peak,
        budget_bytes=budget,
        unpinned=unpinned,
    )


def network_pixels(card: ModelCard, settings: Settings, size_wh: tuple[int, int]) -> int:
    """Return how many pixels of a frame of `size_wh` the network of `card` sees at once."""
    width, height = size_wh
    if card.task == "frame_enhancer":
        return width * height
    if card.task == "face_detector":
        shrink = min(1.0, settings.face_detector_size / max(width, height))
        sides = (-(-round(side * shrink) // MULTIPLE) * MULTIPLE for side in size_wh)
        return next(sides) * next(sides)
    return card.size_px**2


def _stage(work: Work, rung: Rung, registry: Registry) -> PlannedStage:
    uses_card = registry.uses_card(work.card, rung)
    seen = rung.pixels(work.card, work.pixels)
    return PlannedStage(
        task=work.card.task,
        model=work.card.name,
        device=registry.device if uses_card else "cpu",
        rung=rung.name,
        passing=False,
        weights_bytes=weights_bytes(work.card) if uses_card else 0,
        working_bytes=registry.costs.working_bytes(work.card, seen) if uses_card else 0,
    )


def _peak(on_card: dict[str, PlannedStage], staying: set[str]) -> int:
    """Return the most in use when only `staying` models stay between the stages."""
    base = sum(on_card[name].weights_bytes for name in staying)
    return base + max(
        stage.working_bytes + (0 if name in staying else stage.weights_bytes)
        for name, stage in on_card.items()
    )


def _chunk_frames(settings: Settings, frame_bytes: int, frames: int) -> int:
    limit_bytes = settings.system_memory_limit * 2**30
    if not limit_bytes:
        limit_bytes = psutil.virtual_memory().available / 2
    room = int(limit_bytes / max(1.0, frame_bytes * PACKED[settings.temp_frame_format]))
    return max(1, min(room, frames, MOST_FRAMES))
