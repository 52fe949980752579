"""Opening models: which runtime, which device, and what is given back when they are closed."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from facefusion_ui.cards import ModelCard, TorchCode
from facefusion_ui.errors import DeviceError
from facefusion_ui.registry.backends import OnnxNetwork
from facefusion_ui.registry.conversion import HALF, converted, edition
from facefusion_ui.registry.device import choose_provider
from facefusion_ui.registry.torch_network import TorchNetwork
from facefusion_ui.registry.virtual_card import HeldNetwork, VirtualCard
from facefusion_ui.registry.weights import Store
from facefusion_ui.settings import ExecutionProvider


@dataclass
class Opened:
    """An open model.

    Attributes:
        on_card: it takes the card's memory.
        bytes: what its weights take.
        network: whose memory can be shrunk, if any.
        release: gives back what it took.
    """

    card: ModelCard
    adapter: Any
    on_card: bool
    bytes: int
    network: OnnxNetwork | None = None
    release: Callable[[], None] = lambda: None
    leases: int = 0
    used_s: float = field(default_factory=time.monotonic)


class Opener:
    """Opens models on the device that was asked for.

    Attributes:
        provider: what networks run on.
        emulated: the card that stands in place of a real one.
        trouble: why the card that `auto` found is not used; None while all is well.
    """

    def __init__(
        self,
        asked: ExecutionProvider,
        device_id: int,
        emulated: VirtualCard | None,
        threads: int,
        store: Store,
    ) -> None:
        self._threads = threads
        self._store = store
        self._asked = asked
        self._device_id = device_id
        self.provider = choose_provider(asked)
        self.emulated = emulated
        self.trouble: DeviceError | None = None
        self._paths: dict[tuple[str, str], Path] = {}  # of weights that were checked

    @property
    def has_card(self) -> bool:
        """Whether networks have memory of their own, beside the system's."""
        return self.emulated is not None or self.provider != "cpu"

    def open(
        self,
        card: ModelCard,
        *,
        on_card: bool,
        generous: bool = False,
        half: bool = False,
        limit_bytes: int | None = None,
    ) -> Opened:
        """Open `card`'s model, `on_card` or on the processor.

        Args:
            generous, limit_bytes: see `backends.cuda_options`.
            half: the card runs half precision well.

        Raises:
            ModelError: the weights are missing or are not what the card says.
            DeviceError: the asked provider does not run here.
            Exception: the runtime's own, when memory runs out.
        """
        if card.runtime == "none":
            return Opened(card, card.open(), on_card=False, bytes=0)
        path = self._paths.get((card.name, card.runtime)) or self._store.locate(card)
        self._paths[card.name, card.runtime] = path
        if card.precision == "half":
            path = edition(path, self._store.folder, HALF)
        elif card.torch and card.runtime == "onnx":
            path = converted(path, card.torch, self._store.folder)
        size_bytes = path.stat().st_size
        if card.runtime == "file":
            return Opened(card, card.open(path), on_card=False, bytes=size_bytes)
        if card.torch and card.runtime == "torch":
            return self._open_torch(card, card.torch, path, on_card=on_card, half=half)
        if on_card and self.emulated:
            taken = self.emulated.open(path, frees_shape=card.frees_shape)
            adapter = card.open(taken)
            return Opened(card, adapter, on_card, bytes=taken.bytes, release=taken.close)
        network = self._open_network(
            card, path, on_card=on_card, generous=generous, limit_bytes=limit_bytes
        )
        on_card = on_card and self.has_card
        return Opened(card, card.open(network), on_card, bytes=size_bytes, network=network)

    def _open_torch(
        self, card: ModelCard, code: TorchCode, path: Path, *, on_card: bool, half: bool
    ) -> Opened:
        """Open a network of torch's; on an emulated card, the card's arena keeps its account."""
        if on_card and self.emulated:
            weights = self.emulated.hold(path.stat().st_size)
            try:
                network = TorchNetwork(path, code, device="cpu", half=False)
            except BaseException:
                weights.close()
                raise
            held = HeldNetwork(self.emulated, network, weights, card.bytes_per_pixel)
            return Opened(card, card.open(held), on_card, weights.bytes, release=held.close)
        on_card = on_card and self.provider == "cuda"
        device = f"cuda:{self._device_id}" if on_card else "cpu"
        network = TorchNetwork(path, code, device=device, half=half and on_card and code.half_ok)
        return Opened(card, card.open(network), on_card, network.bytes, release=network.close)

    def _open_network(
        self,
        card: ModelCard,
        path: Path,
        *,
        on_card: bool,
        generous: bool,
        limit_bytes: int | None,
    ) -> OnnxNetwork:
        def open_on(provider: ExecutionProvider) -> OnnxNetwork:
            return OnnxNetwork(
                path,
                provider=provider,
                device_id=self._device_id,
                frees_shape=card.frees_shape,
                threads=self._threads,
                generous=generous,
                limit_bytes=limit_bytes,
            )

        if not on_card:
            return open_on("cpu")
        try:
            return open_on(self.provider)
        except DeviceError as error:
            if self._asked != "auto" or self.provider == "cpu":
                raise
            self.trouble = error
        self.provider = "cpu"
        return open_on("cpu")
