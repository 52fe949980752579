"""landmark_warp: the source's own pixels, moved onto the target's points and lit like the target.

No network and no download: the face is warped over a triangle mesh, toned in Lab and blended.
"""

import numpy as np

from facefusion_ui.arrays import Crop, Mask, Points68
from facefusion_ui.cards import Licence, ModelCard
from facefusion_ui.faces import AlignedFace, Portrait, Source, SwappedFace
from facefusion_ui.swappers.landmark_warp import glasses, masks, tone
from facefusion_ui.swappers.landmark_warp.mesh import eyes_px, warp

LIGHT_SIGMA = 0.4  # of the distance between the eyes; below it the nose loses its shape
COLOUR_SIGMA = 0.3  # the same for hue and saturation, which say little about who it is
EDGE_SIGMA = 0.15  # of the distance between the eyes: how far an edge's own light reaches inwards
BESIDE = 0.15  # of the face's width: room for the arms of glasses
CORE = 0.05  # of the distance between the eyes: how far round brows and mouth nothing covers a face
TURNED_CORE = 0.45  # how much less on a turned head, whose outline is near
OPENER = 0.04  # of the distance between the eyes: a mouth this much more open keeps its inside


class LandmarkWarp:
    """Implements `contracts.Swapper`."""

    def swap(self, source: Source, target: AlignedFace) -> SwappedFace:
        if target.landmarks is None:
            raise ValueError("landmark_warp needs landmarks")
        part = _part(target.landmarks, target.crop.shape[:2])
        corner = np.asarray([part[1].start, part[0].start], np.float32)
        crop, mask = target.crop.copy(), np.zeros(target.crop.shape[:2], np.float32)
        crop[part], mask[part] = self._swap(source, crop[part], target.landmarks - corner)
        return SwappedFace(crop, mask)

    def _swap(self, source: Source, old: Crop, points: Points68) -> tuple[Crop, Mask]:
        """Return `old` with the source's face, and the mask it belongs in."""
        portrait = _clearest(source)
        face = portrait.face.landmarks
        if face is None:
            raise ValueError("landmark_warp needs the source's landmarks")
        size_wh = (old.shape[1], old.shape[0])
        eyes = eyes_px(points)

        new = warp(portrait.frame, face, points, size_wh)
        whole = masks.filled(size_wh, masks.face_outline(points))
        core = masks.filled(
            size_wh, points[17:68], (CORE - TURNED_CORE * _turn(points) ** 2) * eyes
        )
        old_core = new_core = core
        arms = np.zeros_like(whole)
        if glasses.wears_glasses(portrait.frame, face):
            new_core = np.maximum(core, glasses.band(size_wh, points))
            whole = np.maximum(whole, new_core)
        elif glasses.wears_glasses(old, points):
            old, arms = glasses.without_arms(old, points)
            old_core = np.maximum(core, glasses.band(size_wh, points))

        plain = 1 - masks.features(size_wh, points, 0.08)
        middle = masks.filled(size_wh, points[17:68], -0.05 * eyes) * plain
        old_skin = masks.skin_like(tone.to_lab(old), middle)
        new_skin = masks.skin_like(tone.to_lab(new), middle)
        shown = np.minimum(
            masks.uncovered(old_skin, whole, old_core, eyes),
            masks.uncovered(new_skin, whole, new_core, eyes),
        )
        skin = shown * plain
        new = tone.match_light(new, old, skin, LIGHT_SIGMA * eyes)
        new = tone.match_colour(new, old, skin, COLOUR_SIGMA * eyes)
        mask = masks.softened(shown, masks.FEATHER * eyes)
        plainest = masks.cheeks(size_wh, points) * skin * (mask > 0.9)
        new = tone.match_grain(new, old, skin * new_skin, plainest)
        new = tone.match_edge(new, old, skin * (1 - mask), EDGE_SIGMA * eyes)
        if masks.mouth_opening(points) > masks.mouth_opening(face) + OPENER:
            inside = masks.filled(size_wh, points[60:68])
            mask = mask * (1 - masks.softened(inside, 0.04 * eyes))
        if arms.any():
            new = np.rint(old + mask[..., None] * (new.astype(np.float32) - old)).astype(np.uint8)
            mask = np.maximum(mask, arms)
        return new, mask


def _part(points: Points68, shape_hw: tuple[int, ...]) -> tuple[slice, slice]:
    """Return the rows and columns that a swap can change; the crop around them costs no time."""
    aside = BESIDE * (points[16] - points[0])
    outlines = [masks.face_outline(points), glasses.band_points(points)]
    outlines += [points + aside, points - aside]
    reach = np.concatenate(outlines)
    left, top = np.maximum(np.floor(reach.min(axis=0)).astype(int) - 2, 0)
    right, bottom = np.ceil(reach.max(axis=0)).astype(int) + 3
    return slice(top, min(bottom, shape_hw[0])), slice(left, min(right, shape_hw[1]))


def _clearest(source: Source) -> Portrait:
    """Return the portrait with the largest and most frontal face.

    It does not depend on the target: a clip that changed portraits with every turn would flicker.
    """

    def clearness(portrait: Portrait) -> float:
        points = portrait.face.landmarks
        return 0.0 if points is None else eyes_px(points) * (1 - abs(_turn(points)))

    return max(source.portraits, key=clearness)


def _turn(points: Points68) -> float:
    """Return how far the head is turned: -1 to the picture's left, 0 frontal, 1 right."""
    left, right = points[30] - points[0], points[16] - points[30]
    near, far = float(np.linalg.norm(left)), float(np.linalg.norm(right))
    return (near - far) / (near + far)


CARDS = (
    ModelCard(
        name="landmark_warp",
        task="face_swapper",
        summary="the source's own pixels on the target's points; nothing to download",
        licence=Licence("MIT", True, "https://opensource.org/license/mit"),
        open=LandmarkWarp,
        template="region",
        needs_landmarks=True,
        rank=1,
    ),
)
