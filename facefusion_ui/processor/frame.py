"""The whole recipe: find, describe, choose, steady, swap, enhance, upscale.

The stages are passed by a chunk of frames at a time; a chunk of one is the usual way.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import cv2
import numpy as np

from facefusion_ui.arrays import Crop, Frame, Mask
from facefusion_ui.cards import ModelCard
from facefusion_ui.errors import BrokenOutputError
from facefusion_ui.faces import Cover, Face, Source, SwappedFace
from facefusion_ui.processor.analyser import Analyser
from facefusion_ui.processor.choice import boost_factor, chosen_card
from facefusion_ui.processor.chunks import Chunk, Shot, Stage, packed, unpacked
from facefusion_ui.processor.cutting import change_mask, cut
from facefusion_ui.processor.plan import Work, network_pixels
from facefusion_ui.processor.record import Record
from facefusion_ui.processor.source import blended
from facefusion_ui.registry.catalog import card
from facefusion_ui.registry.ladder import LeftOut
from facefusion_ui.settings import FrameFormat, Settings
from facefusion_ui.steps.align import paste
from facefusion_ui.steps.boost import boosted
from facefusion_ui.steps.mask import cover_mask
from facefusion_ui.steps.tile import in_tiles
from facefusion_ui.steps.track import Steadier

WEIGHTS, KEPT = (0.0, 1.0), (0.35, -0.35)  # share of the target's identity by the swapper's weight


class Recipe:
    """Applies the chosen processors to frames that follow one another.

    Attributes:
        source: the person to put there; None only without a swapper.
        reference: the person to replace, with embedding; None unless the mode is "reference".
    """

    def __init__(self, settings: Settings, record: Record, *, half: bool = False) -> None:
        """Choose the models; `half` takes them in half precision where there are such."""
        self._settings = settings
        self._record = record
        self.analyser = Analyser(settings, record)
        self.source: Source | None = None
        self.reference: Face | None = None
        self._steadier = Steadier()
        self._last: tuple[Frame, Frame, int] | None = None  # in, out, faces: for frames that repeat
        self.swapper = chosen_card("face_swapper", settings, record, half=half)
        self._factor = boost_factor(settings, self.swapper) if self.swapper else 1
        self._enhancer = chosen_card("face_enhancer", settings, record, half=half)
        self._upscaler = chosen_card("frame_enhancer", settings, record, half=half)
        self._stages = self._make_stages()

    @property
    def scale(self) -> int:
        """How much larger than the input the output frame is."""
        return self._upscaler.scale if self._upscaler else 1

    @property
    def works_on_faces(self) -> bool:
        """Whether a frame without a face is left as it is."""
        return bool(self.swapper or self._enhancer)

    def works(self, size_wh: tuple[int, int]) -> list[Work]:
        """Return the models that frames of `size_wh` pass, in order."""
        models = [stage.model for stage in self._stages if stage.model]
        return [Work(model, network_pixels(model, self._settings, size_wh)) for model in models]

    def models(self) -> list[ModelCard]:
        """Return the models of the job, those that only describe the source included."""
        found = [stage.model for stage in self._stages if stage.model]
        if self.swapper and self.swapper.recognizer:
            found.append(card(self.swapper.recognizer, "face_recognizer"))
        if self.swapper and self.swapper.converter:
            found.append(card(self.swapper.converter, "identity_converter"))
        return found

    def take(self, frames: Iterable[Frame], pack: FrameFormat = "bmp") -> Chunk:
        """Take the next frames of the clip in hand.

        Args:
            frames: (H, W, 3) uint8, BGR. Not modified.
            pack: how they wait between the stages.
        """
        chunk = Chunk(pack)
        before = self._last[0] if self._last else None
        for number, frame in enumerate(frames, start=self._record.frames):
            chunk.repeats.append(before is not None and np.array_equal(frame, before))
            if not chunk.repeats[-1]:
                chunk.shots.append(Shot(number, packed(frame, pack), []))
            before = frame
        chunk.last = before
        return chunk

    def work(self, chunk: Chunk) -> Iterator[float]:
        """Pass `chunk` through all stages; yield the share done after each frame of each stage."""
        done, total = 0, max(1, len(self._stages) * len(chunk.shots))
        for stage in self._stages:
            for shot in chunk.shots:
                frame = unpacked(shot.kept)
                result, shot.faces = stage.step(shot.index, frame, shot.faces)
                if result is not frame:
                    shot.kept = packed(result, chunk.pack)
                done += 1
                yield done / total
            if stage.model:
                self._record.end_stage(stage.model)

    def finish(self, chunk: Chunk) -> Iterator[Frame]:
        """Yield the frames of a chunk whose work is done, each counted in the record as it comes.

        Yields:
            (H * scale, W * scale, 3) uint8, BGR.
        """
        shots = iter(chunk.shots)
        out, faces = self._last[1:] if self._last else (None, 0)
        for repeat in chunk.repeats:
            if not repeat:
                shot = next(shots)
                out, faces = unpacked(shot.kept), len(shot.faces)
            assert out is not None
            self._record.count_frame(faces)
            yield out
        if chunk.last is not None and out is not None:
            self._last = (chunk.last, out, faces)

    def _make_stages(self) -> list[Stage]:
        stages: list[Stage] = []
        if self.works_on_faces:
            stages.append(Stage(self.analyser.detector, self._find))
            stages += self._describing()
            stages.append(Stage(None, self._steady))
            stages += self._covering()
        if self.swapper:
            stages += self._blending(self.swapper)
            stages.append(Stage(self.swapper, self._swap))
        if self._enhancer:
            stages.append(Stage(self._enhancer, self._enhance))
        if self._upscaler:
            stages.append(Stage(self._upscaler, self._upscale))
        return stages

    def _describing(self) -> list[Stage]:
        """Return the stages for what must be known of a face; nothing else is asked for."""
        used = [model for model in (self.swapper, self._enhancer) if model]
        area = "area" in self._settings.face_mask_types
        landmarks = area or any(model.wants_landmarks for model in used)
        marking = Stage(self.analyser.landmarker, self._mark)
        naming = Stage(self.analyser.recognizer, self._name)
        if self._settings.face_selector_mode != "reference":
            return [marking] if landmarks else []
        if self.analyser.recognizer.wants_landmarks:
            return [marking, naming]
        return [naming, marking] if landmarks else [naming]

    def _covering(self) -> list[Stage]:
        """Return the stages in which models say where a face may change."""
        settings = self._settings
        stages = []
        if "occlusion" in settings.face_mask_types:
            occluder = card(settings.face_occluder_model, "face_occluder")
            stages.append(self._cover(occluder, lambda model, crop: model.mask(crop)))
        if "region" in settings.face_mask_types:
            parser = card(settings.face_parser_model, "face_parser")
            regions = settings.face_mask_regions
            stages.append(self._cover(parser, lambda model, crop: model.mask(crop, regions)))
        return stages

    def _cover(self, masker: ModelCard, mask: Callable[[Any, Crop], Mask]) -> Stage:
        def cover(frame: Frame, face: Face) -> Face:
            target = cut(frame, face, masker, self._settings)
            seen = self._record.run(masker, lambda model: mask(model, target.crop))
            if face.cover:
                size_wh = (seen.shape[1], seen.shape[0])
                seen = np.minimum(seen, cover_mask(face.cover, size_wh, target.to_crop))
            return replace(face, cover=Cover(np.rint(seen * 255).astype(np.uint8), target.to_crop))

        return Stage(masker, _on_each(cover))

    def _blending(self, swapper: ModelCard) -> list[Stage]:
        """Return the stages in which the target's identity is weighed against the source's."""
        keeps = float(np.interp(self._settings.face_swapper_weight, WEIGHTS, KEPT))
        if not keeps or not swapper.recognizer:
            return []
        recognizer = card(swapper.recognizer, "face_recognizer")

        def blend(frame: Frame, face: Face) -> Face:
            assert self.source
            assert self.source.raw is not None
            own = self.analyser.with_embedding(frame, replace(face, embedding=None), recognizer)
            assert own.embedding is not None
            return replace(face, identity=blended(self.source.raw, own.embedding, keeps))

        stages = [Stage(recognizer, _on_each(blend))]
        if swapper.converter:
            converter = card(swapper.converter, "identity_converter")

            def convert(frame: Frame, face: Face) -> Face:
                identity = self._record.run(converter, lambda model: model.convert(face.identity))
                return replace(face, identity=identity)

            stages.append(Stage(converter, _on_each(convert)))
        return stages

    def _find(self, index: int, frame: Frame, faces: list[Face]) -> tuple[Frame, list[Face]]:
        faces = self.analyser.find(frame)
        return frame, faces[:1] if self._settings.face_selector_mode == "one" else faces

    def _mark(self, index: int, frame: Frame, faces: list[Face]) -> tuple[Frame, list[Face]]:
        return frame, [self.analyser.with_landmarks(frame, face) for face in faces]

    def _name(self, index: int, frame: Frame, faces: list[Face]) -> tuple[Frame, list[Face]]:
        """Add embeddings; with a reference, keep the faces that are like it."""
        recognizer = self.analyser.recognizer
        faces = [self.analyser.with_embedding(frame, face, recognizer) for face in faces]
        if self._settings.face_selector_mode != "reference" or self.reference is None:
            return frame, faces
        limit, reference = self._settings.reference_face_distance, self.reference
        return frame, [f for f in faces if self.analyser.distance(f, reference) <= limit]

    def _steady(self, index: int, frame: Frame, faces: list[Face]) -> tuple[Frame, list[Face]]:
        return frame, self._steadier.steady(faces)

    def _swap(self, index: int, frame: Frame, faces: list[Face]) -> tuple[Frame, list[Face]]:
        if self.swapper and self.source:
            for face in faces:
                frame = self._swap_one(frame, face, self.source, self.swapper)
        return frame, faces

    def _swap_one(self, frame: Frame, face: Face, source: Source, swapper: ModelCard) -> Frame:
        factor = self._factor
        target = cut(frame, face, swapper, self._settings, factor)
        if face.identity is not None:
            source = replace(source, embedding=face.identity)
        try:
            swapped: SwappedFace = self._record.run(
                swapper,
                lambda model: boosted(target, factor, lambda part: model.swap(source, part)),
            )
        except BrokenOutputError as error:
            self._record.broken(swapper, error, "the face stays as it was")
            return frame
        with self._record.stage("paste"):
            mask = change_mask(target, face, self._settings)
            if swapped.mask is not None:
                mask = np.minimum(mask, swapped.mask)
            return paste(frame, swapped.crop, mask, target.to_crop)

    def _enhance(self, index: int, frame: Frame, faces: list[Face]) -> tuple[Frame, list[Face]]:
        if self._enhancer and self._is_enhanced(index):
            for face in faces:
                frame = self._enhance_one(frame, face, self._enhancer)
        return frame, faces

    def _enhance_one(self, frame: Frame, face: Face, enhancer: ModelCard) -> Frame:
        settings = self._settings
        target, weight = cut(frame, face, enhancer, settings), settings.face_enhancer_weight
        try:
            crop = self._record.run(enhancer, lambda model: model.enhance(target, weight=weight))
        except LeftOut:
            return frame
        except BrokenOutputError as error:
            self._record.broken(enhancer, error, "the face stays as it was")
            return frame
        with self._record.stage("paste"):
            mask = change_mask(target, face, settings) * (settings.face_enhancer_blend / 100)
            return paste(frame, crop, mask.astype(np.float32), target.to_crop)

    def _upscale(self, index: int, frame: Frame, faces: list[Face]) -> tuple[Frame, list[Face]]:
        upscaler = self._upscaler
        assert upscaler
        size_wh = (frame.shape[1] * upscaler.scale, frame.shape[0] * upscaler.scale)
        plain = np.asarray(cv2.resize(frame, size_wh, interpolation=cv2.INTER_CUBIC), np.uint8)
        if not self._is_enhanced(index):
            return plain, faces
        descent = self._record.descent
        try:
            large = self._record.run(
                upscaler,
                lambda model: in_tiles(
                    frame, descent.rung(upscaler).tile_px, upscaler.halo_px or 0, model.upscale
                ),
                pixels=frame.shape[0] * frame.shape[1],
            )
        except LeftOut:
            return plain, faces
        except BrokenOutputError as error:
            self._record.broken(upscaler, error, "the frame is only made larger")
            return plain, faces
        share = self._settings.frame_enhancer_blend / 100
        return np.asarray(cv2.addWeighted(large, share, plain, 1 - share, 0), np.uint8), faces

    def _is_enhanced(self, index: int) -> bool:
        """Tell whether the enhancers work on that frame of the output."""
        ranges = [map(int, marked.split("-")) for marked in self._settings.enhance_ranges]
        number = index + (self._settings.trim_frame_start or 0)
        marked = not ranges or any(first <= number <= last for first, last in ranges)
        return marked and index % self._settings.enhance_every == 0


def _on_each(step: Callable[[Frame, Face], Face]) -> Callable[..., tuple[Frame, list[Face]]]:
    """Return the step of a stage that adds something to each face."""

    def each(index: int, frame: Frame, faces: list[Face]) -> tuple[Frame, list[Face]]:
        return frame, [step(frame, face) for face in faces]

    return each
