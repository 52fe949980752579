"""Making the new face look as if the same light, lens and film had taken it."""

import cv2
import numpy as np
from numpy.typing import NDArray

from facefusion_ui.arrays import Crop, Mask
from facefusion_ui.swappers.landmark_warp.masks import around

Lab = NDArray[np.float32]

GRAIN_SIGMA = 1.0  # pixels: what is finer counts as grain and sharpness
SHARPENED = 0.7  # of the wanted fineness comes from sharpening at most, the rest is grain
MOST_SHARPENING = 1.0
MOST_EDGE = 12.0  # grey levels: a stronger edge is not sharpened further, or it would ring
MOST_CONTRAST = 0.9  # how much detail may gain where the light is stronger


def to_lab(crop: Crop) -> Lab:
    """Return (h, w, 3) float32 Lab, each channel in 0..255."""
    return cv2.cvtColor(crop, cv2.COLOR_BGR2LAB).astype(np.float32)


def to_bgr(lab: Lab) -> Crop:
    """Undo `to_lab`."""
    rounded = np.rint(lab).clip(0, 255).astype(np.uint8)
    return np.asarray(cv2.cvtColor(rounded, cv2.COLOR_LAB2BGR), np.uint8)


def match_light(new: Crop, old: Crop, skin: Mask, sigma_px: float) -> Crop:
    """Return `new` in the light of `old`: its slow changes of colour, learned where both show skin.

    In each channel the slow part of `new` becomes that of `old`, and what is darker or brighter
    keeps its place between that and black or white: nothing is clipped, black stays black.
    """
    new_low = around(new.astype(np.float32), skin, sigma_px)
    old_low = around(old.astype(np.float32), skin, sigma_px)
    detail = new - new_low
    grey = detail.mean(axis=-1, keepdims=True)
    colour = new_low.std(axis=-1, keepdims=True), old_low.std(axis=-1, keepdims=True)
    detail = grey + np.clip(colour[1] / (colour[0] + 1e-3), 0.4, 1.2) * (detail - grey)
    darker = _calmed(old_low / np.maximum(new_low, 1))
    brighter = _calmed((255 - old_low) / np.maximum(255 - new_low, 1))
    lit = old_low + detail * np.where(detail < 0, darker, brighter)
    return np.asarray(np.rint(lit).clip(0, 255), np.uint8)


def match_edge(new: Crop, old: Crop, edge: Mask, sigma_px: float) -> Crop:
    """Return `new` with the colour of `old` near `edge`, where both show skin."""
    trust = cv2.GaussianBlur(edge, (0, 0), sigma_px)[..., None]
    difference = (old.astype(np.float32) - new) * edge[..., None]
    shift = cv2.GaussianBlur(difference, (0, 0), sigma_px) / (trust + 1e-3)
    moved = new + np.clip(2 * trust, 0, 1) * shift
    return np.asarray(np.rint(moved).clip(0, 255), np.uint8)


def match_grain(new: Crop, old: Crop, skin: Mask) -> Crop:
    """Return `new` as sharp and as grainy as `old` is on `skin`.

    Missing grain is the old picture's own, so that it moves as the film's grain does; a face that
    is too sharp is blurred until it fits.
    """
    old_fine, new_fine = _fine(old), _fine(new)
    wanted, given = _spread(old_fine, skin), _spread(new_fine, skin)
    if given > wanted:
        out = new - (1 - wanted / given) * new_fine
        return np.asarray(np.rint(out).clip(0, 255), np.uint8)
    sharper = min(MOST_SHARPENING, SHARPENED * wanted / max(given, 1e-3) - 1)
    if sharper > 0:
        given *= 1 + sharper
        out = new + sharper * np.clip(new_fine, -MOST_EDGE, MOST_EDGE)
    else:
        out = new.astype(np.float32)
    line = (np.abs(old_fine).max(axis=-1) > 4 * wanted).astype(np.uint8)
    quiet = 1 - cv2.dilate(line, np.ones((3, 3), np.uint8)).astype(np.float32)
    missing = np.sqrt(max(0.0, wanted**2 - given**2)) / max(wanted, 1e-6)
    out = out + missing * (quiet * skin)[..., None] * old_fine
    return np.asarray(np.rint(out).clip(0, 255), np.uint8)


def _calmed(ratio: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return `ratio` (h, w, 3) held to `MOST_CONTRAST` on average, its colour kept."""
    mean = ratio.mean(axis=-1, keepdims=True)
    return np.asarray(ratio * np.minimum(1, MOST_CONTRAST / np.maximum(mean, 1e-3)), np.float32)


def _fine(crop: Crop) -> NDArray[np.float32]:
    plain = crop.astype(np.float32)
    return np.asarray(plain - cv2.GaussianBlur(plain, (0, 0), GRAIN_SIGMA), np.float32)


def _spread(fine: NDArray[np.float32], skin: Mask) -> float:
    """Return the deviation on skin, from the median, so that wrinkles and edges do not count."""
    chosen = np.abs(fine[skin > 0.5])
    return 1.4826 * float(np.median(chosen)) if len(chosen) else 0.0
