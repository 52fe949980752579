"""Glasses come out whole or not at all: the source's are carried over, the target's taken off."""

import cv2
import numpy as np
from numpy.typing import NDArray

from facefusion_ui.arrays import Crop, Mask, Points, Points68, fit_similarity
from facefusion_ui.swappers.landmark_warp.masks import cheeks, filled
from facefusion_ui.swappers.landmark_warp.mesh import eyes_px

UPRIGHT_EYES = np.asarray([[40, 40], [88, 40]], np.float32)  # in a 128 x 112 picture
STEP_ROWS = 3
RIM_STEP = 25.0  # grey levels; bare faces of the sample pictures reach 14, glasses 41
DARK = 0.6  # of the way from skin to the darkest there: a rim or an arm
THIN = 0.16  # of the distance between the eyes: what is wider is hair
BESIDE = 0.08  # of the face's width: how far beside the face an arm is looked for


def wears_glasses(crop: Crop, points: Points68) -> bool:
    """Tell whether a rim crosses the nose and runs below both eyes.

    >>> wears_glasses(np.full((90, 90, 3), 128, np.uint8), np.random.rand(68, 2) * 90)
    False
    """
    eyes = np.stack([points[36:42].mean(axis=0), points[42:48].mean(axis=0)])
    to_upright = fit_similarity(eyes.astype(np.float32), UPRIGHT_EYES)
    shrink = 48 / eyes_px(points)
    if shrink < 1:
        crop = np.asarray(cv2.GaussianBlur(crop, (0, 0), 0.5 / shrink), np.uint8)
    grey = cv2.cvtColor(
        cv2.warpAffine(crop, to_upright, (128, 112), borderMode=cv2.BORDER_REPLICATE),
        cv2.COLOR_BGR2GRAY,
    ).astype(np.float32)
    strips = (grey[24:60, 58:71], grey[46:70, 34:47], grey[46:70, 82:95])  # nose, below the eyes
    rows = [strip.mean(axis=1) for strip in strips]
    return all(np.abs(row[STEP_ROWS:] - row[:-STEP_ROWS]).max() > RIM_STEP for row in rows)


def band(size_wh: tuple[int, int], points: Points68) -> Mask:
    """Return 1 where glasses lie on a face: brows to cheeks, temple to temple."""
    return filled(size_wh, band_points(points))


def band_points(points: Points68) -> Points:
    """Return the outline of `band`."""
    up = points[27] - points[8]
    across = 0.06 * (points[16] - points[0])
    sides = [points[0] - across, points[1] - across, points[15] + across, points[16] + across]
    brows = points[17:27] + 0.04 * up
    cheeks = points[[41, 40, 47, 46]] - 0.3 * up
    corners = [points[17] - across, points[26] + across]
    return np.concatenate([brows, cheeks, sides, corners]).astype(np.float32)


def without_arms(crop: Crop, points: Points68) -> tuple[Crop, Mask]:
    """Paint out the ends of a target's glasses that reach beyond the face.

    Returns:
        The crop with them painted out, and a soft mask of what was painted.
    """
    eyes = eyes_px(points)
    size_wh = (crop.shape[1], crop.shape[0])
    grey = cv2.cvtColor(crop, cv2.COLOR_BGR2GRAY).astype(np.float32)
    beside = _beside(size_wh, points) > 0
    skin, rim = np.median(grey[cheeks(size_wh, points) > 0]), np.percentile(grey[beside], 5)
    dark = (grey < skin - DARK * (skin - rim)).astype(np.uint8)
    wide = 2 * round(THIN * eyes / 2) + 1
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (wide, wide))
    hair = cv2.dilate(cv2.morphologyEx(dark, cv2.MORPH_OPEN, disc), np.ones((3, 3), np.uint8))
    thin = ((dark > 0) & (hair == 0) & beside).astype(np.uint8)
    _, labels = cv2.connectedComponents(thin)
    on_face = np.unique(labels[filled(size_wh, points[0:27]) > 0])
    arms = (np.isin(labels, on_face) & (labels > 0)).astype(np.uint8)
    grow = 2 * round(0.04 * eyes) + 1
    arms = np.asarray(cv2.dilate(arms, np.ones((grow, grow), np.uint8)), np.uint8)
    painted = _filled_from_above_and_below(crop, arms)
    soft = cv2.GaussianBlur(arms.astype(np.float32), (0, 0), max(0.6, 0.02 * eyes))
    return painted, np.clip(2 * soft, 0, 1)


def _filled_from_above_and_below(crop: Crop, hole: NDArray[np.uint8]) -> Crop:
    """Return `crop` with `hole` filled by what lies above and below it, mirrored at its edges.

    Unlike inpainting this keeps the grain of skin and the strands of hair.
    """
    height, width = hole.shape
    rows = np.arange(height)[:, None]
    above = np.maximum.accumulate(np.where(hole, -1, rows), axis=0)
    below = np.minimum.accumulate(np.where(hole, height, rows)[::-1], axis=0)[::-1]
    above, below = np.where(above < 0, below, above), np.where(below == height, above, below)
    columns = np.arange(width)
    upper = crop[np.clip(2 * above - rows, 0, height - 1), columns].astype(np.float32)
    lower = crop[np.clip(2 * below - rows, 0, height - 1), columns].astype(np.float32)
    share = (rows - above) / np.maximum(below - above, 1)
    mixed = upper + share[..., None] * (lower - upper)
    return np.where(hole[..., None] > 0, np.rint(mixed), crop).astype(np.uint8)


def _beside(size_wh: tuple[int, int], points: Points68) -> Mask:
    """Return 1 on the two strips, at the height of the eyes, where arms run to the ears."""
    across = points[16] - points[0]
    up = (points[27] - points[8]) * 0.16
    strips = []
    for eye, out in ((points[36], -1), (points[45], 1)):
        inner = eye + out * 0.06 * across
        outer = (points[0] if out < 0 else points[16]) + out * BESIDE * across
        quad = np.stack([inner + up, inner - 0.4 * up, outer - 0.4 * up, outer + up])
        strips.append(filled(size_wh, quad.astype(np.float32)))
    return np.maximum(*strips)
