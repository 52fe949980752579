"""Lending models out: each is opened at its first use and closed with the registry."""

import gc
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from facefusion_ui.cards import ModelCard
from facefusion_ui.errors import DeviceError
from facefusion_ui.registry.backends import OnnxNetwork
from facefusion_ui.registry.device import choose_provider
from facefusion_ui.registry.ladder import Descent, LeftOut
from facefusion_ui.registry.oom import is_oom, reason
from facefusion_ui.registry.virtual_card import VirtualCard
from facefusion_ui.registry.weights import locate
from facefusion_ui.settings import ExecutionProvider

T = TypeVar("T")
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Opened:
    """An open model. `on_card`: it takes the card's memory; `release` gives back what it took."""

    adapter: Any
    on_card: bool = False
    release: Callable[[], None] = lambda: None


class Registry:
    """The only door to a model. One lock: models run one at a time.

    Attributes:
        card_trouble: why the card that `auto` found is not used; None while all is well.
    """

    def __init__(
        self,
        execution_providers: tuple[ExecutionProvider, ...] = ("auto",),
        device_id: int = 0,
        *,
        emulate_bytes: int | None = None,
    ) -> None:
        """Choose the device; no model is opened.

        `emulate_bytes` puts a card of that memory, emulated on the processor, in the place of a
        real one.
        """
        self._asked = execution_providers[0]
        self._provider = choose_provider(self._asked)
        self.card_trouble: DeviceError | None = None
        self._device_id = device_id
        self._emulated = VirtualCard(emulate_bytes) if emulate_bytes else None
        self._opened: dict[str, Opened] = {}
        self._lock = threading.Lock()

    @property
    def device(self) -> str:
        """What networks are opened on, in words."""
        if self._emulated:
            return f"emulated card of {self._emulated.capacity_bytes / 1e6:.0f} MB"
        return self._provider

    def device_of(self, card: ModelCard) -> str:
        """Return what runs `card`: libraries with their own weights format run on the processor."""
        return self.device if card.runtime == "onnx" else "cpu"

    def run(self, card: ModelCard, call: Callable[[Any], T], descent: Descent | None = None) -> T:
        """Open `card`'s model if it is not open, and return `call(adapter)`.

        When memory runs out, other models are closed and the call is made again; then the model
        goes down the ladder, a rung at a time. `call` may be made several times, and keeps nothing
        of the adapter.

        Args:
            descent: the job's; what worked there is tried first.

        Raises:
            LeftOut: the stage is left out from now on.
            OutOfMemoryError: the model does not fit, and nothing that may be tried is left.
            ModelError: the weights are missing or are not what the card says.
            DeviceError: the asked provider does not run here.
        """
        descent = descent or Descent()
        made_room = False
        with self._lock:
            while True:
                rung = descent.rung(card)
                if rung.off:
                    raise LeftOut(card.name)
                free_bytes = self._emulated.free_bytes if self._emulated else None
                try:
                    return call(self._lend(card, on_card=rung.on_card))
                except Exception as error:
                    if not is_oom(error, free_bytes=free_bytes):
                        raise
                    said = reason(error)
                # Outside the handler: an error that is still held keeps what it saw in memory.
                self._close(card.name)
                evicted = [] if made_room else self._close_others(card)
                made_room = True
                if evicted:
                    descent.note_eviction(card, evicted, reason=said, free_bytes=free_bytes)
                else:
                    descent.step_down(card, reason=said, free_bytes=free_bytes)
                log.debug("%s: %s", descent.steps[-1].message, said)

    def take_away(self, wanted_bytes: int) -> None:
        """Take memory from the emulated card, as another program would; on a real one, nothing."""
        if self._emulated:
            with self._lock:
                taken_bytes = self._emulated.take_away(wanted_bytes)
            log.info("%.0f MB of the emulated card are taken away", taken_bytes / 1e6)

    def release_all(self) -> None:
        """Close every model and give its memory back."""
        with self._lock:
            for name in list(self._opened):
                self._close(name)

    def _lend(self, card: ModelCard, *, on_card: bool) -> Any:
        opened = self._opened.get(card.name)
        if opened and card.runtime == "onnx" and opened.on_card != on_card:
            self._close(card.name)
            opened = None
        if opened is None:
            opened = self._opened[card.name] = self._open(card, on_card=on_card)
            log.info("opened %s", card.name)
        return opened.adapter

    def _open(self, card: ModelCard, *, on_card: bool) -> Opened:
        if card.runtime == "none":
            return Opened(card.open())
        path = locate(card)
        if card.runtime == "file":
            return Opened(card.open(path))
        if on_card and self._emulated:
            taken = self._emulated.open(path, frees_shape=card.frees_shape)
            return Opened(card.open(taken), on_card, taken.close)
        return Opened(card.open(self._open_network(card, path, on_card=on_card)), on_card)

    def _open_network(self, card: ModelCard, path: Path, *, on_card: bool) -> OnnxNetwork:
        try:
            return OnnxNetwork(
                path,
                provider=self._provider if on_card else "cpu",
                device_id=self._device_id,
                frees_shape=card.frees_shape,
            )
        except DeviceError as error:
            if self._asked != "auto" or self._provider == "cpu":
                raise
            self.card_trouble = error
        self._provider = "cpu"
        return self._open_network(card, path, on_card=on_card)

    def _close(self, name: str) -> None:
        opened = self._opened.pop(name, None)
        if opened:
            opened.release()
        del opened
        gc.collect()

    def _close_others(self, card: ModelCard) -> list[str]:
        """Close what else is on the card; return the names."""
        others = [
            name for name, opened in self._opened.items() if name != card.name and opened.on_card
        ]
        for name in others:
            self._close(name)
        return others

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release_all()
