"""Guards "one file adds a model": a swapper, an enhancer and a frame enhancer that somebody drops
into its folder are offered, run, and paid for with what their cards ask for."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from facefusion_ui import enhancers, swappers, upscalers
from facefusion_ui.errors import SettingsError
from facefusion_ui.events import Done, FrameReady
from facefusion_ui.processor.frame import Recipe
from facefusion_ui.processor.jobs import run_job
from facefusion_ui.processor.record import Record
from facefusion_ui.processor.source import read_source
from facefusion_ui.registry.catalog import card
from facefusion_ui.settings import make_settings
from facefusion_ui.steps.align import align
from tests.conftest import carried, load
from tests.face_clip import make_face_clip

HEAD = '''
"""A model somebody adds."""

import cv2
import numpy as np

from facefusion_ui.cards import Licence, ModelCard
from facefusion_ui.faces import SwappedFace

LICENCE = Licence("MIT", True, "https://example.org")
'''

SWAPPER = """
class Blue:
    def swap(self, source, target):
        assert source.embedding.shape == (128,)
        assert target.crop.shape == (64, 64, 3)
        return SwappedFace(np.full_like(target.crop, (255, 0, 0)))

CARDS = (ModelCard(
    name="blue_64", task="face_swapper", summary="paints blue", licence=LICENCE, open=Blue,
    template="arcface_128", size_px=64, recognizer="dlib_resnet"),)
"""

ENHANCER = """
class Bright:
    def enhance(self, target, *, weight):
        return np.full_like(target.crop, 255)

CARDS = (ModelCard(
    name="bright_64", task="face_enhancer", summary="paints white", licence=LICENCE, open=Bright,
    template="ffhq_512", size_px=64),)
"""

UPSCALER = """
class Twice:
    def upscale(self, frame):
        return cv2.resize(frame, None, fx=2, fy=2, interpolation=cv2.INTER_NEAREST)

CARDS = (ModelCard(
    name="twice", task="frame_enhancer", summary="doubles", licence=LICENCE, open=Twice, scale=2),)
