"""One frame, the whole recipe: find, choose, cut, swap, mask, paste, enhance."""

import cv2
import numpy as np

from facefusion_ui.arrays import Frame, Mask
from facefusion_ui.cards import ModelCard
from facefusion_ui.faces import AlignedFace, Face, Source, SwappedFace
from facefusion_ui.processor.analyser import Analyser
from facefusion_ui.processor.record import Record
from facefusion_ui.registry.catalog import card
from facefusion_ui.registry.ladder import LeftOut
from facefusion_ui.settings import Processor, Settings
from facefusion_ui.steps.align import align, paste
from facefusion_ui.steps.mask import area_mask, box_mask
from facefusion_ui.steps.track import Steadier


class Recipe:
    """Applies the chosen processors to frames that follow one another."""

    def __init__(self, settings: Settings, record: Record) -> None:
        self._settings = settings
        self._record = record
        self.analyser = Analyser(settings, record)
        self._steadier = Steadier()
        self._last: tuple[Frame, Frame, int] | None = None  # in, out, faces: for frames that repeat
        self.swapper = self._card_of("face_swapper")
        self._enhancer = self._card_of("face_enhancer")
        self._upscaler = self._card_of("frame_enhancer")

    @property
    def scale(self) -> int:
        """How much larger than the input the output frame is."""
        return self._upscaler.scale if self._upscaler else 1

    @property
    def works_on_faces(self) -> bool:
        """Whether a frame without a face is left as it is."""
        return bool(self.swapper or self._enhancer)

    def apply(self, frame: Frame, source: Source | None, reference: Face | None) -> Frame:
        """Return `frame` with the chosen faces swapped and enhanced; counts it in the record.

        Args:
            frame: (H, W, 3) uint8, BGR. Not modified.
            source: the person to put there; None only without a swapper.
            reference: the person to replace, with embedding; None unless the mode is "reference".

        Returns:
            (H * scale, W * scale, 3) uint8, BGR.
        """
        if self._last and np.array_equal(frame, self._last[0]):
            _, out, count = self._last
        else:
            out, count = self._apply(frame, source, reference)
            self._last = (frame, out, count)
        self._record.count_frame(count)
        return out

    def _apply(
        self, frame: Frame, source: Source | None, reference: Face | None
    ) -> tuple[Frame, int]:
        chosen = self._choose(frame, reference) if self.works_on_faces else []
        faces = self._steadier.steady([self._prepared(frame, face) for face in chosen])
        for face in faces:
            if self.swapper and source:
                frame = self._swap(frame, face, source, self.swapper)
            if self._enhancer:
                frame = self._enhance(frame, face, self._enhancer)
        if self._upscaler:
            frame = self._upscale(frame, self._upscaler)
        return frame, len(faces)

    def _choose(self, frame: Frame, reference: Face | None) -> list[Face]:
        faces = self.analyser.find(frame)
        if self._settings.face_selector_mode == "one":
            return faces[:1]
        if self._settings.face_selector_mode == "many" or reference is None:
            return faces
        known = [self.analyser.with_embedding(frame, face) for face in faces]
        limit = self._settings.reference_face_distance
        return [face for face in known if self.analyser.distance(face, reference) <= limit]

    def _prepared(self, frame: Frame, face: Face) -> Face:
        cards = [used for used in (self.swapper, self._enhancer) if used]
        needs = {need for used in cards for need in used.needs}
        if "embedding" in needs:
            face = self.analyser.with_embedding(frame, face)
        region = any(used.template == "region" for used in cards)
        if "landmarks" in needs or region or "area" in self._settings.face_mask_types:
            face = self.analyser.with_landmarks(frame, face)
        return face

    def _swap(self, frame: Frame, face: Face, source: Source, swapper: ModelCard) -> Frame:
        target = align(frame, face, swapper.template, swapper.size_px)
        swapped: SwappedFace = self._record.run(swapper, lambda model: model.swap(source, target))
        with self._record.stage("paste"):
            mask = self._mask(target)
            if swapped.mask is not None:
                mask = np.minimum(mask, swapped.mask)
            return paste(frame, swapped.crop, mask, target.to_crop)

    def _enhance(self, frame: Frame, face: Face, enhancer: ModelCard) -> Frame:
        target = align(frame, face, enhancer.template, enhancer.size_px)
        try:
            crop = self._record.run(enhancer, lambda model: model.enhance(target))
        except LeftOut:
            return frame
        with self._record.stage("paste"):
            mask = self._mask(target) * (self._settings.face_enhancer_blend / 100)
            return paste(frame, crop, mask.astype(np.float32), target.to_crop)

    def _upscale(self, frame: Frame, upscaler: ModelCard) -> Frame:
        size_wh = (frame.shape[1] * upscaler.scale, frame.shape[0] * upscaler.scale)
        plain = np.asarray(cv2.resize(frame, size_wh, interpolation=cv2.INTER_CUBIC), np.uint8)
        try:
            large = self._record.run(upscaler, lambda model: model.upscale(frame))
        except LeftOut:
            return plain
        share = self._settings.frame_enhancer_blend / 100
        return np.asarray(cv2.addWeighted(large, share, plain, 1 - share, 0), np.uint8)

    def _mask(self, target: AlignedFace) -> Mask:
        settings = self._settings
        size_wh = (target.crop.shape[1], target.crop.shape[0])
        mask = np.ones(target.crop.shape[:2], np.float32)
        if "box" in settings.face_mask_types:
            mask = box_mask(size_wh, settings.face_mask_blur, settings.face_mask_padding)
        if "area" in settings.face_mask_types and target.landmarks is not None:
            mask = np.minimum(mask, area_mask(size_wh, target.landmarks))
        return mask

    def _card_of(self, processor: Processor) -> ModelCard | None:
        if processor not in self._settings.processors:
            return None
        return card(getattr(self._settings, f"{processor}_model"), processor)
