"""What models need: weights, and so much for each pixel of the input.

A card's own figure comes from a profile on the processor. What a device has shown takes its place
and is kept in a small file, with what did not fit there.
"""

import logging
from pathlib import Path

from pydantic import BaseModel, TypeAdapter, ValidationError

from facefusion_ui.cards import ModelCard
from facefusion_ui.errors import OutputError
from facefusion_ui.media.files import write_whole

PATH = Path(__file__).parents[2] / "models" / "costs.json"
FLUKE = 2  # a failure with this many times the need free has another cause

log = logging.getLogger(__name__)


class Seen(BaseModel):
    """What one device has shown of one weights file.

    Attributes:
        bytes_per_pixel: measured; None: not yet.
        too_big: the largest free memory at which a run on that many pixels failed.
    """

    bytes_per_pixel: float | None = None
    too_big: dict[int, int] = {}


TABLE = TypeAdapter(dict[str, Seen])


class Costs:
    """A table of what is known about the needs of models on `device`."""

    def __init__(self, device: str, path: Path | None = None) -> None:
        """Read the table; `path` None keeps it for this process alone."""
        self._device = device
        self._path = path
        self._seen: dict[str, Seen] = {}
        if path and path.is_file():
            try:
                self._seen = TABLE.validate_json(path.read_bytes())
            except ValidationError as error:
                log.info("%s is not readable and is begun anew: %s", path, error)

    def need_bytes(self, card: ModelCard, pixels: int) -> int:
        """Return what `card`'s model needs for a run on `pixels`, weights included."""
        return weights_bytes(card) + self.working_bytes(card, pixels)

    def working_bytes(self, card: ModelCard, pixels: int) -> int:
        """Return what a run on `pixels` takes beside the weights."""
        seen = self._of(card).bytes_per_pixel
        return round(pixels * (card.bytes_per_pixel if seen is None else seen))

    def is_measured(self, card: ModelCard) -> bool:
        """Tell whether this device has shown the model's need."""
        return self._of(card).bytes_per_pixel is not None

    def learn(self, card: ModelCard, pixels: int, working_bytes: int) -> None:
        """Note what a run took beside the weights."""
        self._note(card, self._of(card).model_copy(
            update={"bytes_per_pixel": working_bytes / max(1, pixels)}
        ))  # fmt: skip

    def learn_failure(self, card: ModelCard, pixels: int, free_bytes: int) -> None:
        """Note that a run on `pixels` failed alone on a card with `free_bytes`."""
        need = self.need_bytes(card, pixels)
        if need and free_bytes > FLUKE * need:
            return
        seen = self._of(card)
        worst = max(free_bytes, seen.too_big.get(pixels, 0))
        self._note(card, seen.model_copy(update={"too_big": seen.too_big | {pixels: worst}}))

    def is_too_big(self, card: ModelCard, pixels: int, free_bytes: int) -> bool:
        """Tell whether so much, or less, has failed with as much memory, or more."""
        return any(
            pixels >= failed and free_bytes <= worst
            for failed, worst in self._of(card).too_big.items()
        )

    def _of(self, card: ModelCard) -> Seen:
        return self._seen.get(self._key(card), Seen())

    def _note(self, card: ModelCard, seen: Seen) -> None:
        self._seen[self._key(card)] = seen
        if self._path:
            try:
                write_whole(self._path, [TABLE.dump_json(self._seen, indent=1)])
            except OutputError as error:
                log.info("what models need is forgotten at the end: %s", error)

    def _key(self, card: ModelCard) -> str:
        digest = card.weights.sha256[:16] if card.weights else ""
        return f"{card.name} {digest} {card.runtime} {card.precision} on {self._device}"


def weights_bytes(card: ModelCard) -> int:
    """Return the size of `card`'s weights."""
    size_bytes = card.weights.size_bytes if card.weights else 0
    return size_bytes if card.precision == "full" else size_bytes // 2
