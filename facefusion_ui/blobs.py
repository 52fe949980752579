"""The last lines before a network and the first after it: the only place where colours are RGB."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from facefusion_ui.arrays import Frame
from facefusion_ui.errors import BrokenOutputError

FLAT = 1e-4  # of the range: a picture whose values spread less shows nothing
PLAIN = (0.0, 0.0, 0.0)
WHOLE = (1.0, 1.0, 1.0)


def to_blob(
    picture: Frame, mean: Sequence[float] = PLAIN, std: Sequence[float] = WHOLE
) -> NDArray[np.float32]:
    """Return `picture` as networks take it: (1, 3, H, W) float32, RGB, (x / 255 - mean) / std.

    >>> to_blob(np.uint8([[[0, 51, 255]]]))[0, :, 0, 0].round(4).tolist()
    [1.0, 0.20000000298023224, 0.0]
    """
    blob = np.ascontiguousarray(picture[..., ::-1].transpose(2, 0, 1), np.float32)[None]
    means, stds = (np.asarray(v, np.float32)[:, None, None] for v in (mean, std))
    blob *= 1 / (255 * stds)
    blob -= means / stds
    return blob


def from_blob(
    blob: NDArray[np.floating], mean: Sequence[float] = PLAIN, std: Sequence[float] = WHOLE
) -> Frame:
    """Return what a network made as a picture: (H, W, 3) uint8, BGR, of x * std + mean in 0..1.

    Args:
        blob: (1, 3, H, W), RGB.

    Raises:
        BrokenOutputError: it holds what is not a number, or one flat colour.

    >>> from_blob(to_blob(np.uint8([[[0, 51, 255]], [[9, 8, 7]]])))[0, 0].tolist()
    [0, 51, 255]
    """
    values = np.asarray(blob[0], np.float32)
    if not np.isfinite(values).all():
        raise BrokenOutputError("the network's answer holds what is not a number", hint=HINT)
    if np.ptp(values.reshape(3, -1), axis=1).max() < FLAT:
        raise BrokenOutputError("the network's answer is one flat colour", hint=HINT)
    scale, shift = (255 * np.asarray(v, np.float32)[:, None, None] for v in (std, mean))
    picture = np.rint(np.clip(values * scale + shift, 0, 255)).astype(np.uint8)
    return np.ascontiguousarray(picture.transpose(1, 2, 0)[..., ::-1])


HINT = "Verify the model's file, or use --execution-precision full."