"""


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package, name, code in (
        (swappers, "added_blue", SWAPPER),
        (enhancers, "added_bright", ENHANCER),
        (upscalers, "added_twice", UPSCALER),
    ):
        folder = tmp_path / name
        folder.mkdir()
        (folder / f"{name}.py").write_text(HEAD + code, encoding="utf-8")
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])


def swapped(registry, out: Path, source: Path, target: Path, **settings) -> np.ndarray:
    made = make_settings(
        {"source_paths": [source], "target_path": target, "output_path": out, **settings}
    )
    assert isinstance(list(run_job(made, registry))[-1], Done)
    return load(out)


def test_an_added_swapper_is_used_as_its_card_says(
    added, registry, tmp_path, hopper_path, astronaut_path
) -> None:
    frame = swapped(
        registry,
        tmp_path / "out.png",
        hopper_path,
        astronaut_path,
        face_swapper_model="blue_64",
    )
    assert frame[118, 226].tolist() == [255, 0, 0]  # the nose
    assert frame[300, 50].tolist() == load(astronaut_path)[300, 50].tolist()


def test_the_mask_settings_bound_an_added_swapper(
    added, registry, tmp_path, hopper_path, astronaut_path
) -> None:
    sizes = {}
    for name, mask in (
        ("box", {}),
        ("padded", {"face_mask_padding": (0, 0, 50, 0)}),
        ("area", {"face_mask_types": ["area"]}),
        ("hard", {"face_mask_blur": 0.0}),
    ):
        frame = swapped(
            registry,
            tmp_path / f"{name}.png",
            hopper_path,
            astronaut_path,
            face_swapper_model="blue_64",
            **mask,
        )
        sizes[name] = (frame != load(astronaut_path)).any(axis=-1).sum()
    assert sizes["padded"] < 0.7 * sizes["box"]
    assert sizes["area"] != sizes["box"]
    assert sizes["hard"] > sizes["box"]


def test_an_enhancer_works_on_swapped_faces_only_and_is_blended(
    added, registry, tmp_path, hopper_path, astronaut_path
) -> None:
    frame = swapped(
        registry,
        tmp_path / "out.png",
        hopper_path,
        astronaut_path,
        processors=["face_swapper", "face_enhancer"],
        face_swapper_model="blue_64",
        face_enhancer_model="bright_64",
        face_enhancer_blend=50,
    )
    assert np.abs(frame[118, 226].astype(int) - (255, 128, 128)).max() <= 1
    assert frame[500, 500].tolist() == load(astronaut_path)[500, 500].tolist()


def test_a_frame_enhancer_makes_the_whole_frame_larger(
    added, registry, tmp_path, hopper_path, astronaut_path, astronaut
) -> None:
    frame = swapped(
        registry,
        tmp_path / "out.png",
        hopper_path,
        astronaut_path,
        processors=["frame_enhancer"],
        frame_enhancer_model="twice",
        frame_enhancer_blend=100,
    )
    doubled = cv2.resize(astronaut, None, fx=2, fy=2, interpolation=cv2.INTER_NEAREST)
    assert np.array_equal(frame, doubled)


def test_a_frame_enhancer_alone_asks_for_no_face(added, registry, tmp_path) -> None:
    wall = tmp_path / "wall.png"
    cv2.imwrite(str(wall), np.full((40, 60, 3), 128, np.uint8))
    frame = swapped(
        registry,
        tmp_path / "out.png",
        wall,
        wall,
        processors=["frame_enhancer"],
        frame_enhancer_model="twice",
    )
    assert frame.shape == (80, 120, 3)


WATCHER = """
class Watch:
    def __init__(self):
        self.seen = []

    def swap(self, source, target):
        inverse = cv2.invertAffineTransform(target.to_crop)
        self.seen.append(target.landmarks @ inverse[:, :2].T + inverse[:, 2])
        self.patch = source.portraits[0].frame[300:310, 250:260].mean(axis=(0, 1))
        return SwappedFace(target.crop)

CARDS = (ModelCard(
    name="watch", task="face_swapper", summary="notes what it is given", licence=LICENCE,
    open=Watch, needs_landmarks=True),)
"""


@pytest.fixture
def watcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "added_watch.py").write_text(HEAD + WATCHER, encoding="utf-8")
    monkeypatch.setattr(swappers, "__path__", [*swappers.__path__, str(tmp_path)])
    return card("watch", "face_swapper")


def test_a_trembling_face_reaches_the_swapper_steadied(
    watcher, registry, astronaut, hopper_path
) -> None:
    settings = make_settings({"source_paths": [hopper_path], "face_swapper_model": "watch"})
    record = Record(settings, registry)
    recipe = Recipe(settings, record)
    with pytest.raises(StopIteration) as read:
        next(read_source(settings, watcher, recipe.analyser, record))
    grain = np.random.default_rng(0)
    frames = [
        np.clip(astronaut + grain.normal(0, 12, astronaut.shape), 0, 255).astype(np.uint8)
        for _ in range(12)
    ]
    recipe.source = read.value.value
    alone = []
    for frame in frames:
        chunk = recipe.take([frame])
        list(recipe.work(chunk))
        list(recipe.finish(chunk))
        face = recipe.analyser.find(frame)[0]
        alone.append(recipe.analyser.with_landmarks(frame, face).landmarks)
    steadied = registry.run(watcher, lambda adapter: adapter.seen[-12:])
    assert np.diff(steadied, axis=0).std() < 0.8 * np.diff(alone, axis=0).std()


def test_a_swapper_is_given_the_source_in_bgr(watcher, registry, tmp_path, astronaut_path) -> None:
    hopper = load(carried("matplotlib", "mpl-data/sample_data/grace_hopper.jpg"))
    hopper[300:310, 250:260] = (10, 20, 230)  # a red patch on the chin
    source = tmp_path / "red.png"
    cv2.imwrite(str(source), hopper)
    swapped(registry, tmp_path / "out.png", source, astronaut_path, face_swapper_model="watch")
    patch = registry.run(watcher, lambda adapter: adapter.patch)
    assert patch.tolist() == [10, 20, 230]


TAKER = """
class Take:
    def swap(self, source, target):
        self.source = source
        return SwappedFace(target.crop)

