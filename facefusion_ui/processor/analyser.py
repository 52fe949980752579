"""What is known of the faces in a frame, asked for step by step: only what is needed is run."""

from collections.abc import Sequence
from dataclasses import replace

from facefusion_ui.arrays import Frame
from facefusion_ui.cards import Need
from facefusion_ui.faces import Face
from facefusion_ui.processor.plan import network_pixels
from facefusion_ui.processor.record import Record
from facefusion_ui.registry.catalog import card
from facefusion_ui.settings import Settings
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
            faces: list[Face] = self._record.run(
                self.detector,
                lambda detector: detector.detect(
                    picture,
                    size_px=settings.face_detector_size // descent.rung(self.detector).shrink,
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

    def with_embedding(self, frame: Frame, face: Face) -> Face:
        """Return `face` with its embedding (and its landmarks, if the recogniser needs them)."""
        if face.embedding is not None:
            return face
        if "landmarks" in self.recognizer.needs:
            face = self.with_landmarks(frame, face)
        embedding = self._record.run(self.recognizer, lambda model: model.embed(frame, face))
        return replace(face, embedding=embedding)

    def described(
        self, frames: Sequence[Frame], faces: Sequence[Face], needs: frozenset[Need]
    ) -> list[Face]:
        """Return `faces`, one of each of `frames`, with what is needed of them."""
        described = list(faces)
        with_landmarks = "landmarks" in needs or (
            "embedding" in needs and "landmarks" in self.recognizer.needs
        )
        for wanted, describe, model in (
            (with_landmarks, self.with_landmarks, self.landmarker),
            ("embedding" in needs, self.with_embedding, self.recognizer),
        ):
            if wanted:
                described = [describe(*pair) for pair in zip(frames, described, strict=True)]
                self._record.end_stage(model)
        return described

    def distance(self, a: Face, b: Face) -> float:
        """Return how unlike two faces with embeddings are, on `reference_face_distance`'s scale."""
        if a.embedding is None or b.embedding is None:
            raise ValueError("both faces need an embedding")
        return half_distance(a.embedding, b.embedding, self.recognizer.metric)
