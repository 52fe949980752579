"""What is tried when a model does not fit, from the least to the most costly."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from facefusion_ui.cards import ModelCard, Task
from facefusion_ui.errors import OutOfMemoryError
from facefusion_ui.notices import SteppedDown, SteppedUp, told_bytes

ON_THE_CARD = frozenset({"onnx", "torch"})  # runtimes; the others always use the processor
BACK = 1.1  # times the memory that did not do: how much more makes another try worth its time


@dataclass(frozen=True)
class Rung:
    """One way to run a model.

    Attributes:
        tasks: models it helps; None: all.
        on_card: whether the model runs on the card; False: on the processor.
        shrink: how many times smaller the input is.
        tile_px: side of the tiles in which the input is worked on; None: in one piece.
        off: the stage is left out.
        lossless: whether the picture stays the same.
        message: what the user is told; {model} is put in.
        hint: what the user can do.
    """

    name: str
    message: str
    hint: str
    tasks: frozenset[Task] | None = None
    on_card: bool = True
    shrink: int = 1
    tile_px: int | None = None
    off: bool = False
    lossless: bool = True

    def suits(self, card: ModelCard) -> bool:
        """Tell whether `card`'s model can be run so."""
        if self.tasks is not None and card.task not in self.tasks:
            return False
        if self.tile_px is not None and card.halo_px is None:
            return False
        return card.runtime in ON_THE_CARD or self.off or self == LADDER[0]

    def pixels(self, card: ModelCard, pixels: int) -> int:
        """Return how many pixels a run sees at once, of an input of `pixels`."""
        if self.tile_px is not None:
            return min(pixels, (self.tile_px + 2 * (card.halo_px or 0)) ** 2)
        return pixels // self.shrink**2


SEARCH: frozenset[Task] = frozenset({"face_detector"})
EXTRAS: frozenset[Task] = frozenset({"face_enhancer", "frame_enhancer"})
CLOSE = "Close other programs that use the card."

LADDER: tuple[Rung, ...] = (
    Rung("card", "{model} runs on the card again.", ""),
    *(
        Rung(
            f"tiles of {side}",
            f"{{model}} is short of memory: the picture is worked on in tiles of {side} pixels. "
            "Slower, same picture.",
            CLOSE,
            tile_px=side,
        )
        for side in (512, 256, 128)
    ),
    Rung(
        "half input",
        "{model} is short of memory: faces are searched in a picture half as large.",
        "Small faces may be missed. A smaller --face-detector-size makes this the rule.",
        tasks=SEARCH,
        shrink=2,
        lossless=False,
    ),
    Rung(
        "quarter input",
        "{model} is short of memory: faces are searched in a picture a quarter as large.",
        f"Small faces may be missed. {CLOSE}",
        tasks=SEARCH,
        shrink=4,
        lossless=False,
    ),
    Rung(
        "processor",
        "{model} is short of memory: it runs on the processor now. Slower, same picture.",
        CLOSE,
        on_card=False,
    ),
    Rung(
        "off",
        "{model} is short of memory everywhere: this step is left out.",
        "Close other programs, or leave the step out of the processors.",
        tasks=EXTRAS,
        off=True,
        lossless=False,
    ),
)

# Before the ladder: what is on the card takes turns.
EVICT = Rung(
    "evict",
    "{model} is short of memory: other models make room for it. Slower, same picture.",
    CLOSE,
)
UNPIN = Rung(
    "unpin",
    "{model} is short of memory: no model stays on the card between the stages. "
    "Slower, same picture.",
    CLOSE,
)


def ladder_of(card: ModelCard, *, allow_lossy: bool) -> list[Rung]:
    """Return the rungs for `card`.

    >>> from facefusion_ui.registry.catalog import find_cards
    >>> [rung.name for rung in ladder_of(find_cards()["centerface"], allow_lossy=False)]
    ['card', 'processor']
    """
    return [rung for rung in LADDER if rung.suits(card) and (rung.lossless or allow_lossy)]


class LeftOut(Exception):  # noqa: N818  no error: the job goes on without this stage
    """The ladder's last rung for a stage that can be left out."""


@dataclass
class Place:
    """Where on its ladder a model stands.

    Attributes:
        index: of the rung.
        lacking_bytes: the memory that did not do for the rung above; None: nobody knows.
    """

    card: ModelCard
    index: int
    lacking_bytes: int | None


