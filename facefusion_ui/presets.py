"""Options that go together for a size of card: one TOML file each, its keys are fields of Settings.

A preset is a set of defaults; what the user says goes before it.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

from facefusion_ui.errors import SettingsError
from facefusion_ui.settings import make_settings, nearest

FOLDER = Path(__file__).parents[1] / "presets"
SLACK = 1.1  # a card sold as 8 GB shows a little more or less


def preset_names() -> list[str]:
    """Return the names of all presets, for the smallest card first.

    >>> preset_names()
    ['cpu', '4gb', '6gb', '8gb', '12gb']
    """
    return sorted((path.stem for path in FOLDER.glob("*.toml")), key=_gigabytes)


def load_preset(name: str) -> dict[str, Any]:
    """Return the options of a preset.

    Raises:
        SettingsError: there is none of that name, or it says what no option takes.
    """
    if name not in preset_names():
        raise SettingsError(f"{name} is not a preset", hint=nearest(name, preset_names()))
    path = FOLDER / f"{name}.toml"
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path.name} is not TOML: {error}", hint=f"Mend {path}.") from error
    values = {key: tuple(v) if isinstance(v, list) else v for key, v in values.items()}
    try:
        make_settings(values)
    except SettingsError as error:
        raise SettingsError(f"{path.name}: {error}", hint=error.hint) from error
    return values


def fitting_preset(card_bytes: int | None) -> str:
    """Return the preset for a card of that size; None: there is no card.

    >>> fitting_preset(None), fitting_preset(6_442_450_944), fitting_preset(24_000_000_000)
    ('cpu', '6gb', '12gb')
    """
    if card_bytes is None:
        return "cpu"
    sized = [name for name in preset_names() if _gigabytes(name)]
    fitting = [name for name in sized if _gigabytes(name) * 1e9 <= SLACK * card_bytes]
    return fitting[-1] if fitting else sized[0]


def _gigabytes(name: str) -> int:
    found = re.match(r"(\d+)gb$", name)
    return int(found[1]) if found else 0
