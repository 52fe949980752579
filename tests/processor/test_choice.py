"""Guards what `auto` takes: nothing that is absent, not whole, or too large, and it is said."""

import pytest

from facefusion_ui.errors import ModelError
from facefusion_ui.processor.choice import settle
from facefusion_ui.processor.jobs import prepare
from facefusion_ui.registry.registry import Registry
from facefusion_ui.registry.weights import Store
from facefusion_ui.settings import make_settings

FILES = {"inswapper_128": "inswapper_128.onnx", "arcface": "w600k_r50.onnx"}


def chosen(store: Store, card_mb: int | None = None, **settings) -> tuple[str, str]:
    emulate_bytes = card_mb * 1_000_000 if card_mb else None
    with Registry(("cpu",), emulate_bytes=emulate_bytes, store=store) as registry:
        settled, (why,) = settle(make_settings(settings), registry)
    return settled.face_swapper_model, why


def installed(folder, *names) -> Store:
    """Return a store whose user answers for those models' files."""
    for name in names:
        (folder / FILES[name]).write_bytes(b"weights")
    return Store(folder, vouched=names)


def test_without_a_learned_model_the_embedded_engine_works(tmp_path, astronaut_path) -> None:
    assert chosen(Store(tmp_path)) == (
        "landmark_warp",
        "landmark_warp: no learned face swapper is installed",
    )
    with Registry(("cpu",), store=Store(tmp_path)) as registry:
        plan = prepare(make_settings({"target_path": astronaut_path}), registry).plan()
    assert plan.told()[0] == "landmark_warp: no learned face swapper is installed"


def test_the_best_that_is_whole_is_taken(tmp_path) -> None:
    assert chosen(installed(tmp_path, "inswapper_128"))[0] == "landmark_warp"  # nothing embeds
    name, why = chosen(installed(tmp_path, *FILES))
    assert name == "inswapper_128"
    assert why == "inswapper_128: the best face swapper that is installed"


def test_a_file_that_nobody_answers_for_is_not_taken(tmp_path) -> None:
    installed(tmp_path, *FILES)
    assert chosen(Store(tmp_path))[0] == "landmark_warp"


def test_what_does_not_fit_on_the_card_is_not_taken(tmp_path) -> None:
    store = installed(tmp_path, *FILES)
    assert chosen(store, 1000)[0] == "inswapper_128"
    name, why = chosen(store, 300)
    assert name == "landmark_warp"
    assert "inswapper_128 needs 656 MB of 300 MB" in why


def test_a_named_model_is_left_alone(tmp_path) -> None:
    made = make_settings({"face_swapper_model": "uniface_256"})
    with Registry(("cpu",), store=Store(tmp_path)) as registry:
        assert settle(made, registry) == (made, ())


def test_a_step_without_any_model_says_how_to_get_one(tmp_path) -> None:
    with pytest.raises(ModelError, match="No face enhancer is installed") as caught:
        chosen(Store(tmp_path), processors=["face_enhancer"])
    assert "models download gfpgan_1.4" in caught.value.hint
    assert "face_enhancer out of the processors" in caught.value.hint
