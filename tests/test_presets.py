"""Guards the presets: a key nobody knows, a recipe that drifts, a card that gets the wrong one."""

import pytest

from facefusion_ui import presets
from facefusion_ui.errors import SettingsError
from facefusion_ui.presets import fitting_preset, load_preset, preset_names
from facefusion_ui.settings import make_settings


@pytest.mark.parametrize("name", ["cpu", "4gb", "6gb", "8gb", "12gb"])
def test_every_preset_says_what_a_card_needs(name) -> None:
    values = load_preset(name)
    assert set(values) >= {
        "video_memory_strategy",
        "system_memory_limit",
        "temp_frame_format",
        "execution_precision",
        "execution_offload",
        "processors",
        "enhance_every",
        "face_detector_size",
        "output_video_quality",
    }
    if name != "cpu":
        assert make_settings(values).video_memory_limit == int(name[:-2]) * 10**9


def test_the_4_gb_preset_is_the_well_known_recipe() -> None:
    made = make_settings(load_preset("4gb"))
    assert made.target_face_size == 720
    assert "face_enhancer" not in made.processors
    assert "frame_enhancer" not in made.processors
    assert made.temp_frame_format == "jpg"
    assert made.video_memory_strategy == "strict"
    assert made.system_memory_limit == 8


@pytest.mark.parametrize(
    ("total_bytes", "name"),
    [
        (2_147_483_648, "4gb"),
        (4_294_967_296, "4gb"),
        (6_442_450_944, "6gb"),
        (8_585_740_288, "8gb"),
        (11_811_160_064, "12gb"),
        (24_000_000_000, "12gb"),
        (None, "cpu"),
    ],
)
def test_a_card_gets_the_preset_of_its_size(total_bytes, name) -> None:
    assert fitting_preset(total_bytes) == name


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("video_memory_strategi = 'strict'", "4gb.toml: video_memory_strategi is not an option",
         "Did you mean video_memory_strategy?"),
        ("face_detector_size = 12", "4gb.toml: face_detector_size", "long edge"),
        ("face_detector_size = ", "4gb.toml is not TOML", "Mend"),
    ],
)  # fmt: skip
def test_a_preset_that_is_wrong_is_named(tmp_path, monkeypatch, text, message, hint) -> None:
    (tmp_path / "4gb.toml").write_text(text, encoding="utf-8")
    monkeypatch.setattr(presets, "FOLDER", tmp_path)
    with pytest.raises(SettingsError, match=message) as caught:
        load_preset("4gb")
    assert hint in caught.value.hint


def test_a_file_that_is_dropped_in_is_a_preset(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(presets, "FOLDER", tmp_path)
    (tmp_path / "16gb.toml").write_text("face_detector_size = 1280", encoding="utf-8")
    assert preset_names() == ["16gb"]
    assert load_preset("16gb") == {"face_detector_size": 1280}
