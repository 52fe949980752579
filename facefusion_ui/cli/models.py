"""The verb `models`: what can be installed, what is, and getting, checking and removing it."""

import argparse
import json
import sys
from contextlib import closing

from tqdm import tqdm

from facefusion_ui.cards import ModelCard
from facefusion_ui.cli.terminal import Terminal
from facefusion_ui.errors import FaceFusionError, ModelError
from facefusion_ui.notices import told_bytes
from facefusion_ui.processor.halving import halve
from facefusion_ui.registry.catalog import find_card
from facefusion_ui.registry.conversion import converted
from facefusion_ui.registry.downloads import download
from facefusion_ui.registry.library import Entry, accept, entries, entry, is_accepted, remove
from facefusion_ui.registry.registry import Registry


def run(asked: argparse.Namespace, terminal: Terminal, registry: Registry) -> int:
    """Do what was asked with the named models and return the exit code.

    Raises:
        FaceFusionError: a name is not known, or a step failed.
    """
    cards = [find_card(name) for name in asked.names]
    return _DO[asked.action](asked, cards, terminal, registry)


def _list(
    asked: argparse.Namespace, cards: list[ModelCard], terminal: Terminal, registry: Registry
) -> int:
    known = entries(registry.store, registry.costs)
    names = {card.name for card in cards}
    shown = [each for each in known if not names or each.name in names]
    if asked.json:
        print(json.dumps([each.model_dump(mode="json") for each in shown], indent=2))
        return 0
    width = max(len(each.name) for each in shown)
    print(f"  {'':{width}}     file    memory  state")
    task = ""
    for each in shown:
        if each.task != task:
            task = each.task
            print(f"\n{task.replace('_', ' ')}")
        size, need = (told_bytes(b) if b else "?" for b in (each.bytes, each.need_bytes))
        use = "any use" if each.commercial_use else "non-commercial"
        print(
            f"  {each.name:{width}} {size:>8} {need:>9}  {_state(each):11} {use:15} {each.licence}"
        )
    return 0


def _state(each: Entry) -> str:
    if not each.installed:
        return "-"
    if each.trouble:
        return "wrong file"
    return "installed" if each.verified else "unverified"


def _show(
    asked: argparse.Namespace, cards: list[ModelCard], terminal: Terminal, registry: Registry
) -> int:
    found = [entry(card, registry.store, registry.costs) for card in _named(cards)]
    if asked.json:
        print(json.dumps([each.model_dump(mode="json") for each in found], indent=2))
        return 0
    for card, each in zip(cards, found, strict=True):
        print(f"{each.name}: {each.task.replace('_', ' ')}; {each.summary}")
        print(f"  licence     {each.licence}, {each.licence_url}")
        print(f"  commercial  {'yes' if each.commercial_use else 'no'}")
        print(f"  file        {told_bytes(each.bytes) if each.bytes else 'of unknown size'}")
        print(f"  memory      {told_bytes(each.need_bytes)} for one run")
        print(f"  state       {_state(each)}{f': {each.path}' if each.path else ''}")
        if each.trouble:
            print(f"  trouble     {each.trouble}")
        for needed in (card.recognizer, card.converter):
            if needed:
                print(f"  needs       {needed}")
        for url in card.weights.urls if card.weights else ():
            print(f"  from        {url}")
    return 0


def _download(
    asked: argparse.Namespace, cards: list[ModelCard], terminal: Terminal, registry: Registry
) -> int:
    store = registry.store
    wanted = {each.name: each for card in _named(cards) for each in _with_needed(card)}
    for card in wanted.values():
        if registry.has(card):
            terminal.say(f"{card.name} is installed already.")
            continue
        if not is_accepted(card.licence, store):
            _ask(card, terminal, accepted=asked.accept_licence)
            accept(card.licence, store)
        _fetch(card, registry)
        if registry.has(card):
            terminal.say(f"{card.name} is installed: {store.find(card)}")
        else:
            terminal.warn(
                f"{card.name} was downloaded, but nobody has published what it must be.",
                f"If you trust where it comes from: --unverified-models {card.name}",
            )
    return 0


def _fetch(card: ModelCard, registry: Registry) -> None:
    with (
        closing(download(card, registry.store)) as pieces,
        tqdm(desc=card.name, unit="B", unit_scale=True, disable=None) as bar,
    ):
        for fetched in pieces:
            bar.total = fetched.total_bytes or None
            bar.update(fetched.done_bytes - bar.n)


def _ask(card: ModelCard, terminal: Terminal, *, accepted: bool) -> None:
    """Have the user accept the licence.

    Raises:
        ModelError: the user does not, or cannot be asked.
    """
    terminal.say(f"{card.name} is under: {card.licence.name}\n{card.licence.url}")
    if accepted:
        return
    if not sys.stdin.isatty():
        raise ModelError(
            f"The licence of {card.name} restricts what it may be used for",
            hint="Read it, and give --accept-licence if you accept it.",
        )
    terminal.say("It restricts what the model may be used for. Do you accept it? [y/N]")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise ModelError(f"{card.name} was not downloaded", hint="Its licence was not accepted.")


def _verify(
    asked: argparse.Namespace, cards: list[ModelCard], terminal: Terminal, registry: Registry
) -> int:
    known = entries(registry.store, registry.costs)
    names = {card.name for card in cards}
    chosen = [each for each in known if (each.name in names if names else each.installed)]
    if asked.json:
        print(json.dumps([each.model_dump(mode="json") for each in chosen], indent=2))
    else:
        for each in chosen:
            print(f"{_state(each):13} {each.name}{f': {each.trouble}' if each.trouble else ''}")
    return int(any(not each.verified for each in chosen))


def _remove(
    asked: argparse.Namespace, cards: list[ModelCard], terminal: Terminal, registry: Registry
) -> int:
    for card in _named(cards):
        for path in remove(card, registry.store):
            terminal.say(f"Removed {path}")
    return 0


def _convert(
    asked: argparse.Namespace, cards: list[ModelCard], terminal: Terminal, registry: Registry
) -> int:
    store = registry.store
    for card in _named(cards):
        if asked.fp16:
            made = halve(card, store, registry)
            terminal.say(
                f"Wrote {made.path}: {made.mean:.2f} of 255 from the original in the mean, "
                f"{made.worst} at most. --execution-precision half takes it."
            )
        elif card.torch:
            terminal.say(f"Wrote {converted(store.locate(card), card.torch, store.folder)}")
        else:
            raise ModelError(
                f"{card.name} is ONNX already", hint="With --fp16 it is made in half precision."
            )
    return 0


_DO = {
    "list": _list,
    "show": _show,
    "download": _download,
    "verify": _verify,
    "remove": _remove,
    "convert": _convert,
}


def _named(cards: list[ModelCard]) -> list[ModelCard]:
    if not cards:
        raise FaceFusionError("No model is named", hint="See: python app.py models list")
    return cards


def _with_needed(card: ModelCard) -> list[ModelCard]:
    """Return `card` and those it cannot do without."""
    names = [name for name in (card.recognizer, card.converter) if name]
    return [card, *(find_card(name) for name in names)]
