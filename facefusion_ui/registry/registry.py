"""Lending models out: each is opened at its first use and closed with the registry."""

import gc
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from facefusion_ui.cards import ModelCard
from facefusion_ui.errors import DeviceError
from facefusion_ui.registry.backends import OnnxNetwork
from facefusion_ui.registry.device import choose_provider
from facefusion_ui.registry.weights import locate
from facefusion_ui.settings import ExecutionProvider

T = TypeVar("T")
log = logging.getLogger(__name__)


class Registry:
    """The only door to a model. One lock: models run one at a time.

    Attributes:
        card_trouble: why the card that `auto` found is not used; None while all is well.
    """

    def __init__(
        self, execution_providers: tuple[ExecutionProvider, ...] = ("auto",), device_id: int = 0
    ) -> None:
        self._asked = execution_providers[0]
        self._provider = choose_provider(self._asked)
        self.card_trouble: DeviceError | None = None
        self._device_id = device_id
        self._adapters: dict[str, Any] = {}
        self._lock = threading.Lock()

    @property
    def device(self) -> ExecutionProvider:
        """The provider that networks are opened on."""
        return self._provider

    def run(self, card: ModelCard, call: Callable[[Any], T]) -> T:
        """Open `card`'s model if it is not open, and return `call(adapter)`.

        Keep nothing of the adapter beyond `call`.

        Raises:
            ModelError: the weights are missing or are not what the card says.
            DeviceError: the asked provider does not run here.
        """
        with self._lock:
            if card.name not in self._adapters:
                self._adapters[card.name] = self._open(card)
                log.info("opened %s", card.name)
            return call(self._adapters[card.name])

    def device_of(self, card: ModelCard) -> str:
        """Return what runs `card`: libraries with their own weights format run on the CPU."""
        return self.device if card.runtime == "onnx" else "cpu"

    def release_all(self) -> None:
        """Close every model and give its memory back."""
        with self._lock:
            self._adapters.clear()
        gc.collect()

    def _open(self, card: ModelCard) -> object:
        if card.runtime == "none":
            return card.open()
        path = locate(card)
        if card.runtime == "file":
            return card.open(path)
        return card.open(self._open_network(card, path))

    def _open_network(self, card: ModelCard, path: Path) -> OnnxNetwork:
        try:
            return OnnxNetwork(
                path,
                provider=self._provider,
                device_id=self._device_id,
                frees_shape=card.frees_shape,
            )
        except DeviceError as error:
            if self._asked != "auto" or self._provider == "cpu":
                raise
            self.card_trouble = error
        self._provider = "cpu"
        return self._open_network(card, path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release_all()
