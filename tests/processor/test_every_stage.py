"""Guards that memory may run out anywhere: at each stage, while its model is opened, at its first
run and at its tenth, the job ends whole, says what was given up, and the rest goes on."""

from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest

from facefusion_ui.arrays import Crop, Embedding, Frame, Points68
from facefusion_ui.cards import Licence, ModelCard, Task, Weights
from facefusion_ui.contracts import Network
from facefusion_ui.events import FrameReady
from facefusion_ui.faces import AlignedFace, Face, Source, SwappedFace
from facefusion_ui.notices import SteppedDown
from facefusion_ui.processor import analyser, choice, frame, source
from facefusion_ui.processor.jobs import run_job
from facefusion_ui.registry.registry import Registry
from facefusion_ui.registry.weights import Store
from facefusion_ui.settings import make_settings
from tests.media.clips import ffmpeg
from tests.networks import MB, make_network

FRAMES = 12
SIDES_WH = (320, 256)
PROCESSORS = ("face_swapper", "face_enhancer", "frame_enhancer")
TWO_FRAMES_GIB = 2.5 * 3 * 4 * SIDES_WH[0] * SIDES_WH[1] / 2**30
TASKS = (
    "face_detector",
    "face_landmarker",
    "face_recognizer",
    "face_swapper",
    "face_enhancer",
    "frame_enhancer",
)


class Model:
    """Adds one in a network, to arrays as large as the test wants; does every task."""

    def __init__(self, network: Network, elements: int) -> None:
        self.network = network
        self.elements = elements

    def one(self, share: float = 1.0) -> int:
        (out,) = self.network({"x": np.zeros(max(1, int(self.elements * share)), np.float32)})
        return int(out[-1])

    def detect(self, frame: Frame, *, size_px: int, score: float) -> list[Face]:
        one = self.one((size_px / max(frame.shape[:2])) ** 2)
        points = np.float32([[150, 110], [180, 110], [165, 125], [155, 140], [175, 140]])
        return [Face(np.float32([140, 90, 190, 160]) * one, points, 0.9)]

    def landmarks(self, frame: Frame, face: Face) -> Points68:
        turns = np.linspace(0, 2 * np.pi, 68)
        ring = np.stack([165 + 20 * np.cos(turns), 125 + 25 * np.sin(turns)], axis=1)
        return (ring * self.one()).astype(np.float32)

    def embed(self, face: AlignedFace) -> Embedding:
        return np.full(4, self.one(), np.float32)

    def swap(self, source: Source, target: AlignedFace) -> SwappedFace:
        return SwappedFace(np.full_like(target.crop, (40, 80, 160)) * self.one())

    def enhance(self, target: AlignedFace, *, weight: float) -> Crop:
        return cv2.add(target.crop, 30.0 * self.one())

    def upscale(self, frame: Frame) -> Frame:
        share = frame.shape[0] * frame.shape[1] / (SIDES_WH[0] * SIDES_WH[1])
        large = cv2.resize(frame, None, fx=2, fy=2, interpolation=cv2.INTER_NEAREST)
        return cv2.add(large, 5.0 * self.one(share))


