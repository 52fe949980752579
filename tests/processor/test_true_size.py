"""Guards the promise of the product at the size that counts: a 1080p clip and networks as large as
the learned models, on emulated cards where all of them fit, some, one at a time, and not all."""

from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import pytest

from benchmarks.standins import standin
from facefusion_ui import detectors, enhancers, recognizers, swappers, upscalers
from facefusion_ui.events import FrameReady
from facefusion_ui.faces import AlignedFace, Source
from facefusion_ui.media.probe import probe
from facefusion_ui.media.video import FrameReader
from facefusion_ui.processor.jobs import prepare, run_job
from facefusion_ui.registry.catalog import card
from facefusion_ui.registry.registry import Registry
from facefusion_ui.report import Report
from facefusion_ui.settings import Settings, make_settings
from tests.media.clips import ffmpeg

MODULE = "from tests.standin_models import *\n"
ADDED = {
    detectors: """
CARDS = (card_of("det_10g", "face_detector", Finder, bytes_per_pixel=42.5),)
""",
    recognizers: """
CARDS = (card_of("w600k_r50", "face_recognizer", Namer, template="arcface_112_v2",
    size_px=112, bytes_per_pixel=586.4),)
""",
    swappers: """
CARDS = (
    card_of("inswapper_128", "face_swapper", Painter, template="arcface_128", size_px=128,
        recognizer="standin_w600k_r50", bytes_per_pixel=6198.5,
        half="standin_inswapper_128_fp16"),
    card_of("inswapper_128_fp16", "face_swapper", Painter, template="arcface_128", size_px=128,
        recognizer="standin_w600k_r50", bytes_per_pixel=6198.5),
)
""",
    enhancers: """
CARDS = (card_of("gfpgan_1_4", "face_enhancer", Restorer, template="ffhq_512", size_px=512,
    bytes_per_pixel=2026.5),)
""",
    upscalers: """
CARDS = (card_of("real_esrgan_x2", "frame_enhancer", Doubler, scale=2, halo_px=16,
    bytes_per_pixel=3278),)
""",
}
FRAMES = 4
TWO_FRAMES_GIB = 2.5 * 1920 * 1080 * 3 / 2**30


@pytest.fixture(scope="module")
def standins(tmp_path_factory) -> pytest.MonkeyPatch:
    """Offer the stand-ins to the tests of this file, as if somebody had added them."""
    folder = tmp_path_factory.mktemp("standins")
    with pytest.MonkeyPatch.context() as patch:
        for package, code in ADDED.items():
            leaf = package.__name__.rpartition(".")[2]
            (folder / leaf).mkdir()
            (folder / leaf / f"standin_{leaf}.py").write_text(MODULE + code, encoding="utf-8")
            patch.setattr(package, "__path__", [*package.__path__, str(folder / leaf)])
        yield patch


