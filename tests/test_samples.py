"""Guards the sample clip: that it shows one face, moving smoothly, and has a sound."""

import subprocess
from itertools import pairwise
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from facefusion_ui.arrays import Frame
from facefusion_ui.detectors.centerface import CARDS
from facefusion_ui.errors import OutputError
from facefusion_ui.media.ffmpeg import find_ffmpeg
from facefusion_ui.media.probe import probe
from facefusion_ui.media.video import FrameReader
from facefusion_ui.registry.registry import Registry
from facefusion_ui.samples import astronaut_path, hopper_path, make_sample_clip


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("samples") / "clip.mp4"
    make_sample_clip(path)
    return path


@pytest.fixture(scope="module")
def frames(clip: Path) -> list[Frame]:
    with FrameReader(probe(clip)) as reader:
        return list(reader)


def test_the_portraits_are_on_the_machine() -> None:
    assert [probe(path).size_wh for path in (astronaut_path(), hopper_path())] == [
        (512, 512),
        (512, 600),
    ]


def test_the_clip_is_a_video_that_browsers_play(clip: Path) -> None:
    info = probe(clip)
    assert (info.kind, info.codec, info.size_wh, info.frames) == ("video", "h264", (640, 480), 75)
    assert info.fps == 25
    assert (info.colour.primaries, info.colour.transfer, info.colour.matrix) == ("bt709",) * 3
    assert [(track.kind, track.codec) for track in info.tracks] == [("audio", "aac")]


def test_the_sound_is_heard_and_never_clips(clip: Path) -> None:
    arguments = ["-i", clip, "-f", "f32le", "-ac", "2", "pipe:"]
    done = subprocess.run(
        [find_ffmpeg().path, "-loglevel", "error", *arguments], capture_output=True, check=True
    )
    samples = np.frombuffer(done.stdout, np.float32)
    assert 0.1 < np.abs(samples).max() < 0.9
    assert len(samples) / 2 / 48_000 == pytest.approx(3, abs=0.05)


def test_one_face_is_in_every_frame_and_moves(frames: list[Frame], registry: Registry) -> None:
    (card,) = CARDS
    found = [
        registry.run(card, lambda net, frame=frame: net.detect(frame, size_px=640, score=0.5))
        for frame in frames
    ]
    assert [len(faces) for faces in found] == [1] * 75
    centres = np.asarray([face.points.mean(axis=0) for (face,) in found])
    assert np.ptp(centres, axis=0).min() > 20


def test_the_camera_moves_without_a_jerk(frames: list[Frame]) -> None:
    grey = [cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY) for frame in frames]
    speeds = np.asarray([speed_at_middle(*pair) for pair in pairwise(grey)])
    assert np.abs(speeds).max() > 2
    assert np.abs(np.diff(speeds, n=2, axis=0)).max() < 0.4


def speed_at_middle(before: Frame, after: Frame) -> NDArray[np.float64]:
    """Return how far the middle of the picture moves from one frame to the next, in pixels."""
    corners = cv2.goodFeaturesToTrack(before, 300, 0.01, 6)
    moved, found, _ = cv2.calcOpticalFlowPyrLK(before, after, corners, None)
    kept = found[:, 0] == 1
    move, _ = cv2.estimateAffinePartial2D(corners[kept], moved[kept], ransacReprojThreshold=0.5)
    middle = np.asarray([320, 240])
    return np.asarray(move @ [*middle, 1] - middle)


def test_the_clip_ends_where_it_begins(frames: list[Frame]) -> None:
    first, second, last = (frames[i].astype(np.int16) for i in (0, 1, -1))
    assert np.abs(last - first).mean() < 2 * np.abs(second - first).mean()


def test_no_clip_is_left_where_none_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "taken.mp4").mkdir()
    with pytest.raises(OutputError):
        make_sample_clip(tmp_path / "taken.mp4")
    assert [path.name for path in tmp_path.iterdir()] == ["taken.mp4"]
