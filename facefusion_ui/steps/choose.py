"""Which faces of a frame are swapped."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from facefusion_ui.arrays import Embedding
from facefusion_ui.faces import Face
from facefusion_ui.settings import FaceSelectorOrder


def order_faces(faces: Sequence[Face], order: FaceSelectorOrder) -> list[Face]:
    """Sort `faces`; ties keep their order."""
    keys = {
        "left": lambda face: float(face.box[0]),
        "top": lambda face: float(face.box[1]),
        "small": _area,
        "worst": lambda face: face.score,
        "right": lambda face: -float(face.box[0]),
        "bottom": lambda face: -float(face.box[1]),
        "large": lambda face: -_area(face),
        "best": lambda face: -face.score,
    }
    return sorted(faces, key=keys[order.partition("-")[0]])


def half_distance(a: Embedding, b: Embedding, metric: Literal["euclidean", "cosine"]) -> float:
    """Return half the distance of two embeddings: the scale of `reference_face_distance`.

    Both the cosine distance (0..2) of ArcFace nets and the Euclidean distance of dlib's call two
    pictures the same person below about 0.6, which is 0.3 here.

    >>> half_distance(np.float32([1, 0]), np.float32([0, 2]), "cosine")
    0.5
    """
    if metric == "euclidean":
        return float(np.linalg.norm(a - b)) / 2
    cosine = float(a @ b) / float(np.linalg.norm(a) * np.linalg.norm(b))
    return (1 - cosine) / 2


def _area(face: Face) -> float:
    left, top, right, bottom = face.box
    return float((right - left) * (bottom - top))
