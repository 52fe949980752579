"""What is known of the faces in a frame, asked for step by step: only what is needed is run."""

from collections.abc import Sequence
from dataclasses import replace

from facefusion_ui.arrays import Frame
from facefusion_ui.cards import ModelCard
from facefusion_ui.faces import Face
from facefusion_ui.processor.plan import network_pixels
from facefusion_ui.processor.record import Record
from facefusion_ui.registry.catalog import card
from facefusion_ui.settings import Settings
from facefusion_ui.steps.align import align
from facefusion_ui.steps.choose import half_distance, order_faces
from facefusion_ui.steps.detect import find_faces


class Analyser:
    """Finds faces and describes them with the models that `settings` name."""

    def __init__(self, settings: Settings, record: Record) -> None:
        self._settings = settings
        self._record = record
        self.detector = card(settings.face_detector_model, "face_detector")
        self.landmarker = card(settings.face_landmarker_model, "face_landmarker")
        self.recognizer = card(settings.face_recognizer_model, "face_recognizer")

    def find(self, frame: Frame) -> list[Face]:
        """Return the faces of `frame`, in the order the settings ask for."""
        settings, descent = self._settings, self._record.descent

        def detect(picture: Frame) -> list[Face]:
            size_wh = (picture.shape[1], picture.shape[0])
            size_px = min(settings.face_detector_size, max(size_wh))
            faces: list[Face] = self._record.run(
                self.detector,
                lambda detector: detector.detect(
                    picture,
                    size_px=size_px // descent.rung(self.detector).shrink,
                    score=settings.face_detector_score,
                ),
                pixels=network_pixels(self.detector, settings, size_wh),
            )
            return faces

        faces = find_faces(frame, detect, settings.face_detector_angles)
        return order_faces(faces, settings.face_selector_order)

    def with_landmarks(self, frame: Frame, face: Face) -> Face:
        """Return `face` with its 68 landmarks."""
        if face.landmarks is not None:
            return face
        points = self._record.run(self.landmarker, lambda model: model.landmarks(frame, face))
        return replace(face, landmarks=points)

    def with_embedding(self, frame: Frame, face: Face, recognizer: ModelCard) -> Face:
        """Return `face` with its embedding (and its landmarks, if the recogniser needs them)."""
        if face.embedding is not None:
            return face
        if recognizer.wants_landmarks:
            face = self.with_landmarks(frame, face)
        cut = align(frame, face, recognizer.template, recognizer.size_px)
        embedding = self._record.run(recognizer, lambda model: model.embed(cut))
        return replace(face, embedding=embedding)

    def described(
        self,
        frames: Sequence[Frame],
        faces: Sequence[Face],
        recognizer: ModelCard | None,
        *,
        landmarks: bool = False,
    ) -> list[Face]:
        """Return `faces`, one of each of `frames`, with what is wanted of them.

        Args:
            recognizer: whose embeddings are wanted; None: none.
        """
        pairs = list(zip(frames, faces, strict=True))
        if landmarks or (recognizer and recognizer.wants_landmarks):
            pairs = [(frame, self.with_landmarks(frame, face)) for frame, face in pairs]
            self._record.end_stage(self.landmarker)
        if recognizer:
            pairs = [(frame, self.with_embedding(frame, face, recognizer)) for frame, face in pairs]
            self._record.end_stage(recognizer)
        return [face for _, face in pairs]

    def distance(self, a: Face, b: Face) -> float:
        """Return how unlike two faces with embeddings are, on `reference_face_distance`'s scale."""
        if a.embedding is None or b.embedding is None:
            raise ValueError("both faces need an embedding")
        return half_distance(a.embedding, b.embedding, self.recognizer.metric)
