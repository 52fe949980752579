"""Where a face may change: masks that need no model, and those of models laid on a crop."""

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from facefusion_ui.arrays import Affine, Mask, Points68
from facefusion_ui.faces import Cover

AREA_FEATHER = 0.06  # of the face's width: the soft edge of the area mask


def box_mask(size_wh: tuple[int, int], blur: float, padding: Sequence[int]) -> Mask:
    """Return a mask that is 0 on the crop's border and rises smoothly to 1 inwards.

    Args:
        size_wh: of the crop.
        blur: 0..1; the soft border is this share of half the crop's shorter side.
        padding: top, right, bottom, left: zero border in percent of the crop's side.

    >>> box_mask((4, 4), 0.0, (50, 0, 0, 0)).tolist()[1:3]
    [[0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]]
    """
    width, height = size_wh
    top, right, bottom, left = padding
    blur_px = max(1.0, min(width, height) * 0.5 * blur)
    across = _ramp(width, left, right, blur_px)
    down = _ramp(height, top, bottom, blur_px)
    return np.minimum(down[:, None], across[None, :])


def area_mask(size_wh: tuple[int, int], landmarks: Points68) -> Mask:
    """Return the convex hull of 68 landmarks in the crop's pixels, feathered inwards."""
    width, height = size_wh
    mask = np.zeros((height, width), np.float32)
    hull = cv2.convexHull(np.rint(landmarks).astype(np.int32))
    cv2.fillConvexPoly(mask, hull, 1.0)
    feather_px = max(1.0, float(np.ptp(landmarks[:, 0])) * AREA_FEATHER)
    distance_px = cv2.distanceTransform((mask > 0).astype(np.uint8), cv2.DIST_L2, 5)
    return np.asarray(np.clip(distance_px / feather_px, 0, 1), np.float32)


def cover_mask(cover: Cover, size_wh: tuple[int, int], to_crop: Affine) -> Mask:
    """Return `cover` in the pixels of another crop of the same frame; 0 beyond it."""
    to_frame = cv2.invertAffineTransform(cover.to_crop)
    across = to_crop @ np.vstack([to_frame, [0, 0, 1]])
    mask = cv2.warpAffine(cover.mask, across, size_wh, flags=cv2.INTER_LINEAR)
    return np.asarray(mask / 255, np.float32)


def _ramp(length: int, near_percent: int, far_percent: int, blur_px: float) -> NDArray[np.float32]:
    """Return 0 in both paddings, rising over `blur_px` to 1 with no kink at either end."""
    place = np.arange(1, length + 1, dtype=np.float32)
    near_px, far_px = (length * percent // 100 for percent in (near_percent, far_percent))
    inside_px = np.minimum(place - near_px, length - far_px + 1 - place)
    t = np.clip(inside_px / blur_px, 0, 1)
    return np.asarray(t * t * (3 - 2 * t), np.float32)
