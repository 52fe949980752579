"""Guards who is swapped: the wrong person, a face found twice, a turned or close-up face missed."""

import numpy as np
import pytest

from facefusion_ui.arrays import Frame
from facefusion_ui.faces import Face
from facefusion_ui.steps.choose import half_distance, order_faces
from facefusion_ui.steps.detect import find_faces


def face(left: float, top: float, side: float, score: float) -> Face:
    points = np.asarray([[left, top]] * 5, np.float32)
    return Face(np.asarray([left, top, left + side, top + side], np.float32), points, score)


BIG_RIGHT = face(50, 10, 40, 0.7)
SMALL_LEFT = face(5, 30, 10, 0.9)


@pytest.mark.parametrize(
    ("order", "first"),
    [
        ("left-right", SMALL_LEFT),
        ("right-left", BIG_RIGHT),
        ("top-bottom", BIG_RIGHT),
        ("bottom-top", SMALL_LEFT),
        ("small-large", SMALL_LEFT),
        ("large-small", BIG_RIGHT),
        ("best-worst", SMALL_LEFT),
        ("worst-best", BIG_RIGHT),
    ],
)
def test_faces_are_counted_in_the_order_asked_for(order, first) -> None:
    for faces in ([BIG_RIGHT, SMALL_LEFT], [SMALL_LEFT, BIG_RIGHT]):
        assert order_faces(faces, order)[0] is first


def test_euclidean_distance_is_halved_onto_the_common_scale() -> None:
    assert half_distance(np.float32([0, 0]), np.float32([0.6, 0]), "euclidean") == pytest.approx(
        0.3
    )


def bright_spot(frame: Frame) -> list[Face]:
    """Find the one white pixel, as a detector that only sees upright frames would."""
    rows, columns = np.nonzero(frame[..., 0] == 255)
    return [face(float(x) - 3, float(y) - 3, 6, 0.9) for x, y in zip(columns, rows, strict=True)]


@pytest.mark.parametrize("angle", [0, 90, 180, 270])
def test_a_face_found_in_a_turned_frame_lies_right_in_the_frame(angle) -> None:
    frame = np.zeros((40, 60, 3), np.uint8)
    frame[12, 47] = 255

    def detect(picture: Frame) -> list[Face]:
        found = bright_spot(picture)
        return [Face(f.box, np.full((5, 2), f.box[:2] + 3, np.float32), f.score) for f in found]

    (found,) = find_faces(frame, detect, (angle,))
    assert found.points[0].tolist() == [47, 12]
    assert found.box.tolist() == [44, 9, 50, 15]


def test_a_face_seen_at_two_angles_counts_once() -> None:
    frame = np.zeros((40, 60, 3), np.uint8)
    frame[12, 47] = 255
    assert len(find_faces(frame, bright_spot, (0, 180))) == 1


def test_a_close_up_is_searched_again_with_air_around_it() -> None:
    seen = []

    def needs_air(picture: Frame) -> list[Face]:
        seen.append(picture.shape[:2])
        return [face(30, 20, 60, 0.8)] if picture.shape[0] > 50 else []

    (found,) = find_faces(np.zeros((40, 60, 3), np.uint8), needs_air, (0,))
    assert seen == [(40, 60), (80, 120)]
    assert found.box.tolist() == [0, 0, 60, 60]
