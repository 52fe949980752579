"""Lending models out: opened when they are needed, closed when room is needed."""

import gc
import inspect
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import pynvml

from facefusion_ui.cards import ModelCard, Task
from facefusion_ui.errors import DeviceError, ModelError
from facefusion_ui.notices import told_bytes
from facefusion_ui.registry.conversion import HALF, edition
from facefusion_ui.registry.costs import Costs
from facefusion_ui.registry.ladder import ON_THE_CARD, Descent, LeftOut, Rung
from facefusion_ui.registry.memory import DriverReading, Level, Memory
from facefusion_ui.registry.oom import is_oom, reason
from facefusion_ui.registry.opening import Opened, Opener
from facefusion_ui.registry.virtual_card import VirtualCard
from facefusion_ui.registry.weights import Store
from facefusion_ui.settings import ExecutionProvider

T = TypeVar("T")
HOPELESS = 1.1  # times the card's memory: a need that is not worth a try
HALF_CAPABILITY = (7, 5)  # CUDA's number for Turing
PINNED: frozenset[Task] = frozenset({"face_swapper"})  # closed last of all
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Resident:
    """A line of `Registry.status`: an open model, how large, and when it was last used."""

    name: str
    task: Task
    on_card: bool
    bytes: int
    leased: bool
    idle_s: float


class Lent:
    """A model for as long as a lease lasts: kept longer, it cannot hold memory."""

    def __init__(self, adapter: Any) -> None:
        self._adapter = adapter

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._living(), name)
        if not inspect.ismethod(found):
            return found
        return lambda *args, **kwargs: getattr(self._living(), name)(*args, **kwargs)

    def _living(self) -> Any:
        if self._adapter is None:
            raise RuntimeError("the lease of this model is over")
        return self._adapter

    def _end(self) -> None:
        self._adapter = None


