"""Which models a job runs, and how; `auto` is the best that is installed and fits the card."""

from dataclasses import replace
from typing import get_args

from facefusion_ui.cards import ModelCard
from facefusion_ui.errors import ModelError, SettingsError
from facefusion_ui.notices import told_bytes
from facefusion_ui.processor.record import Record
from facefusion_ui.registry.catalog import card, cards_of
from facefusion_ui.registry.registry import Registry
from facefusion_ui.settings import AUTO, PixelBoost, Processor, Settings


def settle(settings: Settings, registry: Registry) -> tuple[Settings, tuple[str, ...]]:
    """Return `settings` with a model's name for each `auto` in use, and a sentence on each choice.

    Raises:
        ModelError: no model of a kind is installed.
    """
    chosen, told = {}, []
    for processor in settings.processors:
        if getattr(settings, f"{processor}_model") == AUTO:
            chosen[f"{processor}_model"], why = _best(processor, registry)
            told.append(f"{chosen[f'{processor}_model']}: {why}")
    return settings.model_copy(update=chosen), tuple(told)


def chosen_card(
    processor: Processor, settings: Settings, record: Record, *, half: bool
) -> ModelCard | None:
    """Return the model of a processor as it is to be run; None: it is not asked for.

    Args:
        half: in half precision, if there is such an edition.
    """
    if processor not in settings.processors:
        return None
    chosen = card(getattr(settings, f"{processor}_model"), processor)
    if chosen.torch and settings.face_enhancer_backend == "torch":
        return replace(chosen, runtime="torch")
    return (record.half_of(chosen) if half else None) or chosen


def boost_factor(settings: Settings, swapper: ModelCard) -> int:
    """Return how many times `face_swapper_pixel_boost` is `swapper`'s own size.

    Raises:
        SettingsError: the network cannot be run at that size.
    """
    if settings.face_swapper_pixel_boost is None:
        return 1
    side = int(settings.face_swapper_pixel_boost.partition("x")[0])
    own = swapper.size_px
    if own and side % own == 0:
        return side // own
    fitting = [size for size in get_args(PixelBoost) if own and int(size.split("x")[0]) % own == 0]
    raise SettingsError(
        f"{swapper.name} cannot swap at {settings.face_swapper_pixel_boost}",
        hint=f"It can at: {', '.join(fitting)}."
        if fitting
        else "It works at the frame's own scale; leave --face-swapper-pixel-boost out.",
    )


def _best(processor: Processor, registry: Registry) -> tuple[str, str]:
    """Return a model's name and why it is the one."""
    ranked = sorted(cards_of(processor).values(), key=lambda known: -known.rank)
    installed = [known for known in ranked if known.rank and _is_whole(known, registry)]
    words = processor.replace("_", " ")
    if not installed:
        raise ModelError(
            f"No {words} is installed",
            hint=f"Get one: python app.py models download {ranked[0].name}. Or leave {processor} "
            "out of the processors.",
        )
    too_large = []
    for known in installed:
        lacking = _lacking(known, registry)
        if lacking is None:
            break
        too_large.append(lacking)
    else:
        return installed[-1].name, f"the smallest {words} that is installed"
    if too_large:
        return known.name, f"the best {words} that fits: {'; '.join(too_large)}"
    if known.weights is None:
        return known.name, f"no learned {words} is installed"
    return known.name, f"the best {words} that is installed"


def _is_whole(known: ModelCard, registry: Registry) -> bool:
    """Tell whether the model and those it cannot do without are installed."""
    needed = [known]
    if known.recognizer:
        needed.append(card(known.recognizer, "face_recognizer"))
    if known.converter:
        needed.append(card(known.converter, "identity_converter"))
    return all(registry.has(each) for each in needed)


def _lacking(known: ModelCard, registry: Registry) -> str | None:
    """Return why the model does not fit on the card; None: it does."""
    budget = registry.budget_bytes
    need = registry.costs.need_bytes(known, known.size_px**2)
    if budget is None or need <= budget:
        return None
    return f"{known.name} needs {told_bytes(need)} of {told_bytes(budget)}"