@dataclass
class Descent:
    """What memory has done to one job: how far down the ladder its models are, and what they took.

    Attributes:
        allow_lossy: whether rungs that change the picture may be taken.
        offload: tasks whose models run on the processor from the start.
        generous: memory may be spent on speed while there is plenty.
        crowded_bytes: the memory in which models pushed each other off the card, so that they had
            better take turns.
        used: names of the models that the job has run.
        steps: taken and not yet told.
        loads: how often each model was opened.
        peak_bytes: the most that models took of the card, by the registry's account.
    """

    allow_lossy: bool = True
    offload: frozenset[Task] = frozenset()
    generous: bool = False
    crowded_bytes: int = 0
    used: set[str] = field(default_factory=set)
    steps: list[SteppedDown | SteppedUp] = field(default_factory=list)
    loads: Counter[str] = field(default_factory=Counter)
    peak_bytes: int = 0
    _places: dict[str, Place] = field(default_factory=dict)

    def rung(self, card: ModelCard) -> Rung:
        """Return the rung that `card`'s model is on."""
        rungs = self._rungs(card)
        place = self._places.get(card.name)
        return rungs[place.index if place else 0]

    def foreseen_rung(self, card: ModelCard, fits: Callable[[Rung], bool]) -> Rung:
        """Return the first rung from the model's own on down that will do by an estimate."""
        rungs = self._rungs(card)
        place = self._places.get(card.name)
        below = rungs[place.index if place else 0 :]
        return next((rung for rung in below if not rung.on_card or fits(rung)), below[-1])

    def step_down(
        self,
        card: ModelCard,
        *,
        reason: str,
        on_card: bool = True,
        pixels: int = 0,
        need_bytes: int | None = None,
        free_bytes: int | None = None,
        budget_bytes: int | None = None,
    ) -> None:
        """Take the next rung that asks for less, and note it.

        Args:
            on_card: whether the card's memory is what ran out.
            budget_bytes: what the model could have taken, alone on the card.

        Raises:
            OutOfMemoryError: there is none.
        """
        rungs = self._rungs(card)
        place = self._places.get(card.name)
        now = place.index if place else 0
        seen = rungs[now].pixels(card, pixels)
        for index in range(now + 1, len(rungs)):
            rung = rungs[index]
            leaves = not rung.on_card and not rung.off
            smaller = not leaves and (not pixels or rung.pixels(card, pixels) < seen)
            if smaller or rung.off or (leaves and on_card):
                break
        else:
            forbidden = not self.allow_lossy and len(ladder_of(card, allow_lossy=True)) > len(rungs)
            raise OutOfMemoryError(
                f"{card.name} does not fit in memory: {reason}",
                hint="Allow it with --allow-lossy-fallback, or close other programs."
                if forbidden
                else "Close other programs, or use smaller pictures and models.",
            )
        self._places[card.name] = Place(card, index, budget_bytes)
        self._note(card, rungs[index], reason=reason, need_bytes=need_bytes, free_bytes=free_bytes)

    def note_turns(
        self,
        card: ModelCard,
        *,
        made_room: list[str],
        unpinned: bool,
        reason: str,
        need_bytes: int | None,
        free_bytes: int | None,
    ) -> None:
        """Note that `made_room` were closed for `card`'s model; `unpinned`: the generator too."""
        self._note(
            card,
            UNPIN if unpinned else EVICT,
            reason=f"{reason}; closed: {', '.join(made_room)}",
            need_bytes=need_bytes,
            free_bytes=free_bytes,
        )

    def note_unpinned(self, generator: ModelCard, budget_bytes: int | None) -> None:
        """Note that, as foreseen, not even the generator stays on the card between the stages."""
        self._note(
            generator,
            UNPIN,
            reason=f"beside others it does not fit in {told_bytes(budget_bytes or 0)}",
            need_bytes=None,
            free_bytes=budget_bytes,
        )

    def climb(self, budget_bytes: int | None) -> None:
        """Put models on the first rung again where memory has come back.

        Args:
            budget_bytes: what a model could take now, alone on the card.
        """
        if budget_bytes is None:
            return
        for name, place in list(self._places.items()):
            if place.lacking_bytes is None or budget_bytes < BACK * place.lacking_bytes:
                continue
            del self._places[name]
            rung = self._rungs(place.card)[0]
            message = rung.message.format(model=name)
            self.steps.append(SteppedUp(place.card.task, name, rung.name, budget_bytes, message))

    def _rungs(self, card: ModelCard) -> list[Rung]:
        rungs = ladder_of(card, allow_lossy=self.allow_lossy)
        offloaded = [rung for rung in rungs if not rung.on_card or rung.off]
        return offloaded if card.task in self.offload and offloaded else rungs

    def _note(
        self,
        card: ModelCard,
        rung: Rung,
        *,
        reason: str,
        need_bytes: int | None,
        free_bytes: int | None,
    ) -> None:
        self.steps.append(
            SteppedDown(
                stage=card.task,
                model=card.name,
                rung=rung.name,
                need_bytes=need_bytes,
                free_bytes=free_bytes,
                reason=reason,
                lossless=rung.lossless,
                message=rung.message.format(model=card.name),
                hint=rung.hint,
            )
        )
