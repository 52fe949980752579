"""Guards what is known of needs: a table that is lost, damaged, or says what one fluke showed."""

from facefusion_ui.cards import Licence, ModelCard, Weights
from facefusion_ui.registry.costs import Costs

CARD = ModelCard(
    name="restorer",
    task="face_enhancer",
    summary="",
    licence=Licence("MIT", True, "https://example.org"),
    open=object,
    weights=Weights("restorer", 1_000_000, "a" * 64),
    bytes_per_pixel=10.0,
)
OTHER_FILE = Weights("restorer", 1_000_000, "b" * 64)


def test_a_card_is_believed_until_the_device_has_shown_more(tmp_path) -> None:
    costs = Costs("some card", tmp_path / "costs.json")
    assert costs.need_bytes(CARD, 1000) == 1_010_000
    costs.learn(CARD, 1000, 30_000)
    assert costs.need_bytes(CARD, 2000) == 1_060_000
    again = Costs("some card", tmp_path / "costs.json")
    assert again.need_bytes(CARD, 2000) == 1_060_000
    assert Costs("another card", tmp_path / "costs.json").need_bytes(CARD, 2000) == 1_020_000


def test_another_weights_file_is_another_model(tmp_path) -> None:
    from dataclasses import replace

    costs = Costs("some card")
    costs.learn(CARD, 1000, 30_000)
    assert costs.need_bytes(replace(CARD, weights=OTHER_FILE), 1000) == 1_010_000


def test_a_failure_bounds_what_is_tried(tmp_path) -> None:
    costs = Costs("some card", tmp_path / "costs.json")
    costs.learn_failure(CARD, 1000, 1_500_000)
    for known in (costs, Costs("some card", tmp_path / "costs.json")):
        assert known.is_too_big(CARD, 1000, 1_500_000)
        assert known.is_too_big(CARD, 2000, 1_400_000)
        assert not known.is_too_big(CARD, 999, 1_400_000)
        assert not known.is_too_big(CARD, 1000, 1_600_000)


def test_a_failure_with_plenty_free_is_a_fluke_and_not_kept() -> None:
    costs = Costs("some card")
    costs.learn_failure(CARD, 1000, 50_000_000)
    assert not costs.is_too_big(CARD, 1000, 1_000)


def test_a_damaged_table_is_begun_anew(tmp_path) -> None:
    path = tmp_path / "costs.json"
    for damage in ("{", "[]", '{"restorer": {"bytes_per_pixel": "much"}}', ""):
        path.write_text(damage, encoding="utf-8")
        costs = Costs("some card", path)
        costs.learn(CARD, 1000, 30_000)
        assert Costs("some card", path).is_measured(CARD)


def test_a_folder_that_takes_no_file_costs_only_the_memory_of_it(tmp_path) -> None:
    (tmp_path / "file").touch()
    costs = Costs("some card", tmp_path / "file" / "costs.json")
    costs.learn(CARD, 1000, 30_000)
    assert costs.is_measured(CARD)
