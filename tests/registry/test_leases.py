"""Guards who is on the card: models stay while there is room, the longest unused goes first, the
generator last, a leased one never, and a lease that is over holds nothing."""

import gc
import weakref

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from facefusion_ui.errors import OutOfMemoryError
from facefusion_ui.registry.ladder import Descent
from facefusion_ui.registry.oom import is_oom
from facefusion_ui.registry.registry import Registry
from tests.networks import MB


def run(registry: Registry, card, descent: Descent | None = None, count: int = 8, pixels: int = 0):
    return registry.run(card, lambda adapter: adapter.add(count), descent, pixels=pixels)


def resident(registry: Registry) -> set[str]:
    return {model.name for model in registry.status()}


def test_a_lease_that_is_over_holds_nothing(model) -> None:
    card = model("detector", 1, task="face_detector")
    with Registry(("cpu",), emulate_bytes=10 * MB) as registry:
        with registry.lease(card) as lent:
            assert lent.add(3).tolist() == [1] * 3
            add = lent.add
            gone = weakref.ref(lent.network)
        for late in (lambda: lent.add(3), lambda: add(3), lambda: lent.network):
            with pytest.raises(RuntimeError, match="the lease of this model is over"):
                late()
        registry.release(card)
        gc.collect()
        assert gone() is None
        assert registry.free_bytes == 10 * MB


def test_what_is_used_longest_ago_makes_room_and_the_generator_stays(model) -> None:
    generator = model("generator", 4, known=True)
    first, second, third = (
        model(name, 2, known=True, task=task)
        for name, task in (
            ("first", "face_detector"),
            ("second", "face_recognizer"),
            ("third", "face_enhancer"),
        )
    )
    descent = Descent()
    with Registry(("cpu",), emulate_bytes=9 * MB) as registry:
        for card in (generator, first, second, first):
            run(registry, card, descent)
        assert descent.steps == []
        run(registry, third, descent)
        assert resident(registry) == {"generator", "first", "third"}
    (step,) = descent.steps
    assert step.rung == "evict"
    assert step.reason == "needs 2 MB, 1 MB are free; closed: second"


def test_the_generator_leaves_when_nothing_else_can(model) -> None:
    generator, restorer = (
        model("generator", 6, known=True),
        model("restorer", 8, known=True, task="face_enhancer"),
    )
    descent = Descent()
    with Registry(("cpu",), emulate_bytes=10 * MB) as registry:
        run(registry, generator, descent)
        run(registry, restorer, descent)
        assert resident(registry) == {"restorer"}
    assert [step.rung for step in descent.steps] == ["unpin"]
    assert descent.steps[0].lossless


def test_what_another_job_left_behind_goes_without_a_word(model) -> None:
    old, new = (model(name, 6, known=True, task="face_enhancer") for name in ("old", "new"))
    with Registry(("cpu",), emulate_bytes=10 * MB) as registry:
        run(registry, old, Descent())
        descent = Descent()
        run(registry, new, descent)
        assert resident(registry) == {"new"}
        assert descent.steps == []
        assert descent.crowded_bytes == 0


def test_a_need_beyond_the_card_is_seen_before_anybody_is_closed(model) -> None:
    small = model("small", 1, known=True, task="face_detector")
    large = model("large", 20, known=True, task="face_enhancer")
    descent = Descent()
    with Registry(("cpu",), emulate_bytes=10 * MB) as registry:
        run(registry, small, descent)
        run(registry, large, descent)
        assert resident(registry) == {"small", "large"}
        assert {m.name: m.on_card for m in registry.status()} == {"small": True, "large": False}
    assert [(step.rung, step.reason) for step in descent.steps] == [
        ("processor", "needs 20 MB of 10 MB")
    ]


def test_what_failed_once_is_not_tried_again_by_the_next_job(model) -> None:
    card = model("restorer", 1, task="face_enhancer")
    with Registry(("cpu",), emulate_bytes=10 * MB) as registry:
        for number in range(2):
            descent = Descent()
            run(registry, card, descent, count=4 * MB, pixels=1000)
            (step,) = descent.steps
            assert step.rung == "processor"
            assert ("did not fit before" in step.reason) == (number == 1)
            assert descent.loads["restorer"] == (2 if number == 0 else 0)


