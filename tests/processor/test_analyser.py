"""Guards hard pictures: a close-up that fills the frame, a face cut off or on its side."""

import cv2
import numpy as np
import pytest

from facefusion_ui.processor.analyser import Analyser
from facefusion_ui.processor.record import Record
from facefusion_ui.settings import make_settings


def find(registry, frame, **settings):
    made = make_settings(settings)
    return Analyser(made, Record(made, registry)).find(frame)


def test_a_close_up_that_fills_the_frame_is_one_face(registry, astronaut) -> None:
    close = cv2.resize(astronaut[75:185, 175:275], (900, 990), interpolation=cv2.INTER_CUBIC)
    (face,) = find(registry, close)
    assert np.prod(face.box[2:] - face.box[:2]) > 0.4 * 900 * 990


def test_a_face_half_out_of_the_frame_is_one_face(registry, astronaut) -> None:
    (face,) = find(registry, np.ascontiguousarray(astronaut[:, 215:]))
    assert face.points.shape == (5, 2)


@pytest.mark.parametrize("quarter_turns", [1, 2, 3])
def test_a_face_on_its_side_is_found_when_that_angle_is_searched(
    registry, astronaut, quarter_turns
) -> None:
    turned = np.ascontiguousarray(np.rot90(astronaut, -quarter_turns))
    angle = 90 * quarter_turns
    (face,) = find(registry, turned, face_detector_angles=(0, angle))
    wanted = {1: (511 - 101, 203), 2: (511 - 203, 511 - 101), 3: (101, 511 - 203)}[quarter_turns]
    assert np.abs(face.points[0] - wanted).max() < 6
