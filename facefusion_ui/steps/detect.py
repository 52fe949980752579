"""Searching a frame for faces: at several turns, and again in another way when none is found."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import cv2
import numpy as np

from facefusion_ui.arrays import Affine, Frame, Points, transform_points
from facefusion_ui.faces import Face

NMS_IOU = 0.4
CLOSE_UP_MARGIN = (
    0.5  # of the frame's side; a face that fills the frame is found with this much air
)

Detect = Callable[[Frame], list[Face]]


def find_faces(frame: Frame, detect: Detect, angles: Sequence[int]) -> list[Face]:
    """Return the faces that `detect` finds in `frame` turned by each of `angles`, best first.

    When there is none, the frame is searched once more with air around it: a close-up that fills
    the frame is missed otherwise.

    Args:
        frame: (H, W, 3) uint8, BGR. Not modified.
        detect: returns faces in the pixels of the frame it is given.
        angles: degrees, of 0, 90, 180, 270; turned counter-clockwise before the search.
    """
    faces = [face for angle in angles for face in _find_turned(frame, detect, angle)]
    if not faces:
        faces = _find_padded(frame, detect)
    return _without_doubles(faces)


def _find_turned(frame: Frame, detect: Detect, angle: int) -> list[Face]:
    if angle == 0:
        return detect(frame)
    quarter_turns = angle // 90
    turned = np.ascontiguousarray(np.rot90(frame, quarter_turns))
    height, width = frame.shape[:2]
    back = {  # turned (x, y) to the frame's
        1: [[0, -1, width - 1], [1, 0, 0]],
        2: [[-1, 0, width - 1], [0, -1, height - 1]],
        3: [[0, 1, 0], [-1, 0, height - 1]],
    }[quarter_turns]
    return [_moved(face, np.asarray(back, np.float32)) for face in detect(turned)]


def _find_padded(frame: Frame, detect: Detect) -> list[Face]:
    height, width = frame.shape[:2]
    x, y = round(width * CLOSE_UP_MARGIN), round(height * CLOSE_UP_MARGIN)
    padded = cv2.copyMakeBorder(frame, y, y, x, x, cv2.BORDER_REPLICATE)
    back = np.asarray([[1, 0, -x], [0, 1, -y]], np.float32)
    return [_moved(face, back) for face in detect(np.asarray(padded, np.uint8))]


def _moved(face: Face, affine: Affine) -> Face:
    left, top, right, bottom = face.box
    corners: Points = np.asarray([[left, top], [right, bottom]], np.float32)
    corners = transform_points(corners, affine)
    box = np.concatenate([corners.min(axis=0), corners.max(axis=0)])
    return replace(face, box=box, points=transform_points(face.points, affine))


def _without_doubles(faces: list[Face]) -> list[Face]:
    if len(faces) < 2:
        return faces
    boxes = [
        [face.box[0], face.box[1], face.box[2] - face.box[0], face.box[3] - face.box[1]]
        for face in faces
    ]
    scores = [face.score for face in faces]
    kept = cv2.dnn.NMSBoxes(np.asarray(boxes, np.float64).tolist(), scores, 0.0, NMS_IOU)
    return [faces[index] for index in np.asarray(kept).flatten()]
