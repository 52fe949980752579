"""Cutting a face out of a frame, and putting it back."""

import cv2
import numpy as np

from facefusion_ui.arrays import (
    Affine,
    Crop,
    Frame,
    Mask,
    Points5,
    check_shape,
    fit_similarity,
    transform_points,
)
from facefusion_ui.cards import Template
from facefusion_ui.faces import AlignedFace, Face

# Five points as shares of the crop's side: the positions the networks were trained on.
TEMPLATES: dict[Template, list[tuple[float, float]]] = {
    "arcface_112_v1": [
        (0.35473214, 0.45658929),
        (0.64526786, 0.45658929),
        (0.50000000, 0.61154464),
        (0.37913393, 0.77687500),
        (0.62086607, 0.77687500),
    ],
    "arcface_112_v2": [
        (0.34191607, 0.46157411),
        (0.65653393, 0.45983393),
        (0.50022500, 0.64050536),
        (0.37097589, 0.82469196),
        (0.63151696, 0.82325089),
    ],
    "arcface_128": [
        (0.36167656, 0.40387734),
        (0.63696719, 0.40235469),
        (0.50019687, 0.56044219),
        (0.38710391, 0.72160547),
        (0.61507734, 0.72034453),
    ],
    "ffhq_512": [
        (0.37691676, 0.46864664),
        (0.62285697, 0.46912813),
        (0.50123859, 0.61331904),
        (0.39308822, 0.72541100),
        (0.61150205, 0.72490465),
    ],
    "mtcnn_512": [
        (0.36562865, 0.46733799),
        (0.63305391, 0.46585885),
        (0.50019127, 0.61942959),
        (0.39032951, 0.77598822),
        (0.61178945, 0.77476328),
    ],
}

REGION_UP = 0.6  # of the landmarks' height: room for the forehead and what covers it
REGION_ROUND = 0.35  # on the other sides: room for the jaw, the ears and a soft edge


def align(frame: Frame, face: Face, template: Template, size_px: int) -> AlignedFace:
    """Cut `face` out as `template` says.

    Args:
        frame: (H, W, 3) uint8, BGR. Not modified.
        template: "region" cuts the face's own rectangle at the frame's scale, pixels beyond the
            frame's border repeated; it needs `face.landmarks`. The others turn and scale the five
            points onto the template's.
        size_px: side of the crop; for "region" its long edge at most, 0: the frame's own scale.
    """
    if template == "region":
        to_crop, size_wh = _region(face)
        crop = _cut(frame, to_crop, size_wh)
        if 0 < size_px < max(size_wh):
            crop, to_crop = _shrunk(crop, to_crop, size_px)
    else:
        to_crop = estimate(face.points, template, size_px)
        crop = _warp(frame, to_crop, size_px)
    landmarks = None if face.landmarks is None else transform_points(face.landmarks, to_crop)
    return AlignedFace(crop, to_crop, transform_points(face.points, to_crop), landmarks)


def estimate(points: Points5, template: Template, size_px: int) -> Affine:
    """Return the similarity that maps five `points` of a frame onto the template's, least squares.

    Raises:
        ValueError: `points` is not (5, 2), or the points coincide.
    """
    check_shape("points", points, (5, 2))
    return fit_similarity(points, np.asarray(TEMPLATES[template], np.float32) * size_px)


def paste(frame: Frame, crop: Crop, mask: Mask, to_crop: Affine) -> Frame:
    """Blend `crop` back into `frame` where `mask` is above zero.

    Args:
        frame: (H, W, 3) uint8, BGR. Not modified.
        crop: (h, w, 3) uint8, BGR.
        mask: (h, w) float32 in [0, 1]; 1 takes the crop, 0 keeps the frame.
        to_crop: (2, 3) float32, maps frame to crop.

    Returns:
        (H, W, 3) uint8, BGR. Pixels the mask does not reach are bit-identical to `frame`.

    Raises:
        ValueError: `mask` and `crop` differ in size.
    """
    check_shape("mask", mask, crop.shape[:2])
    out = frame.copy()
    if np.array_equal(to_crop[:, :2], np.eye(2)):
        part, new, weight = _laid_on(out, crop, mask, to_crop)
    else:
        part, new, weight = _warped_on(out, crop, mask, to_crop)
    part[:] = np.rint(part + weight[..., None] * (new.astype(np.float32) - part))
    return out


def _laid_on(frame: Frame, crop: Crop, mask: Mask, to_crop: Affine) -> tuple[Frame, Crop, Mask]:
    """Return the part of `frame` under a region's crop, with what lies on it: no resampling."""
    height, width = frame.shape[:2]
    x, y = (round(-float(v)) for v in to_crop[:, 2])
    left, right = max(0, x), min(width, x + crop.shape[1])
    top, bottom = max(0, y), min(height, y + crop.shape[0])
    if left >= right or top >= bottom:  # the region lies beyond the frame
        return frame[:0, :0], crop[:0, :0], mask[:0, :0]
    inside = slice(top - y, bottom - y), slice(left - x, right - x)
    return frame[top:bottom, left:right], crop[inside], mask[inside]


