"""Guards the promise that memory never costs a job: real networks on an emulated card, where ONNX
Runtime itself fails, go down the ladder one announced rung at a time and always end."""

import gc
import weakref

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from facefusion_ui.cards import ModelCard
from facefusion_ui.errors import OutOfMemoryError
from facefusion_ui.events import FrameReady
from facefusion_ui.notices import SteppedDown
from facefusion_ui.processor.jobs import run_job
from facefusion_ui.registry.ladder import LADDER, Descent, LeftOut, ladder_of
from facefusion_ui.registry.oom import is_oom
from facefusion_ui.registry.registry import Registry
from facefusion_ui.registry.virtual_card import VirtualCard
from facefusion_ui.settings import make_settings
from tests.conftest import load
from tests.face_clip import make_face_clip
from tests.networks import MB, make_network
from tests.registry.conftest import LICENCE, AddOne


def run(registry: Registry, card: ModelCard, descent: Descent, count: int = 8) -> np.ndarray:
    return registry.run(card, lambda adapter: adapter.add(count), descent)


def rungs(descent: Descent) -> list[tuple[str, str]]:
    return [(step.model, step.rung) for step in descent.steps]


def test_a_roomy_card_gives_nothing_up(model) -> None:
    descent, generator, other = Descent(), model("generator", 4), model("other", 4)
    with Registry(("cpu",), emulate_bytes=20 * MB) as registry:
        for card in (generator, other, generator):
            assert run(registry, card, descent).tolist() == [1] * 8
    assert descent.steps == []


def test_weights_count_on_the_card_in_single_and_half_precision(model, tmp_path) -> None:
    for dtype in (np.float32, np.float16):
        card = VirtualCard(10 * MB)
        path = make_network(tmp_path / "net.onnx", 8, dtype)
        network = card.open(path)
        assert card.free_bytes == pytest.approx(2 * MB, abs=1000)
        with pytest.raises(Exception, match="smaller than requested") as caught:
            card.open(path)
        assert is_oom(caught.value)
        del caught
        network.close()
        assert card.free_bytes == 10 * MB
        gc.collect()
        again = card.open(path)
        if dtype == np.float32:  # on a processor, half precision is widened while it runs
            assert again({"x": np.zeros(2, np.float32)})[0].tolist() == [1, 1]


def test_other_models_make_room_first_and_come_back(model) -> None:
    descent = Descent()
    first, second = (model(name, 6, task="face_recognizer") for name in ("first", "second"))
    with Registry(("cpu",), emulate_bytes=10 * MB) as registry:
        for card in (first, second, first):
            assert run(registry, card, descent).tolist() == [1] * 8
    assert rungs(descent) == [("second", "evict"), ("first", "evict")]
    assert all(step.lossless and "smaller than requested" in step.reason for step in descent.steps)


def test_what_does_not_fit_alone_runs_on_the_processor(model) -> None:
    descent, large = Descent(), model("large", 12)
    with Registry(("cpu",), emulate_bytes=10 * MB) as registry:
        assert run(registry, large, descent).tolist() == [1] * 8
        assert rungs(descent) == [("large", "processor")]
        assert run(registry, large, descent).tolist() == [1] * 8
    assert len(descent.steps) == 1  # kept for the job, told once


def test_a_run_that_needs_too_much_steps_down_like_a_load(model) -> None:
    descent, small = Descent(), model("small", 1)
    with Registry(("cpu",), emulate_bytes=10 * MB) as registry:
        assert run(registry, small, descent).size == 8
        assert run(registry, small, descent, count=4 * MB).size == 4 * MB
    assert rungs(descent) == [("small", "processor")]