@pytest.fixture(scope="module")
def clip(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("clip") / "test.mp4"
    ffmpeg(
        "-f", "lavfi", "-i", f"testsrc2=size={SIDES_WH[0]}x{SIDES_WH[1]}:rate=25",
        "-frames:v", f"{FRAMES}", path,
    )  # fmt: skip
    return path


@pytest.fixture(scope="module")
def weights(tmp_path_factory) -> dict[float, Path]:
    folder = tmp_path_factory.mktemp("weights")
    return {mb: make_network(folder / f"{mb}.onnx", mb) for mb in (0.1, 20)}


def cards_with(victim: str, weights: dict[float, Path]) -> Iterator[tuple[ModelCard, Path]]:
    """Yield a card per task; the victim's is large: 20 MB of weights, and 20 MB for a run."""
    for task in TASKS:
        size_mb, elements = (20, 20 * MB // 8) if task == victim else (0.1, 8)
        card = ModelCard(
            name=f"some_{task}",
            task=task,
            summary="adds one",
            licence=Licence("MIT", True, "https://example.org"),
            open=lambda network, elements=elements: Model(network, elements),
            runtime="onnx",
            weights=Weights(task, 0, task, package="none"),
            template="arcface_128",
            size_px=64,
            needs_landmarks=task == "face_swapper",
            recognizer="some_face_recognizer" if task == "face_swapper" else "",
            halo_px=0 if task == "frame_enhancer" else None,
            scale=2 if task == "frame_enhancer" else 1,
        )
        yield card, weights[size_mb]


@pytest.fixture
def job(tmp_path, monkeypatch, clip, hopper_path, weights):
    """Run a job with a victim on a card; return its events and frames."""

    def run(victim: Task | str, capacity_mb: float, hog: str | None = None):
        cards = {card.task: (card, path) for card, path in cards_with(victim, weights)}
        paths = {card.name: path for card, path in cards.values()}
        monkeypatch.setattr(Store, "locate", lambda _, card: paths[card.name])
        for module in (analyser, choice, frame, source):
            monkeypatch.setattr(module, "card", lambda name, task: cards[task][0])
        settings = make_settings(
            {
                "source_paths": [hopper_path],
                "target_path": clip,
                "output_path": tmp_path / "out.mp4",
                "processors": PROCESSORS,
                **{f"{processor}_model": "given" for processor in PROCESSORS},
                "face_selector_mode": "reference",
                "emulate_hog": hog,
                "system_memory_limit": TWO_FRAMES_GIB,
            }
        )
        with Registry(("cpu",), emulate_bytes=int(capacity_mb * MB)) as registry:
            return list(run_job(settings, registry))

    return run


def frames_of(events) -> np.ndarray:
    return np.stack([event.frame for event in events if isinstance(event, FrameReady)])


# What the card leaves the victim: too little to open it, to run it once, or to go on running it.
MOMENTS = {"load": (15, None), "first run": (30, None), "tenth run": (50, "25MB@frame:9")}
RUNGS = {
    ("face_detector", "load"): "processor",
    ("face_detector", "first run"): "half input",
    ("face_detector", "tenth run"): "half input",
    ("frame_enhancer", "first run"): "tiles of 256",
    ("frame_enhancer", "tenth run"): "tiles of 128",
}


@pytest.fixture(scope="module")
def roomies() -> dict[str, list]:
    """The events of jobs on a card with room for all, by the model that is large in them."""
    return {}


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("victim", TASKS)
def test_running_out_of_memory_costs_no_frame(job, roomies, victim, moment) -> None:
    roomy = roomies.get(victim) or job(victim, 200)
    roomies[victim] = roomy
    assert not [event for event in roomy if isinstance(event, SteppedDown)]
    capacity_mb, hog = MOMENTS[moment]
    events = job(victim, capacity_mb, hog)
    report = events[-1].report
    assert report.frames == report.faces_swapped == FRAMES

    steps = [event for event in events if isinstance(event, SteppedDown)]
    own = [step.rung for step in steps if step.model == f"some_{victim}"]
    assert own[-1] == RUNGS.get((victim, moment), "processor")
    assert len({(step.model, step.rung) for step in steps}) == len(steps)  # each said once
    others = {step.rung for step in steps if step.model != f"some_{victim}"}
    assert others <= {"evict", "unpin"}
    if all(step.lossless for step in steps):
        assert np.array_equal(frames_of(events), frames_of(roomy))
    if moment == "tenth run":
        first = next(i for i, event in enumerate(events) if isinstance(event, SteppedDown))
        assert sum(isinstance(event, FrameReady) for event in events[:first]) == 9


def test_memory_that_comes_back_is_used_again(job) -> None:
    roomy = frames_of(job("face_enhancer", 200))
    events = job("face_enhancer", 50, "25MB@frame:3-7")
    report = events[-1].report
    own = [step for step in report.steps_down if step.model == "some_face_enhancer"]
    assert own[-1].rung == "processor"
    assert [(step.model, step.rung) for step in report.steps_up] == [("some_face_enhancer", "card")]
    up = next(i for i, event in enumerate(events) if type(event).__name__ == "SteppedUp")
    assert 7 <= sum(isinstance(event, FrameReady) for event in events[:up]) <= 9
    assert {m.name: m.device for m in report.models}["some_face_enhancer"] == report.device
    assert np.array_equal(frames_of(events), roomy)