class Registry:
    """The only door to a model. One lock: models run one at a time.

    Attributes:
        store: where the weights lie.
        costs: what models need on this device.
    """

    def __init__(
        self,
        execution_providers: tuple[ExecutionProvider, ...] = ("auto",),
        device_id: int = 0,
        *,
        emulate_bytes: int | None = None,
        threads: int = 0,
        costs_path: Path | None = None,
        store: Store | None = None,
    ) -> None:
        """Choose the device; no model is opened.

        Args:
            emulate_bytes: the size of a card, emulated on the processor, in place of a real one.
            threads: of the processor, for each network; 0: as many as there are cores.
            costs_path: where what models need is kept for the next time.
            store: where the weights lie; the program's own folder if not given.
        """
        emulated = VirtualCard(emulate_bytes) if emulate_bytes else None
        self.store = store or Store()
        self._opener = Opener(execution_providers[0], device_id, emulated, threads, self.store)
        reading = emulated or _reading(self._opener.provider, device_id)
        self.memory = Memory(reading)
        self.costs = Costs(reading.name if reading else self._opener.provider, costs_path)
        self._opened: dict[str, Opened] = {}
        self._lock = threading.RLock()

    @property
    def has_card(self) -> bool:
        """Whether networks have memory of their own, beside the system's."""
        return self._opener.has_card

    @property
    def card_trouble(self) -> DeviceError | None:
        """Why the card that `auto` found is not used; None while all is well."""
        return self._opener.trouble

    @property
    def device(self) -> str:
        """What networks are opened on, in words."""
        emulated = self._opener.emulated
        if emulated:
            return f"emulated card of {told_bytes(emulated.total_bytes)}"
        return self._opener.provider

    def uses_card(self, card: ModelCard, rung: Rung) -> bool:
        """Tell whether `card`'s model takes the card's memory on `rung`.

        Libraries with their own weights format always run on the processor.
        """
        return self.has_card and rung.on_card and not rung.off and card.runtime in ON_THE_CARD

    @property
    def held_bytes(self) -> int:
        """What the open models' weights take on the card."""
        return sum(opened.bytes for opened in self._opened.values() if opened.on_card)

    @property
    def free_bytes(self) -> int | None:
        """What models may still take of the card; None where nobody knows."""
        return self.memory.free_bytes(self.held_bytes) if self.has_card else None

    @property
    def budget_bytes(self) -> int | None:
        """What models may take of the card in all: what is free, and what they have."""
        free = self.free_bytes
        return None if free is None else free + self.held_bytes

    @property
    def level(self) -> Level:
        """How near the end of the card's memory is."""
        return self.memory.level(self.held_bytes) if self.has_card else "ok"

    @property
    def runs_half_well(self) -> bool:
        """Whether the card is made for half precision."""
        reading = self.memory.reading
        return isinstance(reading, DriverReading) and reading.capability >= HALF_CAPABILITY

    def has(self, card: ModelCard) -> bool:
        """Tell whether `card`'s weights are installed."""
        try:
            return card.weights is None or self.store.locate(card).is_file()
        except ModelError:
            return False

    def has_half(self, card: ModelCard) -> bool:
        """Tell whether the user had an edition of `card` in half precision made."""
        if card.weights is None or not self.has(card):
            return False
        return edition(self.store.locate(card), self.store.folder, HALF).is_file()

    def converts(self, card: ModelCard) -> bool:
        """Tell whether `card`'s weights must be converted before they can be used."""
        if not card.torch or card.runtime != "onnx" or card.precision == "half":
            return False
        return not edition(self.store.locate(card), self.store.folder).is_file()

    def status(self) -> list[Resident]:
        """Return who is open, the last used first."""
        now_s = time.monotonic()
        with self._lock:
            opened = sorted(self._opened.values(), key=lambda model: -model.used_s)
        return [
            Resident(
                name=model.card.name,
                task=model.card.task,
                on_card=model.on_card,
                bytes=model.bytes,
                leased=model.leases > 0,
                idle_s=now_s - model.used_s,
            )
            for model in opened
        ]

    @contextmanager
    def lease(
        self, card: ModelCard, descent: Descent | None = None, *, on_card: bool = True
    ) -> Iterator[Any]:
        """Lend `card`'s model for a block; in it, nobody closes the model.

        Yields:
            The adapter, in a wrapping that is dead after the block.

        Raises:
            ModelError: the weights are missing or are not what the card says.
            DeviceError: the asked provider does not run here.
            Exception: the runtime's own, when memory runs out; `run` is who deals with it.
        """
        with self._lock:
            opened = self._lend(card, descent or Descent(), on_card=on_card)
            opened.leases += 1
        lent = Lent(opened.adapter)
        try:
            yield lent
        finally:
            lent._end()
            with self._lock:
                opened.leases -= 1
                opened.used_s = time.monotonic()

    def run(
        self,
        card: ModelCard,
        call: Callable[[Any], T],
        descent: Descent | None = None,
        *,
        pixels: int = 0,
    ) -> T:
        """Return `call(adapter)` of `card`'s model, opened if need be.

        Room is made before, as far as the need is known. When memory runs out all the same, other
        models are closed and the call is made again; then the model goes down the ladder, a rung
        at a time. `call` may be made several times, and keeps nothing of the adapter.

        Args:
            descent: the job's; what worked there is tried first.
            pixels: of the network's input, on the ladder's first rung.

        Raises:
            LeftOut: the stage is left out from now on.
            OutOfMemoryError: the model does not fit, and nothing that may be tried is left.
            ModelError: the weights are missing or are not what the card says.
            DeviceError: the asked provider does not run here.
        """
        descent = descent or Descent()
        descent.used.add(card.name)
        with self._lock:
            while True:
                rung = descent.rung(card)
                if rung.off:
                    raise LeftOut(card.name)
                uses_card = self.uses_card(card, rung)
                seen = rung.pixels(card, pixels)
                said = self._foresee(card, seen, descent) if uses_card else None
                foreseen = said is not None
                if said is None:
                    free_bytes = self.free_bytes
                    try:
                        with self.lease(card, descent, on_card=uses_card) as adapter:
                            used = seen if uses_card else 0
                            return self._watched(card, call, adapter, used, descent)
                    except Exception as error:
                        if not is_oom(error, free_bytes=free_bytes):
                            raise
                        said = reason(error)
                need = self.costs.need_bytes(card, seen) if uses_card else None
                if not foreseen:
                    # Outside the handler: an error that is still held keeps what it saw in memory.
                    self._close(card.name)
                    if self._make_room(card, descent, need, said, on_card=uses_card):
                        continue
                    if uses_card and seen and self.free_bytes is not None:
                        self.costs.learn_failure(card, seen, self.free_bytes)
                descent.step_down(
                    card,
                    reason=said,
                    on_card=uses_card,
                    pixels=pixels,
                    need_bytes=need,
                    free_bytes=self.free_bytes,
                    budget_bytes=self.budget_bytes,
                )
                log.debug("%s: %s", descent.steps[-1].message, said)

    def release(self, card: ModelCard) -> None:
        """Close `card`'s model, unless it is lent."""
        with self._lock:
            opened = self._opened.get(card.name)
            if opened and not opened.leases:
                self._close(card.name)

    def release_all(self) -> None:
        """Close every model that is not lent, and give its memory back."""
        with self._lock:
            for opened in list(self._opened.values()):
                self.release(opened.card)

    def take_away(self, wanted_bytes: int) -> None:
        """Take memory from the emulated card, as another program would; on a real one, nothing."""
        if self._opener.emulated:
            with self._lock:
                taken_bytes = self._opener.emulated.take_away(wanted_bytes)
            log.info("%.0f MB of the emulated card are taken away", taken_bytes / 1e6)

    def give_back(self) -> None:
        """Give back what `take_away` took."""
        if self._opener.emulated:
            with self._lock:
                self._opener.emulated.give_back()
            log.info("what was taken from the emulated card is given back")

    def _foresee(self, card: ModelCard, pixels: int, descent: Descent) -> str | None:
        """Make room for a run of `card` on the card; say why not even that will do."""
        budget, need = self.budget_bytes, self.costs.need_bytes(card, pixels)
        if budget is None:
            return None
        if pixels and self.costs.is_too_big(card, pixels, budget):
            return f"did not fit before in as much as {told_bytes(budget)}"
        if need > HOPELESS * budget:
            return f"needs {told_bytes(need)} of {told_bytes(budget)}"
        opened = self._opened.get(card.name)
        resident = opened is not None and opened.on_card
        missing = self.costs.working_bytes(card, pixels) if resident else need
        while (free := self.free_bytes) is not None and missing > free:
            said = f"needs {told_bytes(missing)}, {told_bytes(free)} are free"
            if not self._make_room(card, descent, need, said, on_card=True, at_once=False):
                return said if self.memory.spills else None
        return None

    def _make_room(
        self,
        card: ModelCard,
        descent: Descent,
        need_bytes: int | None,
        said: str,
        *,
        on_card: bool,
        at_once: bool = True,
    ) -> bool:
        """Close others where the model is to run, `on_card` or in the system's memory.

        The longest unused goes first, or all go `at_once`; the generator goes last.

        Returns:
            Whether there was anybody to close.
        """
        others = sorted(
            (opened.card.task in PINNED, opened.used_s, name)
            for name, opened in self._opened.items()
            if name != card.name and opened.on_card == on_card and not opened.leases
        )
        if not others:
            return False
        unpinned = others[0][0]
        leaving = [name for pinned, _, name in others if pinned == unpinned]
        if not at_once:
            leaving = leaving[:1]
        free_bytes = self.free_bytes
        for name in leaving:
            self._close(name)
        if not descent.used.isdisjoint(leaving):  # else they were left over from another job
            descent.crowded_bytes = self.budget_bytes or 0
            descent.note_turns(
                card,
                made_room=leaving,
                unpinned=unpinned,
                reason=said,
                need_bytes=need_bytes,
                free_bytes=free_bytes,
            )
        return True

    def _watched(
        self, card: ModelCard, call: Callable[[Any], T], adapter: Any, pixels: int, descent: Descent
    ) -> T:
        """Return `call(adapter)`; learn what it took of the card, and count that for the job."""
        reading = self.memory.reading
        if reading and pixels and not self.costs.is_measured(card):
            used_bytes = reading.used_bytes
            reading.begin()
            result = call(adapter)
            if reading.most_bytes() > used_bytes:
                self.costs.learn(card, pixels, reading.most_bytes() - used_bytes)
        else:
            result = call(adapter)
        working_bytes = self.costs.working_bytes(card, pixels)
        descent.peak_bytes = max(descent.peak_bytes, self.held_bytes + working_bytes)
        return result

    def _lend(self, card: ModelCard, descent: Descent, *, on_card: bool) -> Opened:
        on_card = on_card and self.has_card
        opened = self._opened.get(card.name)
        moves = card.runtime in ON_THE_CARD and opened and opened.on_card != on_card
        if opened and (moves or opened.card != card):
            self._close(card.name)
            opened = None
        if opened is None:
            opened = self._opened[card.name] = self._opener.open(
                card,
                on_card=on_card,
                generous=descent.generous and self.level == "ok",
                half=self.runs_half_well,
                limit_bytes=self.free_bytes,
            )
            descent.loads[card.name] += 1
            log.info("opened %s", card.name)
        if opened.network:
            opened.network.shrinks = self.level != "ok"
        return opened

    def _close(self, name: str) -> None:
        opened = self._opened.pop(name, None)
        if opened:
            opened.release()
            log.info("closed %s", name)
        del opened
        gc.collect()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release_all()


def _reading(provider: ExecutionProvider, device_id: int) -> DriverReading | None:
    """Return what the driver shows of the card; None where there is no driver to ask."""
    if provider != "cuda":
        return None
    try:
        return DriverReading(device_id)
    except pynvml.NVMLError as error:
        log.info("the card's memory cannot be read: %s", error)
        return None
