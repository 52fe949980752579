"""The whole recipe: find, describe, choose, steady, swap, enhance, upscale.

The stages are passed by a chunk of frames at a time; a chunk of one is the usual way.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import cv2
import numpy as np
from numpy.typing import NDArray

from facefusion_ui.arrays import Frame, Mask
from facefusion_ui.cards import ModelCard
from facefusion_ui.errors import BrokenOutputError
from facefusion_ui.faces import AlignedFace, Face, Source, SwappedFace
from facefusion_ui.processor.analyser import Analyser
from facefusion_ui.processor.plan import Work, network_pixels
from facefusion_ui.processor.record import Record
from facefusion_ui.registry.catalog import card
from facefusion_ui.registry.ladder import LeftOut
from facefusion_ui.settings import FrameFormat, Processor, Settings
from facefusion_ui.steps.align import align, paste
from facefusion_ui.steps.mask import area_mask, box_mask
from facefusion_ui.steps.tile import in_tiles
from facefusion_ui.steps.track import Steadier

JPEG_QUALITY = 95  # of frames that wait for the next stage


@dataclass
class Shot:
    """A frame on its way: `kept` is the picture, packed while it waits."""

    index: int
    kept: NDArray[np.uint8]
    faces: list[Face]


@dataclass
class Chunk:
    """Frames in hand. `repeats`: which of them are the frame before; `last`: the last one given."""

    pack: FrameFormat
    shots: list[Shot] = field(default_factory=list)
    repeats: list[bool] = field(default_factory=list)
    last: Frame | None = None


@dataclass(frozen=True)
class Stage:
    """A step that every frame passes: `model` is what it runs, if any."""

    model: ModelCard | None
    step: Callable[[int, Frame, list[Face]], tuple[Frame, list[Face]]]


class Recipe:
    """Applies the chosen processors to frames that follow one another.

    Attributes:
        source: the person to put there; None only without a swapper.
        reference: the person to replace, with embedding; None unless the mode is "reference".
    """

    def __init__(self, settings: Settings, record: Record, *, half: bool = False) -> None:
        """Choose the models; `half` takes them in half precision where there are such."""
        self._half = half
        self._settings = settings
        self._record = record
        self.analyser = Analyser(settings, record)
        self.source: Source | None = None
        self.reference: Face | None = None
        self._steadier = Steadier()
        self._last: tuple[Frame, Frame, int] | None = None  # in, out, faces: for frames that repeat
        self.swapper = self._card_of("face_swapper")
        self._enhancer = self._card_of("face_enhancer")
        self._upscaler = self._card_of("frame_enhancer")
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
        if self.swapper:
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
        target = self._cut(frame, face, swapper)
        try:
            swapped: SwappedFace = self._record.run(
                swapper, lambda model: model.swap(source, target)
            )
        except BrokenOutputError as error:
            self._record.broken(swapper, error, "the face stays as it was")
            return frame
        with self._record.stage("paste"):
            mask = self._mask(target)
            if swapped.mask is not None:
                mask = np.minimum(mask, swapped.mask)
            return paste(frame, swapped.crop, mask, target.to_crop)

    def _enhance(self, index: int, frame: Frame, faces: list[Face]) -> tuple[Frame, list[Face]]:
        if self._enhancer and index % self._settings.enhance_every == 0:
            for face in faces:
                frame = self._enhance_one(frame, face, self._enhancer)
        return frame, faces

    def _enhance_one(self, frame: Frame, face: Face, enhancer: ModelCard) -> Frame:
        target = self._cut(frame, face, enhancer)
        try:
            crop = self._record.run(enhancer, lambda model: model.enhance(target))
        except LeftOut:
            return frame
        except BrokenOutputError as error:
            self._record.broken(enhancer, error, "the face stays as it was")
            return frame
        with self._record.stage("paste"):
            mask = self._mask(target) * (self._settings.face_enhancer_blend / 100)
            return paste(frame, crop, mask.astype(np.float32), target.to_crop)

    def _upscale(self, index: int, frame: Frame, faces: list[Face]) -> tuple[Frame, list[Face]]:
        upscaler = self._upscaler
        assert upscaler
        size_wh = (frame.shape[1] * upscaler.scale, frame.shape[0] * upscaler.scale)
        plain = np.asarray(cv2.resize(frame, size_wh, interpolation=cv2.INTER_CUBIC), np.uint8)
        if index % self._settings.enhance_every:
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

    def _cut(self, frame: Frame, face: Face, model: ModelCard) -> AlignedFace:
        size_px = model.size_px
        if model.template == "region":
            size_px = self._settings.target_face_size or 0
        return align(frame, face, model.template, size_px)

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
        chosen = card(getattr(self._settings, f"{processor}_model"), processor)
        return card(chosen.half, processor) if self._half and chosen.half else chosen


def packed(frame: Frame, how: FrameFormat) -> NDArray[np.uint8]:
    """Return `frame` as it waits: itself, or a file's bytes in a row."""
    if how == "bmp":
        return frame
    options = [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY] if how == "jpg" else []
    _, coded = cv2.imencode(f".{how}", frame, options)
    return np.asarray(coded, np.uint8).ravel()


def unpacked(kept: NDArray[np.uint8]) -> Frame:
    """Return the frame that `packed` was given."""
    if kept.ndim == 3:
        return kept
    return np.asarray(cv2.imdecode(kept, cv2.IMREAD_COLOR), np.uint8)
