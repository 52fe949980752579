"""Guards "one file adds a model": discovery, unique names, and what is said of an unknown one."""

from pathlib import Path

import pytest

from facefusion_ui import swappers
from facefusion_ui.errors import ModelError
from facefusion_ui.registry.catalog import card, cards_of, find_cards

NEW_MODEL = '''
"""A model somebody adds."""

from facefusion_ui.cards import Licence, ModelCard
from facefusion_ui.faces import SwappedFace


class Keep:
    def swap(self, source, target):
        return SwappedFace(target.crop)


CARDS = (
    ModelCard(
        name="{name}",
        task="face_swapper",
        summary="keeps the target",
        licence=Licence("MIT", True, "https://example.org"),
        open=Keep,
    ),
)
'''


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def add(name: str) -> None:
        (tmp_path / f"added_{name}.py").write_text(NEW_MODEL.format(name=name), encoding="utf-8")
        monkeypatch.setattr(swappers, "__path__", [*swappers.__path__, str(tmp_path)])

    return add


def test_a_swapper_is_added_by_adding_one_file(added) -> None:
    before = set(cards_of("face_swapper"))
    added("keep_256")
    assert set(cards_of("face_swapper")) == before | {"keep_256"}
    assert card("keep_256", "face_swapper").summary == "keeps the target"


def test_two_models_of_one_name_are_refused(added) -> None:
    added("centerface")
    with pytest.raises(ValueError, match="two models are called centerface"):
        find_cards()


def test_an_unknown_model_is_answered_with_the_nearest() -> None:
    with pytest.raises(ModelError, match="'landmark_wrap' is not a face swapper") as caught:
        card("landmark_wrap", "face_swapper")
    assert caught.value.hint == "Did you mean landmark_warp?"


@pytest.mark.parametrize("found", find_cards().values(), ids=lambda found: found.name)
def test_every_card_names_its_licence(found) -> None:
    assert found.licence.name
    assert found.licence.url.startswith("https://")
    assert found.summary
