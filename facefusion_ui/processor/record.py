"""What happened in a job: models run, seconds per stage, counts, warnings."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import psutil

from facefusion_ui import __version__
from facefusion_ui.cards import ModelCard
from facefusion_ui.events import SteppedDown, Warned
from facefusion_ui.registry.ladder import Descent
from facefusion_ui.registry.registry import Registry
from facefusion_ui.report import ModelUsed, Report, StepDown, WarningGiven
from facefusion_ui.settings import Settings

T = TypeVar("T")


class Record:
    """Runs models through the registry and notes what the job report tells. One per job."""

    def __init__(self, settings: Settings, registry: Registry) -> None:
        self._settings = settings
        self._registry = registry
        self._started = datetime.now(UTC)
        self._start_s = time.perf_counter()
        self._seconds: dict[str, float] = {}
        self._cards: dict[str, ModelCard] = {}
        self._warnings: list[Warned] = []
        self.descent = Descent(allow_lossy=settings.allow_lossy_fallback)
        self._steps: dict[tuple[str, str], SteppedDown] = {}
        self._process = psutil.Process()
        self._peak_bytes = 0
        self.frames = 0
        self.frames_without_face = 0
        self.faces_swapped = 0

    @property
    def elapsed_s(self) -> float:
        """Seconds since the job began."""
        return time.perf_counter() - self._start_s

    def run(self, card: ModelCard, call: Callable[[Any], T]) -> T:
        """Return `call(adapter)` of `card`'s model; its time counts for the card's task.

        Raises:
            LeftOut: there is no memory for the stage, and the job goes on without it.
            OutOfMemoryError: there is no memory for it, and the job cannot go on.
        """
        self._cards[card.name] = card
        with self.stage(card.task):
            return self._registry.run(card, call, self.descent)

    def steps_down(self) -> Iterator[SteppedDown]:
        """Yield what was given up for memory since the last call, each kind once per job."""
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

    def warn(self, message: str, hint: str) -> Iterator[Warned]:
        """Yield the warning, unless the job has given it before."""
        warned = Warned(message, hint)
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
                    device=self._registry.device_of(card),
                )
                for card in self._cards.values()
            ],
            frames=self.frames,
            frames_without_face=self.frames_without_face,
            faces_swapped=self.faces_swapped,
            seconds={name: round(spent_s, 3) for name, spent_s in self._seconds.items()},
            total_seconds=round(self.elapsed_s, 3),
            peak_memory_bytes=self._peak_bytes,
            steps_down=[StepDown(**asdict(step)) for step in self._steps.values()],
            warnings=[WarningGiven(message=w.message, hint=w.hint) for w in self._warnings],
        )
