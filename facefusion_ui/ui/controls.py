"""One control per field of Settings: kind, label, range, help and group come from the field."""

from typing import Any

import gradio as gr
from gradio.components import Component

from facefusion_ui.registry.catalog import cards_of, choices
from facefusion_ui.registry.weights import Store
from facefusion_ui.settings import Option, Settings, Values, option, values_of
from facefusion_ui.ui import texts


def shown_fields(*, basic: bool) -> list[str]:
    """Return the names of the fields that have a control, in the order of Settings.

    Paths have their own places on the page, and the machine is chosen when the program starts.
    """
    names = []
    for name, field in Settings.model_fields.items():
        choice = option(field)
        if choice.group in texts.GROUPS and name != "report_path" and choice.basic == basic:
            names.append(name)
    return names


def make_control(name: str, default: Any, store: Store) -> Component:
    """Make the control of one field, set to `default`; models that `store` lacks are marked."""
    field = Settings.model_fields[name]
    takes, asks = values_of(field), option(field)
    common: dict[str, Any] = {
        "label": texts.label(name),
        "info": texts.sentence(field.description or ""),
        "elem_id": name,
    }
    known: list[Any] = _models(asks, store) if asks.task else list(takes.choices)
    if known:
        return _choice(known, takes, default, common)
    if takes.count != 1:
        return gr.Textbox(value=shown_value(name, default), **common)
    if takes.low is None or takes.high is None or takes.optional:
        return gr.Number(
            value=default,
            minimum=takes.low,
            maximum=takes.high,
            precision=0 if takes.kind is int else None,
            **common,
        )
    step = 1 if takes.kind is int else 0.05
    return gr.Slider(takes.low, takes.high, value=default, step=step, **common)


def _models(asks: Option, store: Store) -> list[tuple[str, str]]:
    """Return what a model's dropdown shows for each name, those at hand first."""
    assert asks.task
    cards = cards_of(asks.task)
    absent = [name for name in choices(asks) if name in cards and not store.has(cards[name])]
    at_hand = [name for name in choices(asks) if name not in absent]
    marked = [(texts.NOT_INSTALLED.format(name), name) for name in absent]
    return [(name, name) for name in at_hand] + marked


def shown_value(name: str, value: Any) -> Any:
    """Return what a field's control shows for `value`."""
    takes, task = values_of(Settings.model_fields[name]), option(Settings.model_fields[name]).task
    if takes.count == 1:
        return value
    return list(value) if takes.choices or task else " ".join(map(str, value))


def read_control(name: str, value: Any) -> Any:
    """Return what Settings takes for the `value` of a field's control."""
    takes = values_of(Settings.model_fields[name])
    if takes.count == 1:
        return value
    words = value.replace(",", " ").split() if isinstance(value, str) else value
    return tuple(words)


def _choice(known: list[Any], takes: Values, default: Any, common: dict[str, Any]) -> Component:
    if takes.count is None:
        return gr.CheckboxGroup(known, value=list(default), **common)
    return gr.Dropdown(known, value=default, **common)
