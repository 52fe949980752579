"""What happened in a job: models run, seconds per stage, counts, warnings."""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import psutil

from facefusion_ui import __version__
from facefusion_ui.cards import ModelCard
from facefusion_ui.errors import BrokenOutputError
from facefusion_ui.notices import SteppedDown, SteppedUp, Warned
from facefusion_ui.plans import Plan
from facefusion_ui.processor.plan import Work, make_plan
from facefusion_ui.registry.catalog import find_card
from facefusion_ui.registry.ladder import Descent
from facefusion_ui.registry.registry import Registry
from facefusion_ui.report import ModelUsed, Report
from facefusion_ui.settings import Settings

T = TypeVar("T")
log = logging.getLogger(__name__)


class Record:
    """Runs models through the registry and notes what the job report tells. One per job."""

    def __init__(
        self, settings: Settings, registry: Registry, choices: tuple[str, ...] = ()
    ) -> None:
        """Begin; `choices` say what `auto` stands for in `settings`, and why."""
        self._choices = choices
        self._settings = settings
        self._registry = registry
        registry.memory.limit_bytes = settings.video_memory_limit
        self._started = datetime.now(UTC)
        self._start_s = time.perf_counter()
        self._seconds: dict[str, float] = {}
        self._cards: dict[str, ModelCard] = {}
        self._warnings: list[Warned] = []
        self.descent = Descent(
            allow_lossy=settings.allow_lossy_fallback,
            offload=frozenset(settings.execution_offload),
            generous=settings.video_memory_strategy == "tolerant",
        )
        self._broken: list[Warned] = []
        self.plan: Plan | None = None
        self._first_plan: Plan | None = None
        self._steps: dict[tuple[str, str], SteppedDown | SteppedUp] = {}
        self._process = psutil.Process()
        self._peak_bytes = 0
        self.frames = 0
        self.frames_without_face = 0
        self.faces_swapped = 0

    @property
    def elapsed_s(self) -> float:
        """Seconds since the job began."""
        return time.perf_counter() - self._start_s

    def make_plan(self, works: Sequence[Work], *, frame_bytes: int, frames: int) -> Plan:
        """Plan the next frames with the memory there is now; the rungs are tried upward again."""
        self.descent.climb(self._registry.budget_bytes)
        plan = make_plan(
            works,
            self._settings,
            self._registry,
            self.descent,
            frame_bytes=frame_bytes,
            frames=frames,
        ).model_copy(update={"choices": self._choices})
        if plan.unpinned and self.plan is None:
            generator = next(w.card for w in works if w.card.name == plan.unpinned)
            self.descent.note_unpinned(generator, plan.budget_bytes)
        if self.plan is None:
            self._first_plan = plan
            log.info("plan: %s", "; ".join(plan.told()))
        self.plan = plan
        return plan

    def run(self, card: ModelCard, call: Callable[[Any], T], *, pixels: int | None = None) -> T:
        """Return `call(adapter)` of `card`'s model; its time counts for the card's task.

        Args:
            pixels: that the model's network sees; None: a crop of the card's size.

        Raises:
            LeftOut: there is no memory for the stage, and the job goes on without it.
            OutOfMemoryError: there is no memory for it, and the job cannot go on.
        """
        self._cards[card.name] = card
        if pixels is None:
            pixels = card.size_px**2
        with self.stage(card.task):
            return self._registry.run(card, call, self.descent, pixels=pixels)

    def half_of(self, card: ModelCard) -> ModelCard | None:
        """Return `card`'s model in half precision, published or made here; None: there is none."""
        if card.half and self._registry.has(known := find_card(card.half)):
            return known
        return replace(card, precision="half") if self._registry.has_half(card) else None

    def end_stage(self, card: ModelCard) -> None:
        """Close `card`'s model if, by the plan, it makes room for the next stage or is over."""
        if self.plan and card.name not in self.plan.staying:
            self._registry.release(card)

    def broken(self, card: ModelCard, error: BrokenOutputError, kept: str) -> None:
        """Note that `card`'s model answered with no picture, and what is kept in its place."""
        self._broken.append(Warned(f"{card.name}: {error}; {kept}.", error.hint))

    def steps(self) -> Iterator[Warned | SteppedDown | SteppedUp]:
        """Yield what has changed since the last call, each kind once per job."""
        yield from self.warn(*self._broken)
        self._broken.clear()
        for step in self.descent.steps:
            kind = (step.model, step.rung)
            if kind not in self._steps:
                yield step
            self._steps.setdefault(kind, step)
        self.descent.steps.clear()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count the time spent inside for stage `name`."""
        start_s = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[name] = self._seconds.get(name, 0.0) + time.perf_counter() - start_s

    def count_frame(self, faces_swapped: int) -> None:
        """Note a finished frame and the memory in use at that moment."""
        self.frames += 1
        self.faces_swapped += faces_swapped
        self.frames_without_face += faces_swapped == 0
        self._peak_bytes = max(self._peak_bytes, self._process.memory_info().rss)

    def warn(self, *warnings: Warned) -> Iterator[Warned]:
        """Yield the warnings that the job has not given before."""
        for warned in warnings:
            if warned not in self._warnings:
                self._warnings.append(warned)
                yield warned

    def report(self, output_path: Path) -> Report:
        """Return the report of a job whose output is whole."""
        return Report(
            version=__version__,
            started=self._started,
            settings=self._settings,
            output_path=output_path,
            device=self._registry.device,
            models=[
                ModelUsed(
                    name=card.name,
                    task=card.task,
                    licence=card.licence.name,
                    commercial_use=card.licence.commercial_use,
                    device=self._device_of(card),
                )
                for card in self._cards.values()
            ],
            frames=self.frames,
            frames_without_face=self.frames_without_face,
            faces_swapped=self.faces_swapped,
            seconds={name: round(spent_s, 3) for name, spent_s in self._seconds.items()},
            total_seconds=round(self.elapsed_s, 3),
            peak_memory_bytes=self._peak_bytes,
            steps_down=[s for s in self._steps.values() if isinstance(s, SteppedDown)],
            steps_up=[s for s in self._steps.values() if isinstance(s, SteppedUp)],
            plan=self._first_plan,
            peak_card_bytes=self.descent.peak_bytes,
            loads=dict(self.descent.loads),
            warnings=self._warnings,
        )

    def _device_of(self, card: ModelCard) -> str:
        uses_card = self._registry.uses_card(card, self.descent.rung(card))
        return self._registry.device if uses_card else "cpu"