class Double:
    def convert(self, embedding):
        return 2 * embedding

CARDS = (
    ModelCard(name="take_picture", task="face_swapper", summary="notes its source", licence=LICENCE,
        open=Take, template="arcface_128", size_px=64, source_template="arcface_112_v2",
        source_size_px=112),
    ModelCard(name="take_plain", task="face_swapper", summary="notes its source", licence=LICENCE,
        open=Take, template="arcface_128", size_px=64, recognizer="dlib_resnet"),
    ModelCard(name="take_converted", task="face_swapper", summary="notes its source",
        licence=LICENCE, open=Take, template="arcface_128", size_px=64, recognizer="dlib_resnet",
        converter="double"),
    ModelCard(name="double", task="identity_converter", summary="doubles", licence=LICENCE,
        open=Double),
)
"""


def test_a_swapper_is_given_its_source_in_the_form_its_card_names(
    tmp_path, monkeypatch, registry, hopper_path, astronaut_path
) -> None:
    (tmp_path / "added_take.py").write_text(HEAD + TAKER, encoding="utf-8")
    monkeypatch.setattr(swappers, "__path__", [*swappers.__path__, str(tmp_path)])
    sources = {}
    for name in ("take_picture", "take_plain", "take_converted"):
        swapped(registry, tmp_path / "o.png", hopper_path, astronaut_path, face_swapper_model=name)
        swapper = card(name, "face_swapper")
        sources[name] = registry.run(swapper, lambda model: model.source)
    source = sources["take_picture"]
    (portrait,) = source.portraits
    cut = align(portrait.frame, portrait.face, "arcface_112_v2", 112)
    assert np.array_equal(source.picture, cut.crop)
    assert source.embedding is None
    plain, converted = (sources[name].embedding for name in ("take_plain", "take_converted"))
    assert np.allclose(converted, 2 * plain)
    assert sources["take_plain"].picture is None


BROKEN = """
from facefusion_ui.blobs import from_blob

class Broken:
    def swap(self, source, target):
        return SwappedFace(from_blob(np.full((1, 3, 64, 64), np.nan, np.float32)))

    def enhance(self, target, *, weight):
        return from_blob(np.full((1, 3, 64, 64), 0.5, np.float32))

    def upscale(self, frame):
        return from_blob(np.full((1, 3, 64, 64), np.inf, np.float32))

CARDS = tuple(
    ModelCard(name=f"broken_{task}", task=task, summary="answers nothing", licence=LICENCE,
        open=Broken, template="arcface_128", size_px=64)
    for task in ("face_swapper", "face_enhancer", "frame_enhancer"))
