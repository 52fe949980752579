"""Making the new face look as if the same light, lens and film had taken it."""

from collections.abc import Callable

import cv2
import numpy as np
from numpy.typing import NDArray

from facefusion_ui.arrays import Crop, Mask
from facefusion_ui.swappers.landmark_warp.masks import around, blurred

Lab = NDArray[np.float32]

GRAIN_SIGMA = 1.0  # pixels: what is finer counts as grain and sharpness
SHARPENED = 0.7  # of the wanted fineness comes from sharpening at most, the rest is grain
MOST_SHARPENING = 1.0
MOST_EDGE = 12.0  # grey levels: a stronger edge is not sharpened further, or it would ring
MOST_BLUR = 1.2  # pixels; beyond it wrinkles and rims would go, not only sharpness
FEATURE_BLUR = 0.4  # how much of it eyes, brows and mouth get
MOST_GRAIN = 1.6  # of the old picture's own
MOST_SHADE = 25.0  # grey levels: what is darker is an eye or a brow
MOST_SLOPE = 0.25
MOST_CONTRAST = 1.0  # how much detail may gain where the light is stronger


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


def match_colour(new: Crop, old: Crop, skin: Mask, sigma_px: float) -> Crop:
    """Return `new` with the hue and saturation of `old`'s skin around each pixel; light is kept.

    Shadows and highlights take the colour that they have on `old`: red where its shadows are red.
    """
    lab, wanted = to_lab(new), to_lab(old)
    low, wanted_low = around(lab, skin, sigma_px), around(wanted, skin, sigma_px)
    shade, wanted_shade = lab - low, wanted - wanted_low
    slope = _shadow_colour(wanted_shade, skin) - _shadow_colour(shade, skin)
    lab[..., 1:] += (wanted_low - low)[..., 1:]
    lab[..., 1:] += slope * np.clip(shade[..., :1], -MOST_SHADE, MOST_SHADE)
    return to_bgr(lab)


def _shadow_colour(shade: Lab, skin: Mask) -> NDArray[np.float32]:
    """Return how much a and b change with L (2,), over the skin's shadows and highlights."""
    light = np.clip(shade[..., 0], -MOST_SHADE, MOST_SHADE) * skin
    slope = (light[..., None] * shade[..., 1:]).sum(axis=(0, 1)) / ((light**2).sum() + 1.0)
    return np.asarray(np.clip(slope, -MOST_SLOPE, MOST_SLOPE), np.float32)


def match_edge(new: Crop, old: Crop, edge: Mask, sigma_px: float) -> Crop:
    """Return `new` with the colour of `old` near `edge`, where both show skin."""
    difference = (old.astype(np.float32) - new) * edge[..., None]
    near = blurred(np.dstack([difference, edge]), sigma_px)
    trust = near[..., 3:]
    moved = new + np.clip(2 * trust, 0, 1) * near[..., :3] / (trust + 1e-3)
    return np.asarray(np.rint(moved).clip(0, 255), np.uint8)


def match_grain(new: Crop, old: Crop, skin: Mask, plain: Mask) -> Crop:
    """Return `new` as sharp and as grainy as `old`, measured where skin is `plain`.

    A face that is too sharp is blurred, eyes and mouth less than skin. A soft one is sharpened and
    given the old picture's own grain, which moves as the film's grain does.
    """
    x, y, width, height = cv2.boundingRect((plain > 0.5).astype(np.uint8))
    if width == 0:
        return new
    part = slice(y, y + height), slice(x, x + width)
    fresh = new.astype(np.float32)

    def grain_of(picture: NDArray[np.float32]) -> float:
        fine = np.abs(_fine(picture)[plain[part] > 0.5])
        return float(np.median(fine))

    wanted = grain_of(old[part].astype(np.float32))
    if grain_of(fresh[part]) > wanted:
        sigmas = np.arange(0.3, MOST_BLUR, 0.15)
        sigma = _first(sigmas, lambda s: grain_of(blurred(fresh[part], s)) <= wanted)
        share = FEATURE_BLUR + (1 - FEATURE_BLUR) * skin[..., None]
        out = fresh + share * (blurred(fresh, sigma) - fresh)
        return np.asarray(np.rint(out).clip(0, 255), np.uint8)

    edges = np.clip(_fine(fresh), -MOST_EDGE, MOST_EDGE)
    amounts = np.arange(MOST_SHARPENING, 0, -0.2)
    sharpening = _first(
        amounts, lambda a: grain_of((fresh + a * edges)[part]) <= SHARPENED * wanted
    )
    fresh += sharpening * edges
    fine = _fine(old.astype(np.float32))
    line = (np.abs(fine).max(axis=-1) > 6 * wanted).astype(np.uint8)
    quiet = 1 - cv2.dilate(line, np.ones((3, 3), np.uint8)).astype(np.float32)
    grain = (quiet * skin)[..., None] * fine
    amount = _first(
        np.arange(0, MOST_GRAIN, 0.1), lambda a: grain_of((fresh + a * grain)[part]) >= wanted
    )
    return np.asarray(np.rint(fresh + amount * grain).clip(0, 255), np.uint8)


def _first(values: NDArray[np.float64], fits: Callable[[float], bool]) -> float:
    """Return the first of `values` that fits, or the last."""
    return next((float(value) for value in values if fits(float(value))), float(values[-1]))


def _calmed(ratio: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return `ratio` (h, w, 3) held to `MOST_CONTRAST` on average, its colour kept."""
    mean = ratio.mean(axis=-1, keepdims=True)
    return np.asarray(ratio * np.minimum(1, MOST_CONTRAST / np.maximum(mean, 1e-3)), np.float32)


def _fine(picture: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return what is finer than `GRAIN_SIGMA`."""
    return picture - blurred(picture, GRAIN_SIGMA)
