"""Guards the first command a newcomer types."""

import subprocess
import sys
from pathlib import Path

import pytest

import facefusion_ui

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("start", [[str(ROOT / "app.py")], ["-m", "facefusion_ui"]])
def test_the_program_starts_from_any_folder(start: list[str], tmp_path: Path) -> None:
    folder = ROOT if start[0] == "-m" else tmp_path
    done = subprocess.run(
        [sys.executable, *start, "--version"],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stdout.split() == ["facefusion-ui", facefusion_ui.__version__]
