"""Guards the controls: an option without one, a value that Settings does not take back."""

import pytest

from facefusion_ui.registry.weights import Store
from facefusion_ui.settings import Settings, make_settings, option, values_of
from facefusion_ui.ui.controls import make_control, read_control, shown_fields

SHOWN = [*shown_fields(basic=True), *shown_fields(basic=False)]


def test_every_option_of_a_job_has_a_control() -> None:
    without = {
        name
        for name, field in Settings.model_fields.items()
        if option(field).group in ("paths", "machine") or name == "report_path"
    }
    assert set(SHOWN) == set(Settings.model_fields) - without


@pytest.mark.parametrize("name", SHOWN)
def test_a_control_has_the_fields_help_range_and_default(name: str) -> None:
    field = Settings.model_fields[name]
    takes = values_of(field)
    control = make_control(name, field.default, Store())
    assert control.label
    assert field.description in control.info.replace(control.info[0], field.description[0], 1)
    if takes.low is not None:
        assert control.minimum == takes.low
        assert control.maximum == takes.high
    taken = make_settings({name: read_control(name, control.value)})
    assert getattr(taken, name) == field.default


def test_models_at_hand_come_first_and_the_others_are_marked(tmp_path) -> None:
    control = make_control("face_swapper_model", "auto", Store(tmp_path))
    shown = {value: label for label, value in control.choices}
    assert list(shown)[:2] == ["auto", "landmark_warp"]
    assert shown["landmark_warp"] == "landmark_warp"
    assert shown["inswapper_128"] == "inswapper_128 (not installed)"
