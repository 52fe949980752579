"""The arrays that travel between modules: shape, dtype, colour order.

Colour order is BGR everywhere inside; RGB exists only in the page's handlers and on the last line
before a network. Points are (x, y) in pixels, origin at the centre of the top-left pixel.
"""

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Frame: TypeAlias = NDArray[np.uint8]
"""(H, W, 3) uint8, BGR: a whole picture."""

Crop: TypeAlias = NDArray[np.uint8]
"""(h, w, 3) uint8, BGR: one face cut from a frame."""

Mask: TypeAlias = NDArray[np.float32]
"""(h, w) float32 in [0, 1]: 1 takes the new picture, 0 keeps the old."""

Affine: TypeAlias = NDArray[np.float32]
"""(2, 3) float32: maps (x, y, 1) of one picture to (x, y) of another."""

Box: TypeAlias = NDArray[np.float32]
"""(4,) float32: left, top, right, bottom in pixels."""

Points: TypeAlias = NDArray[np.float32]
"""(N, 2) float32: (x, y) in pixels."""

Points5: TypeAlias = NDArray[np.float32]
"""(5, 2) float32: the picture's left eye, right eye, nose, left and right corner of the mouth."""

Points68: TypeAlias = NDArray[np.float32]
"""(68, 2) float32, iBUG 300-W order: jaw 0-16, brows 17-26, nose 27-35, eyes 36-47, mouth 48-67."""

Embedding: TypeAlias = NDArray[np.float32]
"""(D,) float32: a recogniser's description of a face, as the model gives it."""

FaceMaskRegion: TypeAlias = Literal[
    "skin",
    "left-eyebrow",
    "right-eyebrow",
    "left-eye",
    "right-eye",
    "glasses",
    "nose",
    "mouth",
    "upper-lip",
    "lower-lip",
]
"""Parts of a face that a parser tells apart."""


def check_shape(name: str, array: NDArray[np.generic], shape: tuple[int | None, ...]) -> None:
    """Raise ValueError, with expected and got, unless `array` has `shape` (None: any length).

    >>> check_shape("points", np.zeros((5, 3)), (5, 2))
    Traceback (most recent call last):
    ValueError: points must be (5, 2), got (5, 3)
    """
    fits = array.ndim == len(shape) and all(
        want is None or want == got for want, got in zip(shape, array.shape, strict=True)
    )
    if not fits:
        wanted = ", ".join("any" if n is None else str(n) for n in shape)
        raise ValueError(f"{name} must be ({wanted}), got {array.shape}")


def transform_points(points: Points, affine: Affine) -> Points:
    """Map (N, 2) `points` by `affine`.

    >>> transform_points(np.float32([[1, 2]]), np.float32([[2, 0, 5], [0, 2, 0]])).tolist()
    [[7.0, 4.0]]
    """
    moved: Points = points @ affine[:, :2].T + affine[:, 2]
    return moved.astype(np.float32)


def fit_similarity(source: Points, target: Points) -> Affine:
    """Return the turn, scale and shift that bring `source` nearest to `target`, least squares.

    Raises:
        ValueError: the source points coincide.

    >>> square = np.float32([[0, 0], [1, 0], [1, 1], [0, 1]])
    >>> transform_points(square, fit_similarity(square, square * 2 + 3))[2].tolist()
    [5.0, 5.0]
    """
    source_mean = source.mean(axis=0, dtype=np.float64)
    target_mean = target.mean(axis=0, dtype=np.float64)
    x, y = (source - source_mean).T
    u, v = (target - target_mean).T
    spread = float((x * x + y * y).sum())
    if spread == 0:
        raise ValueError("the points coincide")
    a = float((x * u + y * v).sum()) / spread
    b = float((x * v - y * u).sum()) / spread
    turn = np.asarray([[a, -b], [b, a]])
    shift = target_mean - turn @ source_mean
    return np.concatenate([turn, shift[:, None]], axis=1).astype(np.float32)
