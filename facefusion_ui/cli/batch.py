"""Many jobs from patterns: every source on every target."""

import glob
import itertools
import re
from pathlib import Path

from facefusion_ui.errors import InputError, SettingsError
from facefusion_ui.settings import Settings, nearest

PLACEHOLDERS = ("index", "source_name", "target_name", "target_extension")


def expand_batch(
    settings: Settings,
    source_patterns: list[str] | None,
    target_patterns: list[str],
    output_pattern: str,
) -> list[Settings]:
    """Return the settings of each job: every source on every target, in the order of the names.

    Raises:
        InputError: a pattern matches no file.
        SettingsError: the output pattern has an unknown placeholder, or names a file twice.
    """
    targets = _matches(target_patterns)
    sources: list[tuple[Path, ...]] = [(path,) for path in _matches(source_patterns or [])]
    jobs: dict[Path, Settings] = {}
    for index, (source, target) in enumerate(itertools.product(sources or [()], targets)):
        known = {
            "index": str(index),
            "source_name": source[0].stem if source else "",
            "target_name": target.stem,
            "target_extension": target.suffix,
        }
        output = Path(_filled(output_pattern, known))
        if output in jobs:
            raise SettingsError(
                f"Two jobs would write {output}", hint="Add {index} to the output pattern."
            )
        jobs[output] = settings.model_copy(
            update={"source_paths": source, "target_path": target, "output_path": output}
        )
    return list(jobs.values())


def _matches(patterns: list[str]) -> list[Path]:
    """Return the files that the patterns name; a file whose name looks like a pattern is itself."""
    found: list[Path] = []
    for pattern in patterns:
        named = Path(pattern).expanduser()
        paths = [named] if named.is_file() else map(Path, glob.glob(str(named), recursive=True))  # noqa: PTH207  Path.glob takes no absolute pattern
        files = sorted(path for path in paths if path.is_file())
        if not files:
            raise InputError(f"No file matches {pattern}", hint="Check the pattern, and quote it.")
        found += files
    return list(dict.fromkeys(found))


def _filled(pattern: str, values: dict[str, str]) -> str:
    """Put `values` into the pattern's {placeholders}.

    >>> _filled("out/{target_name}.png", {"target_name": "a"})
    'out/a.png'
    """

    def value(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise SettingsError(
                f"{match[0]} is not a placeholder", hint=nearest(match[1], list(values))
            )
        return values[match[1]]

    return re.sub(r"\{([^{}]*)\}", value, pattern)
