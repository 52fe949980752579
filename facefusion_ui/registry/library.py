"""What the user sees of the models: which there are, which are installed, and what binds them."""

import json
from pathlib import Path

from pydantic import BaseModel

from facefusion_ui.cards import Licence, ModelCard, Task
from facefusion_ui.errors import ModelError
from facefusion_ui.media.files import write_whole
from facefusion_ui.registry.catalog import find_cards
from facefusion_ui.registry.conversion import editions
from facefusion_ui.registry.costs import Costs
from facefusion_ui.registry.weights import Store

ACCEPTED = "accepted-licences.json"  # in the models folder


class Entry(BaseModel):
    """A model as `models list` shows it.

    Attributes:
        bytes: of the file; 0 where nobody has published it.
        need_bytes: of memory, for one run at the model's own size.
        verified: the file is the published one; None: it is not installed.
        path: of the file; None: it is not installed.
        trouble: what is wrong with the file that is there.
    """

    name: str
    task: Task
    summary: str
    licence: str
    licence_url: str
    commercial_use: bool
    bytes: int
    need_bytes: int
    installed: bool
    verified: bool | None
    path: Path | None
    trouble: str = ""


def entries(store: Store, costs: Costs) -> list[Entry]:
    """Return every model, in the order of the stages."""
    return [entry(card, store, costs) for card in find_cards().values()]


def entry(card: ModelCard, store: Store, costs: Costs) -> Entry:
    """Return one model, its file checked."""
    path, verified, trouble = None, None, ""
    if store.has(card):
        try:
            path = store.locate(card) if card.weights else None
            verified = card.weights is None or store.is_published(card)
        except ModelError as error:
            verified, trouble = False, str(error)
    return Entry(
        name=card.name,
        task=card.task,
        summary=card.summary,
        licence=card.licence.name,
        licence_url=card.licence.url,
        commercial_use=card.licence.commercial_use,
        bytes=card.weights.size_bytes if card.weights else 0,
        need_bytes=costs.need_bytes(card, card.size_px**2),
        installed=store.has(card),
        verified=verified,
        path=path,
        trouble=trouble,
    )


def remove(card: ModelCard, store: Store) -> list[Path]:
    """Remove `card`'s file from the models folder, and what was converted from it.

    Returns:
        What was removed.

    Raises:
        ModelError: it comes with the program, is not there, or belongs to another program.
    """
    weights = card.weights
    if weights is None or weights.package:
        raise ModelError(f"{card.name} comes with the program", hint="It cannot be removed.")
    if not store.has(card):
        raise ModelError(f"{card.name} is not installed", hint="There is nothing to remove.")
    path = store.find(card)
    if not path.is_relative_to(store.folder):
        raise ModelError(
            f"{card.name} lies in a folder of another program, {path.parent}",
            hint=f"Remove {path} by hand if that program does not need it.",
        )
    gone = [*editions(path, store.folder), path]
    for each in gone:
        each.unlink()
    return gone


def is_accepted(licence: Licence, store: Store) -> bool:
    """Tell whether the user need not be asked: the licence leaves free, or was accepted before."""
    return licence.commercial_use or licence.name in _accepted(store)


def accept(licence: Licence, store: Store) -> None:
    """Note that the user has accepted `licence`, for all models under it."""
    names = sorted({*_accepted(store), licence.name})
    store.folder.mkdir(parents=True, exist_ok=True)
    write_whole(store.folder / ACCEPTED, [json.dumps(names, indent=2).encode()])


def _accepted(store: Store) -> list[str]:
    try:
        return list(json.loads((store.folder / ACCEPTED).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return []
