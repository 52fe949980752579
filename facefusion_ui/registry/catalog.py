"""Which models there are: every `CARDS` in the leaf folders, and the user's own, found by looking.

Adding a file to a leaf folder is all it takes to add a model.
"""

import importlib
import logging
import pkgutil
from collections.abc import Container
from functools import lru_cache
from pathlib import Path

from facefusion_ui.cards import ModelCard, Task
from facefusion_ui.errors import ModelError
from facefusion_ui.own import read_own
from facefusion_ui.registry.weights import FOLDER
from facefusion_ui.settings import AUTO, Option, nearest

LEAVES = (
    "detectors",
    "landmarkers",
    "recognizers",
    "converters",
    "swappers",
    "enhancers",
    "upscalers",
    "occluders",
    "parsers",
)
OWN_LEAVES = {"face_swapper": "swappers", "face_enhancer": "enhancers"}

log = logging.getLogger(__name__)


def find_cards() -> dict[str, ModelCard]:
    """Return every model card by name, in the order of the leaf folders; then the user's own.

    Raises:
        ValueError: two cards share a name.
    """
    cards: dict[str, ModelCard] = {}
    for leaf in LEAVES:
        package = importlib.import_module(f"facefusion_ui.{leaf}")
        for found in pkgutil.iter_modules(package.__path__):
            module = importlib.import_module(f"{package.__name__}.{found.name}")
            for card in module.CARDS:
                if card.name in cards:
                    raise ValueError(f"two models are called {card.name}")
                cards[card.name] = card
    return cards | _own_cards(cards)


def _own_cards(known: Container[str]) -> dict[str, ModelCard]:
    """Return the user's own models; one that is wrong, or whose name is taken, costs no other."""
    cards = {}
    for path in sorted(FOLDER.glob("*.toml")):
        card = _own_card(path, path.stat().st_mtime_ns)
        if card is not None and card.name not in known:
            cards[card.name] = card
    return cards


@lru_cache
def _own_card(path: Path, mtime_ns: int) -> ModelCard | None:
    """Return the card of a file, which is read again, and told of, only when it has changed."""
    try:
        model = read_own(path)
    except ModelError as error:
        log.warning("%s. %s", error, error.hint)
        return None
    module = importlib.import_module(f"facefusion_ui.{OWN_LEAVES[model.task]}.own")
    card: ModelCard = module.card_of(model)
    return card


def cards_of(task: Task) -> dict[str, ModelCard]:
    """Return the cards of one task by name."""
    return {name: card for name, card in find_cards().items() if card.task == task}


def choices(option: Option) -> list[str]:
    """Return what a model's option takes: the names of its task's cards, and perhaps `auto`."""
    assert option.task
    return [AUTO] * option.auto + list(cards_of(option.task))


def find_card(name: str) -> ModelCard:
    """Return the card of that name, of whatever task.

    Raises:
        ModelError: no model has that name.
    """
    known = find_cards()
    if name not in known:
        raise ModelError(f"{name!r} is not a model", hint=nearest(name, list(known)))
    return known[name]


def card(name: str, task: Task) -> ModelCard:
    """Return one card.

    Raises:
        ModelError: no model of this task has that name.
    """
    known = cards_of(task)
    if name in known:
        return known[name]
    raise ModelError(f"{name!r} is not a {task.replace('_', ' ')}", hint=nearest(name, list(known)))
