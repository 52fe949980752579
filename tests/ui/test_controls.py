"""Guards the controls: an option without one, a value that Settings does not take back."""

import pytest

from facefusion_ui.registry.catalog import cards_of
from facefusion_ui.settings import Settings, make_settings, option, values_of
from facefusion_ui.ui.controls import make_control, read_control, shown_fields

SHOWN = [*shown_fields(basic=True), *shown_fields(basic=False)]


def test_every_option_of_a_job_has_a_control() -> None:
    without = {
        name
        for name, field in Settings.model_fields.items()
        if option(field).group in ("paths", "machine") or name == "report_path"
    }
    uninstalled = {
        name
        for name, field in Settings.model_fields.items()
        if (task := option(field).task) and not cards_of(task)
    }
    assert set(SHOWN) == set(Settings.model_fields) - without - uninstalled


@pytest.mark.parametrize("name", SHOWN)
def test_a_control_has_the_fields_help_range_and_default(name: str) -> None:
    field = Settings.model_fields[name]
    takes = values_of(field)
    control = make_control(name, field.default)
    assert control.label
    assert field.description in control.info.replace(control.info[0], field.description[0], 1)
    if takes.low is not None:
        assert control.minimum == takes.low
        assert control.maximum == takes.high
    taken = make_settings({name: read_control(name, control.value)})
    assert getattr(taken, name) == field.default
