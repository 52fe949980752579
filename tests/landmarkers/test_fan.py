"""Guards the 68 points of 2D-FAN-4: in the frame's pixels, however the head leans."""

from pathlib import Path

import numpy as np
import pytest

from facefusion_ui.faces import Face
from facefusion_ui.landmarkers.fan import Fan
from tests.constant_networks import Opened, write_network

RIGHT = np.float32([[-1, -1], [1, -1], [0, 0], [-0.8, 1], [0.8, 1]])
CELLS = np.random.default_rng(0).uniform(10, 54, (68, 2)).astype(np.float32)


def network(path: Path, reddens=None) -> Opened:
    answer = np.concatenate([CELLS, np.ones((68, 1), np.float32)], axis=1)[None]
    heat = np.zeros((1, 68, 64, 64), np.float32)
    answers = {"landmarks": answer, "heat": heat}
    return Opened(write_network(path / "n.onnx", answers, (1, 3, 256, 256), reddens))


def leaning(degrees: float) -> np.ndarray:
    turn = np.radians(degrees)
    return np.float32([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])


@pytest.mark.parametrize("degrees", [0, 30, -90, 180])
@pytest.mark.parametrize("side", [100, 390])
def test_points_come_back_to_the_frame(degrees, side, tmp_path: Path) -> None:
    centre = np.float32([300, 260])
    half = np.float32([side / 2, side / 3])
    box = np.concatenate([centre - half, centre + half])
    turn = leaning(degrees)
    face = Face(box, RIGHT * side / 4 @ turn.T + centre, 0.9)
    frame = np.zeros((600, 700, 3), np.uint8)
    points = Fan(network(tmp_path)).landmarks(frame, face)
    expected = (CELLS * 4 - 128) * side / 195 @ turn.T + centre
    assert points.shape == (68, 2)
    assert points.dtype == np.float32
    assert np.allclose(points, expected, atol=0.01)


def test_the_network_sees_the_face_upright(tmp_path: Path) -> None:
    """The frame is white where the face's own left is; that is the crop's left half."""
    centre = np.float32([300, 300])
    face = Face(np.float32([200, 200, 400, 400]), RIGHT * 50 @ leaning(90).T + centre, 0.9)
    frame = np.zeros((600, 600, 3), np.uint8)
    frame[:300] = 255  # leaning by 90 degrees takes the left to the top
    seen = network(tmp_path)
    Fan(seen).landmarks(frame, face)
    blob = seen.fed[0][0]
    assert blob.shape == (3, 256, 256)
    assert np.allclose(blob[:, :, :120], 1)
    assert np.allclose(blob[:, :, 136:], 0)


def test_red_goes_in_first(tmp_path: Path) -> None:
    face = Face(np.float32([0, 0, 195, 195]), RIGHT * 50 + 97.5, 0.9)
    red = np.full((400, 400, 3), (0, 51, 255), np.uint8)
    seen = network(tmp_path)
    Fan(seen).landmarks(red, face)
    assert np.allclose(seen.fed[0][0, :, 128, 128], [1, 0.2, 0], atol=1e-6)
