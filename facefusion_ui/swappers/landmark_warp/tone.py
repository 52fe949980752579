"""Making the new face look as if the same light, lens and film had taken it."""

from collections.abc import Callable

import cv2
import numpy as np
from numpy.typing import NDArray

from facefusion_ui.arrays import Crop, Mask
from facefusion_ui.swappers.landmark_warp.masks import around, blurred, mean_of_channels

Lab = NDArray[np.float32]

GRAIN_SIGMA = 1.0  # pixels: what is finer counts as grain and sharpness
SHARPENED = 0.7  # of the wanted fineness comes from sharpening at most, the rest is grain
MOST_SHARPENING = 1.6
MOST_EDGE = 12.0  # grey levels: a stronger edge is not sharpened further, or it would ring
MOST_BLUR = 1.0  # pixels; beyond it wrinkles and rims would go, not only sharpness
MOST_GRAIN = 0.7  # of the old picture's: part of what looks like grain is wrinkles
QUIET = 0.5  # of the skin is taken to show grain only, no wrinkles
GRAIN_TILE = 256  # pixels
GRAIN_SIZE = 0.55  # pixels: sensors and film blur their grain a little
COLOUR_GRAIN = 0.15  # of the grain in light
GREY = 128.0  # a and b of 8-bit Lab
STRONGER = (0.2, 1.0)  # least and most that the new face's own colours may change
FLECK = 0.12  # of the range of colours that are learned: specks of colour below it are blurred
LEVEL_SIGMA = 6.0  # levels of L that share their colour
RARE = 0.02  # of the skin: fewer pixels than this, and a level's colour is not trusted
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
    grey = mean_of_channels(detail)
    colour = _spread(new_low), _spread(old_low)
    detail = grey + np.clip(colour[1] / (colour[0] + 1e-3), 0.4, 1.2) * (detail - grey)
    darker = _calmed(old_low, new_low)
    brighter = _calmed(255 - old_low, 255 - new_low)
    lit = old_low + detail * np.where(detail < 0, darker, brighter)
    return np.asarray(np.rint(lit).clip(0, 255), np.uint8)


def match_colour(new: Crop, old: Crop, skin: Mask, sigma_px: float) -> Crop:
    """Return `new` with the hue and saturation of `old`'s skin; light is kept.

    How skin changes its colour from shadow to highlight is learned on both pictures and exchanged.
    What `old` shows beyond that is followed around each pixel; what `new` shows beyond that is its
    own, lips and eyes, as much stronger or weaker as skin is: what was grey is grey again.
    """
    lab, wanted = to_lab(new), to_lab(old)
    light = lab[..., 0].astype(np.uint8)
    usual_new, usual = _colour_by_light(lab, skin), _colour_by_light(wanted, skin)
    strength, wanted_strength = (
        np.linalg.norm(table - GREY, axis=-1, keepdims=True) for table in (usual_new, usual)
    )
    stronger = np.clip(wanted_strength / np.maximum(strength, 1), *STRONGER)
    own, local = np.zeros_like(lab), np.zeros_like(lab)
    own[..., 1:] = stronger[light] * (lab[..., 1:] - usual_new[light])
    own = blurred(own, FLECK * sigma_px)
    local[..., 1:] = wanted[..., 1:] - usual[wanted[..., 0].astype(np.uint8)]
    lab[..., 1:] = usual[light]
    lab += own + around(local - own, skin, sigma_px)
    return to_bgr(lab)


def _colour_by_light(lab: Lab, skin: Mask) -> NDArray[np.float32]:
    """Return the mean a and b (256, 2) of skin at each level of L.

    Levels that `skin` does not show take the nearest one's that it does, fading to grey at black.
    """
    level = lab[..., 0].astype(np.uint8).ravel()
    weight = skin.ravel()
    counts = np.bincount(level, weight, 256)
    sums = [np.bincount(level, weight * lab[..., channel].ravel(), 256) for channel in (1, 2)]
    table = np.stack([counts, *sums], axis=1).astype(np.float32)
    table = np.asarray(cv2.GaussianBlur(table, (1, 0), 1, sigmaY=LEVEL_SIGMA), np.float32)
    share = np.cumsum(counts) / max(1e-3, counts.sum())
    low, high = np.searchsorted(share, (RARE, 1 - RARE))
    levels = np.arange(256)
    shown = table[np.clip(levels, low, min(high, 255))]
    colour = shown[:, 1:] / np.maximum(shown[:, :1], 1e-6)
    fading = (levels / max(1, low)).clip(0, 1)
    return np.asarray(GREY + fading[:, None] * (colour - GREY), np.float32)