def test_a_search_takes_a_smaller_picture_before_it_leaves_the_card(model) -> None:
    descent, detector = Descent(), model("detector", 1, task="face_detector")
    with Registry(("cpu",), emulate_bytes=10 * MB) as registry:
        sizes = []

        def search(adapter):
            sizes.append(4_800_000 // descent.rung(detector).shrink)
            return adapter.add(sizes[-1])

        assert registry.run(detector, search, descent).size == 1_200_000
    assert sizes == [4_800_000, 2_400_000, 1_200_000]
    assert rungs(descent) == [("detector", "half input"), ("detector", "quarter input")]
    assert not any(step.lossless for step in descent.steps)


def test_without_consent_the_picture_is_not_made_worse(model) -> None:
    descent, detector = Descent(allow_lossy=False), model("detector", 1, task="face_detector")
    with Registry(("cpu",), emulate_bytes=10 * MB) as registry:
        assert run(registry, detector, descent, count=4 * MB).size == 4 * MB
    assert rungs(descent) == [("detector", "processor")]


class Glutton:
    """Takes more than any machine has."""

    def enhance(self, target):
        return np.ones(1 << 60, np.uint8)


@pytest.mark.parametrize("task", ["face_enhancer", "frame_enhancer"])
def test_an_enhancer_that_fits_nowhere_is_left_out(task) -> None:
    descent = Descent()
    glutton = ModelCard("glutton", task, "", LICENCE, Glutton)
    with Registry(("cpu",)) as registry:
        for _ in range(2):
            with pytest.raises(LeftOut):
                registry.run(glutton, lambda adapter: adapter.enhance(None), descent)
    assert rungs(descent) == [("glutton", "off")]


def test_a_swapper_that_fits_nowhere_ends_the_job_with_a_sentence() -> None:
    glutton = ModelCard("glutton", "face_swapper", "", LICENCE, Glutton)
    with Registry(("cpu",)) as registry, pytest.raises(OutOfMemoryError) as caught:
        registry.run(glutton, lambda adapter: adapter.enhance(None), Descent())
    assert "glutton does not fit in memory" in str(caught.value)
    assert caught.value.hint


def test_forbidding_the_last_rung_is_named_in_the_error() -> None:
    glutton = ModelCard("glutton", "face_enhancer", "", LICENCE, Glutton)
    with Registry(("cpu",)) as registry, pytest.raises(OutOfMemoryError) as caught:
        registry.run(glutton, lambda a: a.enhance(None), Descent(allow_lossy=False))
    assert "--allow-lossy-fallback" in caught.value.hint


def test_another_error_is_no_reason_to_step_down(model) -> None:
    descent, small = Descent(), model("small", 1)
    with Registry(("cpu",), emulate_bytes=10 * MB) as registry:
        with pytest.raises(ZeroDivisionError):
            registry.run(small, lambda adapter: 1 // 0, descent)
        assert run(registry, small, descent).size == 8
    assert descent.steps == []


def test_what_failed_and_what_was_evicted_is_really_gone(model) -> None:
    descent, first, second = Descent(), model("first", 6), model("second", 6)
    with Registry(("cpu",), emulate_bytes=10 * MB) as registry:
        gone = registry.run(first, lambda adapter: weakref.ref(adapter.network), descent)
        run(registry, second, descent)
        assert gone() is None


def test_every_ladder_begins_as_asked_and_ends_off_the_card() -> None:
    assert len({rung.name for rung in LADDER}) == len(LADDER)
    for task in ("face_detector", "face_swapper", "face_enhancer", "frame_enhancer"):
        card = ModelCard("any", task, "", LICENCE, AddOne, runtime="onnx")
        for allow_lossy in (True, False):
            ladder = ladder_of(card, allow_lossy=allow_lossy)
            assert ladder[0].name == "card"
            assert not ladder[-1].on_card or ladder[-1].off
            assert allow_lossy or all(rung.lossless for rung in ladder)


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    capacity_mb=st.integers(2, 12),
    calls=st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3)), min_size=1, max_size=12),
)
def test_any_order_of_calls_ends_right_and_within_the_card(model, capacity_mb, calls) -> None:
    cards = [model(f"model_{index}", size) for index, size in enumerate((0.5, 2, 4, 7))]
    descent = Descent()
    with Registry(("cpu",), emulate_bytes=capacity_mb * MB) as registry:
        for index, count in calls:
            card = cards[index]
            assert run(registry, card, descent, count).tolist() == [1] * count
            assert registry.free_bytes >= 0


def test_a_job_on_a_tiny_card_ends_whole_and_tells_each_step(
    tmp_path, astronaut_path, hopper_path
) -> None:
    made = make_settings(
        {
            "source_paths": [hopper_path],
            "target_path": astronaut_path,
            "output_path": tmp_path / "tiny.png",
            "emulate_vram": "32MB",
        }
    )
    with Registry(("cpu",), emulate_bytes=made.emulate_vram) as registry:
        *_, done = run_job(made, registry)
    report = done.report
    assert report.device == "emulated card of 32 MB"
    assert [(step.stage, step.rung) for step in report.steps_down] == [
        ("face_detector", "half input")
    ]
    assert report.steps_down[0].reason == "needs 57 MB of 32 MB"

    roomy = made.model_copy(update={"output_path": tmp_path / "roomy.png", "emulate_vram": None})
    with Registry(("cpu",)) as registry:
        list(run_job(roomy, registry))
    target, tiny, right = (
        load(path).astype(int)
        for path in (astronaut_path, tmp_path / "tiny.png", tmp_path / "roomy.png")
    )
    face = np.abs(right - target).max(axis=2) > 2
    changed = np.abs(right - target)[face].mean()
    # The same swap, of faces found a little less exactly.
    assert np.abs(tiny - right)[face].mean() < changed / 4


def test_another_program_that_takes_memory_in_mid_job_costs_no_frame(tmp_path, hopper_path) -> None:
    clip = make_face_clip(tmp_path / "clip.mp4", frames=6)
    made = make_settings(
        {
            "source_paths": [hopper_path],
            "target_path": clip,
            "output_path": tmp_path / "out.mp4",
            "face_detector_size": 256,
            "emulate_vram": "24MB",
            "emulate_hog": "1GB@frame:3",
        }
    )
    with Registry(("cpu",), emulate_bytes=made.emulate_vram) as registry:
        events = list(run_job(made, registry))
    report = events[-1].report
    assert (report.frames, report.faces_swapped) == (6, 6)
    assert [step.stage for step in report.steps_down].count("face_detector") >= 1
    first = next(i for i, event in enumerate(events) if isinstance(event, SteppedDown))
    assert sum(isinstance(event, FrameReady) for event in events[:first]) == 3
