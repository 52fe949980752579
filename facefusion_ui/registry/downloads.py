"""Getting a model's file: resumed where it broke off, from the next address if one fails, and
named only when it is the file its card says.
"""

import logging
import shutil
import zipfile
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

import requests

from facefusion_ui.cards import Archive, ModelCard, Weights
from facefusion_ui.errors import ModelError, OutputError
from facefusion_ui.media.files import check_space, give_name, written_whole
from facefusion_ui.registry.catalog import find_cards
from facefusion_ui.registry.weights import Store, difference, looks_like

TRIES = 4  # at each address that bring nothing; others go on where the one before broke off
PIECE_BYTES = 1 << 16  # what comes of a piece before the line breaks is lost
TIMEOUT_S = (10, 60)  # to connect, and between two pieces

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Fetched:
    """How far a download is; `total_bytes` is 0 while nobody knows."""

    done_bytes: int
    total_bytes: int


class _Failed(Exception):  # noqa: N818  told in the error that ends all tries
    """An address does not give the file."""


def download(card: ModelCard, store: Store) -> Generator[Fetched, None, Path]:
    """Fetch `card`'s file into the store's folder and return its path.

    What has come so far stays as NAME.part when it breaks off or is cancelled, and is gone on with
    the next time.

    Raises:
        ModelError: no address gives the file; the hint says what to fetch by hand.
        OutputError: the folder cannot be written or is too small.
    """
    weights = card.weights
    if weights is None or not weights.urls:
        raise ModelError(f"{card.name} is not downloaded", hint="It comes with the program.")
    store.folder.mkdir(parents=True, exist_ok=True)
    wanted = _wanted(weights)
    part = store.folder / f"{wanted.path}.part"
    check_space(part, wanted.size_bytes + (weights.size_bytes if weights.archive else 0))
    told = []
    for url in weights.urls:
        try:
            yield from _fetch(url, part, wanted)
        except _Failed as failed:
            told.append(f"{urlsplit(url).netloc} {failed}")
            log.info("%s: %s", url, failed)
            continue
        except OSError as error:
            raise OutputError(
                f"{part} cannot be written: {error.strerror}", hint="Free some space."
            ) from error
        path = store.folder / weights.path
        if weights.archive is None:
            give_name(part, path)
        elif weights.path not in _unpack(part, weights.archive, store):
            raise ModelError(f"{weights.path} is not in {url}", hint=store.by_hand(weights))
        return path
    raise ModelError(
        f"{card.name} could not be downloaded: {'; '.join(told)}", hint=store.by_hand(weights)
    )


def _wanted(weights: Weights) -> Weights:
    """Return what lies at the addresses: the file itself, or the zip that holds it."""
    if weights.archive is None:
        return weights
    name = PurePosixPath(urlsplit(weights.urls[0]).path).name
    return Weights(name, weights.archive.size_bytes, weights.archive.sha256)


def _fetch(url: str, part: Path, wanted: Weights) -> Generator[Fetched, None, None]:
    """Fetch `url` into `part`; it is whole, and the file that is wanted, when this returns.

    Raises:
        _Failed: it is not to be had here; what is of no use is removed.
    """
    said, begun, tries = "", part.exists(), 0
    while tries < TRIES:
        have_bytes = _size(part)
        try:
            yield from _go_on(url, part, wanted)
        except requests.RequestException as error:
            said = _short(error)
            tries = 1 if _size(part) > have_bytes else tries + 1
            continue
        wrong = difference(part, wanted) if wanted.sha256 else looks_like(part)
        if wrong:
            part.unlink()
            if begun:  # perhaps only what was there before is of another file
                begun = False
                continue
            raise _Failed(
                f"gives a file that {wrong}" if wanted.sha256 else f"gives no model{wrong}"
            )
        return
    raise _Failed(said)


def _go_on(url: str, part: Path, wanted: Weights) -> Generator[Fetched, None, None]:
    """Fetch what `part` lacks.

    Raises:
        requests.RequestException: the connection broke off.
        _Failed: trying again is of no use.
    """
    have_bytes = _size(part)
    if wanted.size_bytes and have_bytes >= wanted.size_bytes:
        return
    asked = {"Accept-Encoding": "identity"}
    if have_bytes:
        asked["Range"] = f"bytes={have_bytes}-"
    with requests.get(url, headers=asked, stream=True, timeout=TIMEOUT_S) as answer:
        if answer.status_code == requests.codes.requested_range_not_satisfiable:
            part.unlink()
            raise requests.ConnectionError("what was there already is of another file")
        if not answer.ok:
            raise _Failed(f"answers {answer.status_code} {answer.reason}")
        if url.startswith("https:") and not answer.url.startswith("https:"):
            raise _Failed(f"leads to an address that is not safe, {answer.url}")
        if answer.headers.get("Content-Type", "").startswith("text/html"):
            raise _Failed("gives a web page in place of the file")
        resumed = answer.status_code == requests.codes.partial_content and answer.headers.get(
            "Content-Range", ""
        ).startswith(f"bytes {have_bytes}-")
        done_bytes = have_bytes if resumed else 0
        length_bytes = int(answer.headers.get("Content-Length", 0))
        total_bytes = wanted.size_bytes or (done_bytes + length_bytes if length_bytes else 0)
        with part.open("ab" if resumed else "wb") as file:
            for piece in answer.iter_content(PIECE_BYTES):
                file.write(piece)
                done_bytes += len(piece)
                yield Fetched(done_bytes, total_bytes)
                if wanted.size_bytes and done_bytes > wanted.size_bytes:
                    break  # another file, or one without end; its size tells
    if done_bytes < total_bytes:
        raise requests.ConnectionError(f"broke off at {done_bytes} of {total_bytes} bytes")


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _unpack(part: Path, archive: Archive, store: Store) -> list[str]:
    """Take out of a zip what any card has in it, by the files' own names; then remove the zip.

    Returns:
        The names of the files.
    """
    taken = []
    with zipfile.ZipFile(part) as opened:
        members = {PurePosixPath(member.filename).name: member for member in opened.infolist()}
        for card in find_cards().values():
            if card.weights is None or card.weights.archive != archive:
                continue
            member, path = members.get(card.weights.path), store.folder / card.weights.path
            if member is None or member.file_size != card.weights.size_bytes:
                continue
            with written_whole(path) as work, opened.open(member) as inner, work.open("xb") as out:
                shutil.copyfileobj(inner, out)
            taken.append(card.weights.path)
    part.unlink()
    return taken


def _short(error: requests.RequestException) -> str:
    if isinstance(error, requests.Timeout):
        return "does not answer in time"
    if isinstance(error, requests.ConnectionError) and "broke off" in str(error):
        return str(error)
    return f"cannot be reached ({type(error).__name__})"
