"""Guards the documents against drifting from the program: links, flags, the models' licences."""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from facefusion_ui.arrays import Frame
from facefusion_ui.cli.flags import make_parser
from facefusion_ui.faces import AlignedFace, Source
from facefusion_ui.registry.catalog import find_cards

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("models/*.md")])

COMMANDS = re.findall(
    r"^python app\.py .*$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE
)


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_links_lead_somewhere(document: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", document.read_text(encoding="utf-8"))
    assert [link for link in links if not (document.parent / link).exists()] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_in_the_readme_are_understood(command: str) -> None:
    _python, _app, verb, *words = shlex.split(command)
    make_parser(verb).parse([word for word in words if word != "--help"])


def test_the_recipe_for_a_swapper_runs(astronaut: Frame) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    recipe: dict[str, Any] = {}
    exec(text.split("```python\n")[1].split("```")[0], recipe)
    (card,) = recipe["CARDS"]

    def keep(feeds: Mapping[str, NDArray[np.float32]]) -> list[NDArray[np.float32]]:
        assert feeds["source"].shape == (1, 4)
        return [feeds["target"]]

    source = Source((), np.ones(4, np.float32))
    points = np.zeros((5, 2), np.float32)
    target = AlignedFace(astronaut, np.eye(2, 3, dtype=np.float32), points, None)
    assert np.array_equal(card.open(keep).swap(source, target).crop, astronaut)


@pytest.mark.parametrize("card", find_cards().values(), ids=lambda card: card.name)
def test_every_model_stands_in_the_table_with_its_licence(card) -> None:
    table = (ROOT / "models" / "README.md").read_text(encoding="utf-8")
    (row,) = [line for line in table.splitlines() if line.startswith(f"| `{card.name}` |")]
    assert card.task.replace("_", " ") in row
    assert card.licence.name in row
