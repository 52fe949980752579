"""Steadying landmarks over the frames of a video."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from facefusion_ui.arrays import Box, Points68, fit_similarity, transform_points
from facefusion_ui.faces import Face

SAME_FACE_IOU = 0.4
JITTER = 0.04  # of the distance between the eyes: below it a point's own move is mostly noise
CALM = 0.35  # share of a noisy move that is followed at once


class Steadier:
    """Follows faces from frame to frame; one per video.

    The motion of the whole head (turn, scale, shift) is followed at once, without lag. What remains
    of each point's move is noise of the landmarker when small, and expression when large: the
    smaller, the less of it is followed.
    """

    def __init__(self) -> None:
        self._before: list[Face] = []

    def steady(self, faces: Sequence[Face]) -> list[Face]:
        """Return `faces`, each with landmarks steadied against the same face one frame before."""
        steadied = [self._steady_one(face) for face in faces]
        self._before = steadied
        return steadied

    def _steady_one(self, face: Face) -> Face:
        before = max(self._before, key=lambda other: overlap(face.box, other.box), default=None)
        if before is None or overlap(face.box, before.box) < SAME_FACE_IOU:
            return face
        if face.landmarks is None or before.landmarks is None:
            return face
        return replace(face, landmarks=_follow(before.landmarks, face.landmarks))


def overlap(a: Box, b: Box) -> float:
    """Return intersection over union of two boxes.

    >>> overlap(np.float32([0, 0, 2, 2]), np.float32([1, 0, 3, 2]))
    0.333...
    """
    width = max(0.0, float(min(a[2], b[2]) - max(a[0], b[0])))
    height = max(0.0, float(min(a[3], b[3]) - max(a[1], b[1])))
    both = width * height
    areas = float((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]))
    return both / (areas - both) if both else 0.0


def _follow(before: Points68, now: Points68) -> Points68:
    expected = transform_points(before, fit_similarity(before, now))
    own_move = now - expected
    eyes_px = float(np.linalg.norm(now[36:42].mean(axis=0) - now[42:48].mean(axis=0)))
    noise_px = max(JITTER * eyes_px, 1e-6)
    move_px = np.linalg.norm(own_move, axis=1, keepdims=True)
    share = np.clip(move_px / noise_px, CALM, 1.0)
    return np.asarray(expected + share * own_move, np.float32)