@pytest.fixture(scope="module")
def clip(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("clip") / "hd.mp4"
    ffmpeg("-f", "lavfi", "-i", "testsrc2=size=1920x1080:rate=25", "-frames:v", f"{FRAMES}", path)
    return path


def asked(clip: Path, source: Path, output: Path, **more) -> Settings:
    return make_settings(
        {
            "source_paths": [source],
            "target_path": clip,
            "output_path": output,
            "processors": ["face_swapper", "face_enhancer"],
            "face_selector_mode": "reference",
            "face_detector_model": "standin_det_10g",
            "face_recognizer_model": "standin_w600k_r50",
            "face_swapper_model": "standin_inswapper_128",
            "face_enhancer_model": "standin_gfpgan_1_4",
            "system_memory_limit": TWO_FRAMES_GIB,
            **more,
        }
    )


@dataclass(frozen=True)
class Outcome:
    """A job's report and frames, and the emulated card's own account of its peak."""

    report: Report
    frames: np.ndarray
    peak_bytes: int


def run(settings: Settings, size: str) -> Outcome:
    made = make_settings({**settings.model_dump(), "emulate_vram": size})
    with Registry(("cpu",), emulate_bytes=made.emulate_vram) as registry:
        events = list(run_job(made, registry))
        frames = [event.frame for event in events if isinstance(event, FrameReady)]
        return Outcome(events[-1].report, np.stack(frames), registry.memory.reading.peak_bytes)


@pytest.fixture(scope="module")
def roomy(standins, clip, hopper_path, tmp_path_factory) -> Outcome:
    output = tmp_path_factory.mktemp("roomy") / "out.mp4"
    return run(asked(clip, hopper_path, output), "4GB")


def check_numbers(outcome: Outcome, budget_bytes: float) -> None:
    report, peak_bytes = outcome.report, outcome.peak_bytes
    assert report.frames == report.faces_swapped == FRAMES
    assert peak_bytes <= budget_bytes
    assert report.peak_card_bytes == pytest.approx(peak_bytes, rel=0.05)
    assert report.plan.peak_bytes == pytest.approx(peak_bytes, rel=0.10)


def test_on_4_gb_everything_stays_and_nothing_steps_down(roomy) -> None:
    report = roomy.report
    check_numbers(roomy, 4e9)
    assert report.plan.order == "frame"
    assert report.steps_down == []
    assert set(report.loads.values()) == {1}


def test_the_swap_is_painted_where_the_face_is(roomy, clip) -> None:
    with FrameReader(probe(clip)) as reader:
        before = np.stack(list(reader))
    changed = np.abs(roomy.frames.astype(int) - before).mean(axis=-1)
    assert changed[:, 500:600, 880:980].mean() > 40
    assert changed[:, :200].max() == 0


@pytest.mark.parametrize(
    ("size", "rungs", "on_cpu"),
    [
        ("2GB", [], set()),
        ("1GB", ["unpin"], set()),
        ("0.75GB", ["processor"], {"standin_gfpgan_1_4"}),
    ],
)
def test_a_smaller_card_ends_with_the_same_picture(
    roomy, clip, hopper_path, tmp_path, size, rungs, on_cpu
) -> None:
    outcome = run(asked(clip, hopper_path, tmp_path / "out.mp4"), size)
    report = outcome.report
    check_numbers(outcome, float(size[:-2]) * 1e9)
    assert [step.rung for step in report.steps_down] == rungs
    assert {m.name for m in report.models if m.device == "cpu"} - {"dlib_68"} == on_cpu
    stages, chunks = 4, FRAMES // 2
    looks = 2  # at the source and at the reference, before the first chunk
    assert max(report.loads.values()) <= chunks + looks
    assert sum(report.loads.values()) <= stages * (chunks + looks)
    assert report.steps_up == []  # no memory has come back
    assert np.abs(outcome.frames.astype(int) - roomy.frames).max() <= 2


def test_a_large_picture_is_upscaled_in_tiles_without_a_seam(standins, astronaut, tmp_path) -> None:
    picture = tmp_path / "face.png"
    cv2.imwrite(str(picture), astronaut[:352, 64:416])
    settings = make_settings(
        {
            "source_paths": [],
            "target_path": picture,
            "output_path": tmp_path / "out.png",
            "processors": ["frame_enhancer"],
            "frame_enhancer_model": "standin_real_esrgan_x2",
        }
    )
    roomy, tight = run(settings, "1GB"), run(settings, "0.35GB")
    assert roomy.report.steps_down == []
    (step,) = tight.report.steps_down
    assert (step.rung, step.lossless) == ("tiles of 256", True)
    assert tight.peak_bytes <= 0.35e9
    assert tight.report.peak_card_bytes == pytest.approx(tight.peak_bytes, rel=0.05)
    assert np.abs(tight.frames.astype(int) - roomy.frames).max() <= 2


def test_half_precision_takes_half_of_the_card(roomy, clip, hopper_path, tmp_path) -> None:
    more = {"execution_precision": "half", "processors": ["face_swapper"]}
    outcome = run(asked(clip, hopper_path, tmp_path / "half.mp4", **more), "2GB")
    assert outcome.report.loads["standin_inswapper_128_fp16"] == 1
    assert "standin_inswapper_128" not in outcome.report.loads
    assert outcome.report.steps_down == []
    full = standin("inswapper_128").stat().st_size
    assert standin("inswapper_128_fp16").stat().st_size == pytest.approx(full / 2, rel=0.01)
    with Registry(("cpu",), emulate_bytes=10**9) as registry:
        crop, source = np.full((128, 128, 3), 90, np.uint8), Source((), np.ones(512, np.float32))
        crop[40:80, 40:80] = (30, 60, 200)
        target = AlignedFace(crop, np.eye(2, 3, dtype=np.float32), np.zeros((5, 2)), None)
        taken, pictures = [], []
        for name in ("standin_inswapper_128", "standin_inswapper_128_fp16"):
            swapper = card(name, "face_swapper")
            made = registry.run(swapper, lambda model: model.swap(source, target))
            pictures.append(made.crop.astype(int))
            taken.append(registry.held_bytes)
            registry.release_all()
    assert taken[1] == pytest.approx(taken[0] / 2, rel=0.01)
    assert np.abs(pictures[1] - pictures[0]).max() <= 8  # half precision, no more


def test_the_plan_is_told_before_anything_runs(standins, clip, hopper_path, tmp_path) -> None:
    settings = asked(clip, hopper_path, tmp_path / "out.mp4", emulate_vram="1GB")
    with Registry(("cpu",), emulate_bytes=settings.emulate_vram) as registry:
        plan = prepare(settings, registry).plan()
        assert registry.status() == []
    assert plan.order == "stage"
    assert plan.chunk_frames == 2
    assert plan.unpinned == "standin_inswapper_128"
    assert "standin_gfpgan_1_4 340 MB opened once per 2 frames" in plan.told()
    assert "peak 872 MB of 1.00 GB" in plan.told()


def test_the_swapper_stand_in_has_the_true_models_shape(standins) -> None:
    import onnx

    graph = onnx.load(standin("inswapper_128")).graph
    shapes = {i.name: [d.dim_value for d in i.type.tensor_type.shape.dim] for i in graph.input}
    assert shapes == {"target": [1, 3, 128, 128], "source": [1, 512]}
    assert list(graph.initializer[-1].dims) == [512, 512]
    parameters = sum(int(np.prod(tensor.dims)) for tensor in graph.initializer)
    assert parameters == pytest.approx(139e6, rel=0.01)
