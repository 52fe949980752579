"""What `auto` stands for: the best model that is installed and fits the card's memory."""

from facefusion_ui.cards import ModelCard
from facefusion_ui.errors import ModelError
from facefusion_ui.notices import told_bytes
from facefusion_ui.registry.catalog import card, cards_of
from facefusion_ui.registry.registry import Registry
from facefusion_ui.settings import AUTO, Processor, Settings


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
