"""What is tried when a model does not fit, from the least to the most costly."""

from dataclasses import dataclass, field
from typing import Literal

from facefusion_ui.cards import ModelCard, Task
from facefusion_ui.errors import OutOfMemoryError
from facefusion_ui.events import SteppedDown

RungName = Literal["card", "half input", "quarter input", "processor", "off"]


@dataclass(frozen=True)
class Rung:
    """One way to run a model.

    Attributes:
        tasks: models it helps; None: all.
        on_card: whether the model runs on the card; False: on the processor.
        shrink: how many times smaller the input is.
        off: the stage is left out.
        lossless: whether the picture stays the same.
        message: what the user is told; {model} is put in.
        hint: what the user can do.
    """

    name: RungName
    message: str
    hint: str
    tasks: frozenset[Task] | None = None
    on_card: bool = True
    shrink: int = 1
    off: bool = False
    lossless: bool = True


SEARCH: frozenset[Task] = frozenset({"face_detector"})
EXTRAS: frozenset[Task] = frozenset({"face_enhancer", "frame_enhancer"})

LADDER: tuple[Rung, ...] = (
    Rung("card", "", ""),
    Rung(
        "half input",
        "{model} ran out of memory: faces are searched in a picture half as large.",
        "Small faces may be missed. A smaller --face-detector-size makes this the rule.",
        tasks=SEARCH,
        shrink=2,
        lossless=False,
    ),
    Rung(
        "quarter input",
        "{model} ran out of memory: faces are searched in a picture a quarter as large.",
        "Small faces may be missed. Close other programs that use the card.",
        tasks=SEARCH,
        shrink=4,
        lossless=False,
    ),
    Rung(
        "processor",
        "{model} ran out of memory: it runs on the processor now. Slower, same picture.",
        "Close other programs that use the card.",
        on_card=False,
    ),
    Rung(
        "off",
        "{model} ran out of memory everywhere: this step is left out.",
        "Close other programs, or leave the step out of the processors.",
        tasks=EXTRAS,
        off=True,
        lossless=False,
    ),
)


def ladder_of(card: ModelCard, *, allow_lossy: bool) -> list[Rung]:
    """Return the rungs for `card`; its models with their own weights format have no card to leave.

    >>> from facefusion_ui.registry.catalog import find_cards
    >>> [rung.name for rung in ladder_of(find_cards()["centerface"], allow_lossy=False)]
    ['card', 'processor']
    """
    return [
        rung
        for rung in LADDER
        if (rung.tasks is None or card.task in rung.tasks)
        and (rung.lossless or allow_lossy)
        and (card.runtime == "onnx" or rung.name == "card" or rung.off)
    ]


class LeftOut(Exception):  # noqa: N818  no error: the job goes on without this stage
    """The ladder's last rung for a stage that can be left out."""


@dataclass
class Descent:
    """How far down the ladder the models of one job are; what worked is kept for the job.

    Attributes:
        allow_lossy: whether rungs that change the picture may be taken.
        steps: taken and not yet told.
    """

    allow_lossy: bool = True
    steps: list[SteppedDown] = field(default_factory=list)
    _places: dict[str, int] = field(default_factory=dict)

    def rung(self, card: ModelCard) -> Rung:
        """Return the rung that `card`'s model is on."""
        rungs = ladder_of(card, allow_lossy=self.allow_lossy)
        return rungs[self._places.get(card.name, 0)]

    def step_down(self, card: ModelCard, *, reason: str, free_bytes: int | None) -> None:
        """Take the next rung, and note it.

        Raises:
            OutOfMemoryError: there is none.
        """
        rungs = ladder_of(card, allow_lossy=self.allow_lossy)
        place = self._places.get(card.name, 0) + 1
        if place == len(rungs):
            forbidden = not self.allow_lossy and len(ladder_of(card, allow_lossy=True)) > place
            raise OutOfMemoryError(
                f"{card.name} does not fit in memory: {reason}",
                hint="Allow it with --allow-lossy-fallback, or close other programs."
                if forbidden
                else "Close other programs, or use smaller pictures and models.",
            )
        self._places[card.name] = place
        rung = rungs[place]
        self.steps.append(
            SteppedDown(
                stage=card.task,
                model=card.name,
                rung=rung.name,
                free_bytes=free_bytes,
                reason=reason,
                lossless=rung.lossless,
                message=rung.message.format(model=card.name),
                hint=rung.hint,
            )
        )

    def note_eviction(
        self, card: ModelCard, evicted: list[str], *, reason: str, free_bytes: int | None
    ) -> None:
        """Note that other models were closed to make room for `card`'s."""
        self.steps.append(
            SteppedDown(
                stage=card.task,
                model=card.name,
                rung="evict",
                free_bytes=free_bytes,
                reason=reason,
                lossless=True,
                message=f"{card.name} ran out of memory: {', '.join(evicted)} made room. "
                "Slower, same picture.",
                hint="Close other programs that use the card.",
            )
        )
