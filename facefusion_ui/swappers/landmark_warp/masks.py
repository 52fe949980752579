"""Where the new face shows: inside the face, behind hair and hats, around an open mouth."""

import cv2
import numpy as np
from numpy.typing import NDArray

from facefusion_ui.arrays import Mask, Points, Points68
from facefusion_ui.swappers.landmark_warp.mesh import eyes_px

Lab = NDArray[np.float32]

FEATHER = 0.15  # of the distance between the eyes: width of the soft edge
BROW_ROOM = 0.09  # of brow to chin: how far above the brows the new face may reach
COVER = 0.05  # of the distance between the eyes: what is thinner covers nothing
ROUND = 0.06  # of the distance between the eyes: a mask's edge has no bites smaller than this
LEAST_SPREAD = (7.0, 3.0, 3.5)  # of skin in L, a, b (8-bit Lab), however even it looks
MOST_SPREAD = (12.0, 5.0, 6.0)  # however uneven it looks
SIGMA_AT_LEAST = 4.0  # pixels of the shrunk picture: finer, and its grid would show
PLAIN = ([1, 3, 48, 31], [15, 13, 54, 35], [48, 54, 10, 6])
FEATURES = (slice(17, 22), slice(22, 27), slice(36, 42), slice(42, 48), slice(48, 60))


def filled(size_wh: tuple[int, int], points: Points, grow_px: float = 0) -> Mask:
    """Return 1 inside the convex hull of `points`, grown (or, below 0, shrunk) by `grow_px`."""
    mask = np.zeros((size_wh[1], size_wh[0]), np.float32)
    hull = cv2.convexHull(np.rint(points * 16).astype(np.int32))
    cv2.fillConvexPoly(mask, hull, 1.0, shift=4)
    steps = round(abs(grow_px))
    if steps:
        cv2.polylines(mask, [hull], True, float(grow_px > 0), 2 * steps + 1, shift=4)
    return mask


def face_outline(points: Points68) -> Points:
    """Return the points whose hull is the part of a face that is replaced."""
    up = points[27] - points[8]
    return np.concatenate([points[0:17], points[17:27] + BROW_ROOM * up]).astype(np.float32)


def features(size_wh: tuple[int, int], points: Points68, grow: float) -> Mask:
    """Return 1 on brows, eyes and mouth, each grown by `grow` of the distance between the eyes."""
    masks = [filled(size_wh, points[part], grow * eyes_px(points)) for part in FEATURES]
    return np.asarray(np.maximum.reduce(masks), np.float32)


def cheeks(size_wh: tuple[int, int], points: Points68) -> Mask:
    """Return 1 on both cheeks and the chin, where skin is plainest."""
    masks = [filled(size_wh, points[part]) for part in PLAIN]
    return np.asarray(np.maximum.reduce(masks), np.float32)


def skin_like(lab: Lab, sample: Mask) -> Mask:
    """Return how much each pixel looks like the skin under `sample`: 1 like it, 0 not at all.

    Median and median deviation, so that glasses, beard and strands of hair under the sample do not
    count as skin.
    """
    chosen = lab[sample > 0.5]
    if len(chosen) < 16:
        return np.ones(sample.shape, np.float32)
    median = np.median(chosen, axis=0)
    spread = 1.4826 * np.median(np.abs(chosen - median), axis=0)
    spread = np.clip(spread, LEAST_SPREAD, MOST_SPREAD)
    distance = np.sqrt(3 * mean_of_channels(((lab - median) / spread) ** 2)[..., 0])
    return np.asarray(np.clip((5.0 - distance) / 2.0, 0, 1), np.float32)


def mean_of_channels(picture: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the mean of the three channels (h, w, 1); ten times as fast as NumPy's."""
    mean = cv2.transform(picture, np.full((1, 3), 1 / 3, np.float32))
    return np.asarray(mean, np.float32)[..., None]


def around(picture: NDArray[np.float32], weight: Mask, sigma_px: float) -> NDArray[np.float32]:
    """Return the weighted mean of `picture` (h, w, 3) around each pixel; afar, of the whole."""
    total = float(weight.sum()) + 1e-3
    mean = weight.ravel() @ picture.reshape(-1, 3) / total
    near = blurred(np.dstack([picture * weight[..., None], weight]), sigma_px)
    return np.asarray((near[..., :3] + 0.01 * mean) / (near[..., 3:] + 0.01), np.float32)


def blurred(picture: NDArray[np.float32], sigma_px: float) -> NDArray[np.float32]:
    """Return a Gaussian blur; a wide one is made on a shrunk picture, which looks the same."""
    height, width = picture.shape[:2]
    shrink = max(1, int(sigma_px / SIGMA_AT_LEAST))
    if shrink == 1:
        return np.asarray(cv2.GaussianBlur(picture, (0, 0), sigma_px), np.float32)
    size_wh = (max(1, width // shrink), max(1, height // shrink))
    small = cv2.resize(picture, size_wh, interpolation=cv2.INTER_AREA)
    small = cv2.GaussianBlur(small, (0, 0), sigma_px * size_wh[0] / width)
    return np.asarray(cv2.resize(small, (width, height)), np.float32)


def uncovered(skin: Mask, whole: Mask, core: Mask, eyes: float) -> Mask:
    """Return `whole` without what covers it from outside: hair, a hat, a hand.

    Only what is wide and reaches the edge of `whole` covers it; a wrinkle or a shadow inside does
    not, and nothing covers `core`.
    """
    size = 2 * round(COVER * eyes) + 1
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size))
    thin_too = ((skin < 0.5) & (core < 0.5)).astype(np.uint8)
    other = cv2.morphologyEx(thin_too, cv2.MORPH_OPEN, disc, borderType=cv2.BORDER_REPLICATE)
    other[whole < 0.5] = 1
    _, labels = cv2.connectedComponents(other)
    outside = labels == labels[0, 0]
    shown = np.where(outside & (core < 0.5), 0, whole).astype(np.float32)
    rounded = blurred(shown, ROUND * eyes) > 0.5
    return np.where(rounded | (core > 0.5), whole, 0).astype(np.float32)


def softened(mask: Mask, feather_px: float) -> Mask:
    """Return `mask` fading to 0 inwards over `feather_px`, so that it never leaves its area."""
    padded = np.pad((mask > 0.5).astype(np.uint8), 1)
    depth_px = cv2.distanceTransform(padded, cv2.DIST_L2, 5)[1:-1, 1:-1]
    t = np.clip(depth_px / max(1.0, feather_px), 0, 1)
    return np.asarray(t * t * (3 - 2 * t), np.float32)


def mouth_opening(points: Points68) -> float:
    """Return the gap between the lips, as a share of the distance between the eyes."""
    return float(np.linalg.norm(points[62] - points[66])) / eyes_px(points)
