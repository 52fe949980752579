"""Moving a face onto another's points: a triangle mesh over the 68 landmarks and a rim."""

import cv2
import numpy as np

from facefusion_ui.arrays import Crop, Frame, Points, Points68, fit_similarity

FOREHEAD = 0.34  # of brow to chin: how far the mesh reaches above the brows
TEMPLE = 0.10  # of the face's width: how far it reaches beyond the jaw beside the eyes
TURNED = 0.5  # distance of the eyes over brow to chin; seen from the front it is 0.57
SMOOTH = 0.09  # of the distance between the eyes: rounds the mesh's kinks, keeps the source's shape


def eyes_px(points: Points68) -> float:
    """Return the distance between the centres of the eyes, at least one pixel.

    Where the head is turned away it is taken from the face's height, which a turn does not shorten.
    """
    left, right = points[36:42].mean(axis=0), points[42:48].mean(axis=0)
    height_px = float(np.linalg.norm(points[27] - points[8]))
    return max(1.0, TURNED * height_px, float(np.linalg.norm(right - left)))


def with_rim(points: Points68) -> Points:
    """Return `points` with a rim: the forehead above the brows, the temples beside the eyes."""
    up = points[27] - points[8]
    forehead = points[17:27] + FOREHEAD * up
    across = TEMPLE * (points[16] - points[0])
    temples = np.concatenate([points[0:3] - across, points[14:17] + across])
    corners = np.stack([points[17] - across + 0.2 * up, points[26] + across + 0.2 * up])
    return np.concatenate([points, forehead, temples, corners]).astype(np.float32)


def warp(
    source: Frame, source_points: Points68, target: Points68, size_wh: tuple[int, int]
) -> Crop:
    """Return `source` with its face moved onto the `target` points of a picture of `size_wh`.

    Inside the mesh each triangle is moved on its own; outside it everything follows the best turn,
    scale and shift. A larger source is shrunk by area first, so that it does not alias.
    """
    from scipy.spatial import Delaunay  # here, so that listing models does not wait for it

    source, source_points = _fitted(source, source_points, eyes_px(target))
    width, height = size_wh
    here, there = with_rim(target), with_rim(source_points)
    triangles = Delaunay(here).simplices
    affines = np.stack(
        [cv2.getAffineTransform(here[corners], there[corners]) for corners in triangles]
        + [fit_similarity(target, source_points)]
    ).astype(np.float32)
    number = np.full((height, width), len(triangles), np.int32)
    for index, corners in enumerate(triangles):
        cv2.fillConvexPoly(number, np.rint(here[corners] * 16).astype(np.int32), index, shift=4)
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    affine = affines[number]
    place = affine[..., 0] * x[..., None] + affine[..., 1] * y[..., None] + affine[..., 2]
    place = cv2.GaussianBlur(place, (0, 0), max(0.5, SMOOTH * eyes_px(target)))
    warped = cv2.remap(
        source, place[..., 0], place[..., 1], cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE
    )
    return np.asarray(warped, np.uint8)


def _fitted(frame: Frame, points: Points68, eyes_wanted_px: float) -> tuple[Frame, Points68]:
    """Cut the face's surroundings out, and shrink them if the face is larger than wanted."""
    low, high = points.min(axis=0), points.max(axis=0)
    margin = high - low
    height, width = frame.shape[:2]
    left, top = np.maximum(0, np.floor(low - margin)).astype(int)
    right, bottom = np.minimum((width, height), np.ceil(high + margin)).astype(int)
    part = frame[top:bottom, left:right]
    points = points - np.asarray([left, top], np.float32)
    shrink = eyes_wanted_px / eyes_px(points)
    if shrink >= 1:
        return part, points
    size_wh = (max(1, round(part.shape[1] * shrink)), max(1, round(part.shape[0] * shrink)))
    factor = np.asarray([size_wh[0] / part.shape[1], size_wh[1] / part.shape[0]], np.float32)
    small = cv2.resize(part, size_wh, interpolation=cv2.INTER_AREA)
    return np.asarray(small, np.uint8), (points + 0.5) * factor - 0.5
