"""Guards finding faces: one missed or invented, points out of order, a full frame fed."""

import cv2
import numpy as np
import pytest

from facefusion_ui.detectors.centerface import CenterFace
from facefusion_ui.registry.backends import OnnxNetwork
from facefusion_ui.registry.catalog import card
from facefusion_ui.registry.weights import Store


class Watched:
    """A network that notes the shapes it is fed."""

    def __init__(self, network: OnnxNetwork) -> None:
        self.network = network
        self.input_shapes = network.input_shapes
        self.fed: list[tuple[int, ...]] = []

    def __call__(self, feeds):
        self.fed += [array.shape for array in feeds.values()]
        return self.network(feeds)


@pytest.fixture(scope="module")
def network() -> OnnxNetwork:
    path = Store().locate(card("centerface", "face_detector"))
    return OnnxNetwork(path, provider="cpu", device_id=0, frees_shape=True)


@pytest.fixture
def watched(network) -> Watched:
    return Watched(network)


@pytest.fixture
def detector(watched) -> CenterFace:
    return CenterFace(watched)


def test_every_person_is_found_once_and_nobody_else(
    detector, astronaut, hopper, crowd_path
) -> None:
    crowd = cv2.imread(str(crowd_path))
    counts = [len(detector.detect(f, size_px=640, score=0.5)) for f in (astronaut, hopper, crowd)]
    assert counts == [1, 1, 6]


def test_the_five_points_are_in_order_and_on_the_face(detector, astronaut) -> None:
    (face,) = detector.detect(astronaut, size_px=640, score=0.5)
    left_eye, right_eye, nose, left_mouth, right_mouth = face.points
    assert np.abs(left_eye - (203, 101)).max() < 5
    assert np.abs(right_eye - (247, 103)).max() < 5
    assert left_mouth[0] < nose[0] < right_mouth[0]
    assert max(left_eye[1], right_eye[1]) < nose[1] < min(left_mouth[1], right_mouth[1])
    assert np.abs(face.box - (182, 58, 270, 178)).max() < 6


def test_a_wall_has_no_face(detector) -> None:
    assert detector.detect(np.full((300, 400, 3), 128, np.uint8), size_px=640, score=0.5) == []


@pytest.mark.parametrize(
    ("shape", "size_px", "fed"),
    [
        ((3000, 4000), 640, (1, 3, 480, 640)),
        ((300, 400), 640, (1, 3, 320, 416)),
        ((3000, 4000), 320, (1, 3, 256, 320)),
        ((20, 3000), 640, (1, 3, 32, 640)),
        ((1, 1), 640, (1, 3, 32, 32)),
    ],
)
def test_the_network_sees_the_asked_size_and_never_an_enlarged_frame(
    watched, detector, shape, size_px, fed
) -> None:
    detector.detect(np.zeros((*shape, 3), np.uint8), size_px=size_px, score=0.5)
    assert watched.fed == [fed]


def test_boxes_come_back_in_the_frames_pixels_at_any_scale(detector, astronaut) -> None:
    (face,) = detector.detect(astronaut, size_px=640, score=0.5)
    large = cv2.resize(astronaut, None, fx=4.5, fy=4.5, interpolation=cv2.INTER_CUBIC)
    (found,) = detector.detect(large, size_px=512, score=0.5)
    assert np.abs(found.box / 4.5 - face.box).max() < 4


def test_the_frame_is_not_modified(detector, astronaut) -> None:
    before = astronaut.copy()
    detector.detect(astronaut, size_px=640, score=0.5)
    assert np.array_equal(astronaut, before)


def test_a_higher_score_lets_fewer_through(detector, astronaut) -> None:
    assert detector.detect(astronaut, size_px=640, score=0.99) == []