def test_memory_that_came_back_lets_a_model_up_again_and_only_then(model) -> None:
    card = model("restorer", 6, known=True, task="face_enhancer")
    descent = Descent()
    with Registry(("cpu",), emulate_bytes=10 * MB) as registry:
        registry.take_away(6 * MB)
        run(registry, card, descent)
        assert descent.rung(card).name == "processor"
        descent.climb(registry.budget_bytes)
        assert descent.rung(card).name == "processor"
        registry.give_back()
        descent.climb(registry.budget_bytes)
        assert descent.rung(card).name == "card"
        run(registry, card, descent)
        assert registry.status()[0].on_card
    assert descent.steps[-1].message == "restorer runs on the card again."


def test_offloaded_tasks_never_touch_the_card(model) -> None:
    card = model("detector", 1, task="face_detector")
    descent = Descent(offload=frozenset({"face_detector"}))
    with Registry(("cpu",), emulate_bytes=10 * MB) as registry:
        run(registry, card, descent)
        assert [m.on_card for m in registry.status()] == [False]
        assert registry.free_bytes == 10 * MB
    assert descent.steps == []


def test_need_is_learned_from_what_the_card_shows(model) -> None:
    card = model("restorer", 1, known=True, bytes_per_pixel=1.0)
    with Registry(("cpu",), emulate_bytes=20 * MB) as registry:
        assert registry.costs.need_bytes(card, 1_000_000) == 2 * MB
        run(registry, card, count=1_000_000, pixels=1_000_000)
        need = registry.costs.need_bytes(card, 1_000_000)
        peak = registry.memory.reading.peak_bytes
    assert need == pytest.approx(peak, rel=0.01)
    assert need > 4 * MB


def test_a_jobs_account_of_its_peak_is_the_cards_own(model) -> None:
    cards = [
        model("generator", 4, known=True),
        model("restorer", 3, known=True, task="face_enhancer"),
    ]
    descent = Descent()
    with Registry(("cpu",), emulate_bytes=20 * MB) as registry:
        for card in cards:
            run(registry, card, descent, count=500_000, pixels=500_000)
        assert descent.peak_bytes == pytest.approx(registry.memory.reading.peak_bytes, rel=0.01)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    capacity_mb=st.integers(3, 14),
    known=st.booleans(),
    moves=st.lists(
        st.tuples(st.sampled_from(["run", "lease", "end", "hog", "back"]), st.integers(0, 4)),
        min_size=1,
        max_size=25,
    ),
)
def test_any_order_of_leases_keeps_the_budget_and_the_leased(
    model, capacity_mb, known, moves
) -> None:
    tasks = ("face_detector", "face_recognizer", "face_swapper", "face_enhancer", "frame_enhancer")
    cards = [
        model(f"model_{number}", size_mb, task=task, known=known)
        for number, (size_mb, task) in enumerate(zip((0.5, 1, 4, 7, 2), tasks, strict=True))
    ]
    descent = Descent()
    with Registry(("cpu",), emulate_bytes=capacity_mb * MB) as registry:
        leases = []
        for move, number in moves:
            card = cards[number]
            if move == "run":
                assert run(registry, card, descent).tolist() == [1] * 8
            elif move == "lease" and card.name not in {name for name, _, _ in leases}:
                lease = registry.lease(card)
                try:
                    leases.append((card.name, lease, lease.__enter__()))
                except Exception as error:  # noqa: BLE001  the runtime's own class
                    fine = is_oom(error)
                    assert fine
            elif move == "end" and leases:
                leases.pop()[1].__exit__(None, None, None)
            elif move == "hog":
                registry.take_away(number * MB)
            elif move == "back":
                registry.give_back()
                descent.climb(registry.budget_bytes)
            assert registry.free_bytes >= 0
            assert registry.memory.reading.peak_bytes <= capacity_mb * MB
            for name, _, lent in leases:
                assert name in resident(registry)
                assert lent.network.input_shapes  # it lives
        while leases:
            leases.pop()[1].__exit__(None, None, None)
    assert registry.status() == []


def test_a_swapper_that_fits_nowhere_ends_in_one_sentence(model) -> None:
    card = model("large", 4)
    with (
        Registry(("cpu",), emulate_bytes=10 * MB) as registry,
        pytest.raises(OutOfMemoryError, match="large does not fit in memory"),
    ):
        run(registry, card, Descent(), count=1 << 50)
