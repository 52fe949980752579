"""Which models there are: every `CARDS` in the leaf folders, found by looking.

Adding a file to a leaf folder is all it takes to add a model.
"""

import importlib
import pkgutil

from facefusion_ui.cards import ModelCard, Task
from facefusion_ui.errors import ModelError
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


def find_cards() -> dict[str, ModelCard]:
    """Return every model card by name, in the order of the leaf folders.

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
    return cards


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