"""


@pytest.mark.parametrize("task", ["face_swapper", "face_enhancer", "frame_enhancer"])
def test_a_model_that_answers_with_no_picture_is_said_and_changes_nothing(
    tmp_path, monkeypatch, registry, hopper_path, astronaut_path, task
) -> None:
    (tmp_path / "added_broken.py").write_text(HEAD + BROKEN, encoding="utf-8")
    monkeypatch.setattr(swappers, "__path__", [*swappers.__path__, str(tmp_path)])
    settings = make_settings(
        {
            "source_paths": [hopper_path],
            "target_path": astronaut_path,
            "output_path": tmp_path / "out.png",
            "processors": [task],
            f"{task}_model": f"broken_{task}",
        }
    )
    events = list(run_job(settings, registry))
    assert np.array_equal(load(tmp_path / "out.png"), load(astronaut_path))
    (warned,) = events[-1].report.warnings
    wanted = "one flat colour" if task == "face_enhancer" else "not a number"
    assert warned.message.startswith(f"broken_{task}: the network's answer")
    assert wanted in warned.message
    assert warned in events


def test_a_boosted_swap_is_finer_and_a_size_that_does_not_do_is_said(
    added, registry, tmp_path, hopper_path, astronaut_path
) -> None:
    plain = {"face_swapper_model": "blue_64"}
    with pytest.raises(SettingsError, match="landmark_warp cannot swap at 128x128") as caught:
        swapped(
            registry, tmp_path / "a.png", hopper_path, astronaut_path,
            face_swapper_pixel_boost="128x128",
        )  # fmt: skip
    assert "the frame's own scale" in caught.value.hint
    edges = []
    for boost in (None, "256x256"):
        frame = swapped(
            registry, tmp_path / "b.png", hopper_path, astronaut_path,
            face_swapper_pixel_boost=boost, **plain,
        )  # fmt: skip
        assert frame[118, 226].tolist() == [255, 0, 0]
        edges.append((frame != load(astronaut_path)).any(axis=-1).sum())
    assert edges[0] == pytest.approx(edges[1], rel=0.1)


def test_the_weight_moves_the_identity_between_target_and_source(
    tmp_path, monkeypatch, registry, hopper_path, astronaut_path
) -> None:
    (tmp_path / "added_take.py").write_text(HEAD + TAKER, encoding="utf-8")
    monkeypatch.setattr(swappers, "__path__", [*swappers.__path__, str(tmp_path)])
    seen = {}
    for name in ("take_plain", "take_converted"):
        for weight in (0.0, 0.5, 1.0):
            swapped(
                registry, tmp_path / "o.png", hopper_path, astronaut_path,
                face_swapper_model=name, face_swapper_weight=weight,
            )  # fmt: skip
            source = registry.run(card(name, "face_swapper"), lambda model: model.source)
            seen[name, weight] = source.embedding
    little, right, much = (seen["take_plain", weight] for weight in (0.0, 0.5, 1.0))
    length = np.linalg.norm(right)
    for other in (little, much):
        assert np.linalg.norm(other) == pytest.approx(length, rel=1e-4)
        assert 0.5 < other @ right / length**2 < 0.999
    # The three lie in one plane, with the source between the other two.
    assert np.linalg.matrix_rank(np.stack([little, right, much]), tol=1e-3) == 2
    assert little @ much < min(little @ right, much @ right)
    for weight in (0.0, 0.5, 1.0):
        assert np.allclose(
            seen["take_converted", weight], 2 * seen["take_plain", weight], atol=1e-5
        )


def test_enhancers_work_on_the_marked_frames_and_every_so_many(
    added, registry, tmp_path, hopper_path
) -> None:
    clip = make_face_clip(tmp_path / "clip.mp4", frames=8)
    white = {}
    for name, how in (
        ("all", {}),
        ("every", {"enhance_every": 3}),
        ("marked", {"enhance_ranges": ["1-2", "6-9"]}),
        ("trimmed", {"enhance_ranges": ["5-5"], "trim_frame_start": 4}),
    ):
        made = make_settings(
            {
                "source_paths": [hopper_path],
                "target_path": clip,
                "output_path": tmp_path / f"{name}.mp4",
                "processors": ["face_enhancer"],
                "face_enhancer_model": "bright_64",
                "face_enhancer_blend": 100,
                **how,
            }
        )
        frames = [e.frame for e in run_job(made, registry) if isinstance(e, FrameReady)]
        white[name] = [int((frame == 255).all(axis=-1).sum() > 500) for frame in frames]
    assert white["all"] == [1] * 8
    assert white["every"] == [1, 0, 0, 1, 0, 0, 1, 0]
    assert white["marked"] == [0, 1, 1, 0, 0, 0, 1, 1]
    assert white["trimmed"] == [0, 1, 0, 0]