def match_edge(new: Crop, old: Crop, edge: Mask, sigma_px: float) -> Crop:
    """Return `new` with the colour of `old` near `edge`, where both show skin."""
    difference = (old.astype(np.float32) - new) * edge[..., None]
    near = blurred(np.dstack([difference, edge]), sigma_px)
    trust = near[..., 3:]
    moved = new + np.clip(2 * trust, 0, 1) * near[..., :3] / (trust + 1e-3)
    return np.asarray(np.rint(moved).clip(0, 255), np.uint8)


def match_grain(new: Crop, old: Crop, skin: Mask, plain: Mask) -> Crop:
    """Return `new` as sharp and as grainy as `old`, measured where skin is `plain`.

    Skin that is too sharp is blurred; a soft face is sharpened and given grain.
    """
    x, y, width, height = cv2.boundingRect((plain > 0.5).astype(np.uint8))
    if width == 0:
        return new
    part = slice(y, y + height), slice(x, x + width)
    fresh = new.astype(np.float32)

    def grain_of(picture: NDArray[np.float32]) -> float:
        fine = np.abs(_fine(mean_of_channels(picture)[..., 0])[plain[part] > 0.5])
        return float(np.quantile(fine, QUIET))

    wanted = grain_of(old[part].astype(np.float32))
    if grain_of(fresh[part]) > wanted:
        sigmas = np.arange(0.3, MOST_BLUR, 0.15)
        sigma = _first(sigmas, lambda s: grain_of(_softer(fresh[part], s, skin[part])) <= wanted)
        return np.asarray(np.rint(_softer(fresh, sigma, skin)).clip(0, 255), np.uint8)

    edges = np.clip(_fine(fresh), -MOST_EDGE, MOST_EDGE)
    amounts = np.arange(MOST_SHARPENING, -0.1, -0.2)
    sharpening = _first(
        amounts, lambda a: grain_of((fresh + a * edges)[part]) <= SHARPENED * wanted
    )
    fresh += sharpening * edges
    grain = skin[..., None] * _grain(skin.shape, wanted)
    amount = _first(
        np.arange(0, MOST_GRAIN, 0.1), lambda a: grain_of((fresh + a * grain)[part]) >= wanted
    )
    return np.asarray(np.rint(fresh + amount * grain).clip(0, 255), np.uint8)


def _softer(picture: NDArray[np.float32], sigma_px: float, skin: Mask) -> NDArray[np.float32]:
    """Return `picture` blurred where `skin` is plain; lines, eyes and mouth stay sharp."""
    return picture + skin[..., None] * (blurred(picture, sigma_px) - picture)


def _grain(shape_hw: tuple[int, ...], strength: float) -> NDArray[np.float32]:
    """Return (h, w, 3) grain; always the same, so that a face that rests does not flicker.

    Not the old picture's own: that would print its wrinkles and glasses on the new face.
    """
    noise = np.random.default_rng(0).normal(0, 1, (GRAIN_TILE, GRAIN_TILE, 4))
    noise = noise[..., :1] + COLOUR_GRAIN * noise[..., 1:]
    tile = blurred(noise.astype(np.float32), GRAIN_SIZE)
    tile *= strength / np.quantile(np.abs(_fine(mean_of_channels(tile))), QUIET)
    rows, columns = (np.arange(side) % GRAIN_TILE for side in shape_hw)
    return np.asarray(tile[rows[:, None], columns], np.float32)


def _first(values: NDArray[np.float64], fits: Callable[[float], bool]) -> float:
    """Return the first of `values` that fits, or the last."""
    return next((float(value) for value in values if fits(float(value))), float(values[-1]))


def _spread(picture: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return how far apart the three channels are (h, w, 1): how colourful each pixel is."""
    grey = mean_of_channels(picture)
    return np.sqrt(mean_of_channels((picture - grey) ** 2))


def _calmed(wanted: NDArray[np.float32], given: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return `wanted` over `given` (h, w, 3) held to `MOST_CONTRAST` on average, colour kept."""
    ratio = np.divide(wanted, np.maximum(given, 1), dtype=np.float32)
    mean = mean_of_channels(ratio)
    return np.asarray(ratio * np.minimum(1, MOST_CONTRAST / np.maximum(mean, 1e-3)), np.float32)


def _fine(picture: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return what is finer than `GRAIN_SIGMA`."""
    return picture - blurred(picture, GRAIN_SIGMA).reshape(picture.shape)