def _warped_on(frame: Frame, crop: Crop, mask: Mask, to_crop: Affine) -> tuple[Frame, Crop, Mask]:
    """Return the part of `frame` that the mask reaches, with crop and mask warped onto it."""
    to_frame = _inverse(to_crop)
    left, top, right, bottom = _reach(mask, to_frame, frame)
    part = frame[top:bottom, left:right]
    if part.size == 0:
        return frame[:0, :0], crop[:0, :0], mask[:0, :0]
    to_frame[:, 2] -= (left, top)
    size_wh = (right - left, bottom - top)
    border = cv2.BORDER_REPLICATE
    new = np.asarray(cv2.warpAffine(crop, to_frame, size_wh, borderMode=border), np.uint8)
    return part, new, np.asarray(cv2.warpAffine(mask, to_frame, size_wh), np.float32)


def _inverse(affine: Affine) -> Affine:
    return np.asarray(cv2.invertAffineTransform(affine), np.float32)


def _region(face: Face) -> tuple[Affine, tuple[int, int]]:
    if face.landmarks is None:
        raise ValueError("the region template needs landmarks")
    points = np.concatenate([face.landmarks, face.points])
    (left, top), (right, bottom) = points.min(axis=0), points.max(axis=0)
    width, height = float(right - left), float(bottom - top)
    x0, y0 = int(left - REGION_ROUND * width), int(top - REGION_UP * height)
    x1, y1 = int(right + REGION_ROUND * width) + 1, int(bottom + REGION_ROUND * height) + 1
    return np.asarray([[1, 0, -x0], [0, 1, -y0]], np.float32), (x1 - x0, y1 - y0)


def _cut(frame: Frame, to_crop: Affine, size_wh: tuple[int, int]) -> Crop:
    """Copy a rectangle of `frame`; its border is repeated where the rectangle leaves it."""
    height, width = frame.shape[:2]
    x, y = (round(-float(v)) for v in to_crop[:, 2])
    columns = np.clip(np.arange(x, x + size_wh[0]), 0, width - 1)
    rows = np.clip(np.arange(y, y + size_wh[1]), 0, height - 1)
    return frame[rows[:, None], columns]


def _shrunk(crop: Crop, to_crop: Affine, size_px: int) -> tuple[Crop, Affine]:
    """Shrink a crop until its long edge is `size_px`."""
    height, width = crop.shape[:2]
    shrink = size_px / max(height, width)
    size_wh = (max(1, round(width * shrink)), max(1, round(height * shrink)))
    fx, fy = size_wh[0] / width, size_wh[1] / height
    # pixel centres: small = (full + 0.5) * f - 0.5
    small = np.asarray([[fx, 0, 0.5 * fx - 0.5], [0, fy, 0.5 * fy - 0.5]], np.float32)
    shrunk = np.asarray(cv2.resize(crop, size_wh, interpolation=cv2.INTER_AREA), np.uint8)
    return shrunk, (small @ np.vstack([to_crop, [0, 0, 1]])).astype(np.float32)


def _warp(frame: Frame, to_crop: Affine, size_px: int) -> Crop:
    """Warp `frame` to a square; a large face is first shrunk by area, so that it does not alias."""
    scale = float(np.hypot(to_crop[0, 0], to_crop[1, 0]))
    shrink = 2 ** int(np.log2(1 / scale)) if scale < 1 else 1
    if shrink > 1:
        corners = np.asarray([[0, 0], [size_px, 0], [0, size_px], [size_px, size_px]], np.float32)
        reach = transform_points(corners, _inverse(to_crop))
        height, width = frame.shape[:2]
        x0, y0 = (max(0, int(v) - shrink) for v in reach.min(axis=0))
        x1 = min(width, int(reach[:, 0].max()) + shrink + 1)
        y1 = min(height, int(reach[:, 1].max()) + shrink + 1)
        if x0 < x1 and y0 < y1:
            part = frame[y0:y1, x0:x1]
            size_wh = (max(1, (x1 - x0) // shrink), max(1, (y1 - y0) // shrink))
            frame = np.asarray(cv2.resize(part, size_wh, interpolation=cv2.INTER_AREA), np.uint8)
            fx, fy = (x1 - x0) / size_wh[0], (y1 - y0) / size_wh[1]
            # pixel centres: full = (small + 0.5) * f - 0.5 + origin
            grow = np.asarray(
                [[fx, 0, 0.5 * fx - 0.5 + x0], [0, fy, 0.5 * fy - 0.5 + y0], [0, 0, 1]], np.float32
            )
            to_crop = (to_crop @ grow).astype(np.float32)
    warped = cv2.warpAffine(frame, to_crop, (size_px, size_px), borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(warped, np.uint8)


def _reach(mask: Mask, to_frame: Affine, frame: Frame) -> tuple[int, int, int, int]:
    """Return the rectangle of `frame` that the mask's non-zero part maps into."""
    height, width = frame.shape[:2]
    x, y, w, h = cv2.boundingRect((mask > 0).astype(np.uint8))
    if w == 0:
        return 0, 0, 0, 0
    corners = np.asarray([[x - 1, y - 1], [x + w, y - 1], [x - 1, y + h], [x + w, y + h]])
    reach = transform_points(corners.astype(np.float32), to_frame)
    left, top = np.floor(reach.min(axis=0)).astype(int)
    right, bottom = np.ceil(reach.max(axis=0)).astype(int) + 1
    return max(0, left), max(0, top), min(width, right), min(height, bottom)
