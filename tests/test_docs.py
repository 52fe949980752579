"""Guards the documents against drifting from the program: links, flags, the models' licences."""

import re
from pathlib import Path

import pytest

from facefusion_ui.registry.catalog import find_cards
from facefusion_ui.settings import Settings

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("models/*.md")])


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_links_lead_somewhere(document: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", document.read_text(encoding="utf-8"))
    assert [link for link in links if not (document.parent / link).exists()] == []


def test_flags_in_the_readme_are_options() -> None:
    flags = re.findall(
        r"(?<=[ `])--([a-z][a-z-]+)", (ROOT / "README.md").read_text(encoding="utf-8")
    )
    known = {*Settings.model_fields, "port", "help"}
    assert [flag for flag in flags if flag.replace("-", "_") not in known] == []


@pytest.mark.parametrize("card", find_cards().values(), ids=lambda card: card.name)
def test_every_model_stands_in_the_table_with_its_licence(card) -> None:
    table = (ROOT / "models" / "README.md").read_text(encoding="utf-8")
    (row,) = [line for line in table.splitlines() if line.startswith(f"| `{card.name}` |")]
    assert card.task.replace("_", " ") in row
    assert card.licence.name in row
