"""How the settings cut a face for a model, and where its result may change the frame."""

import numpy as np

from facefusion_ui.arrays import Frame, Mask
from facefusion_ui.cards import ModelCard
from facefusion_ui.faces import AlignedFace, Face
from facefusion_ui.settings import Settings
from facefusion_ui.steps.align import align
from facefusion_ui.steps.mask import area_mask, box_mask, cover_mask


def cut(
    frame: Frame, face: Face, model: ModelCard, settings: Settings, factor: int = 1
) -> AlignedFace:
    """Cut `face` out as `model` wants it, `factor` times as large."""
    size_px = model.size_px * factor
    if model.template == "region":
        size_px = settings.target_face_size or 0
    return align(frame, face, model.template, size_px)


def change_mask(target: AlignedFace, face: Face, settings: Settings) -> Mask:
    """Return where in `target`'s crop the frame may change."""
    size_wh = (target.crop.shape[1], target.crop.shape[0])
    mask = np.ones(target.crop.shape[:2], np.float32)
    if "box" in settings.face_mask_types:
        mask = box_mask(size_wh, settings.face_mask_blur, settings.face_mask_padding)
    if "area" in settings.face_mask_types and target.landmarks is not None:
        mask = np.minimum(mask, area_mask(size_wh, target.landmarks))
    if face.cover:
        mask = np.minimum(mask, cover_mask(face.cover, size_wh, target.to_crop))
    return mask
