"""dlib's ResNet: 128 numbers that say who a face is; the same person is nearer than about 0.6.

Follows: dlib, python_examples/face_recognition.py (150 px chips from 68 landmarks). Weights: public
domain (CC0), carried by face-recognition-models.
"""

from pathlib import Path

import cv2
import numpy as np

from facefusion_ui.arrays import Embedding
from facefusion_ui.cards import Licence, ModelCard, Weights
from facefusion_ui.faces import AlignedFace


class DlibResnet:
    """Implements `contracts.Recognizer`."""

    def __init__(self, weights_path: Path) -> None:
        import dlib

        self._dlib = dlib
        self._network = dlib.face_recognition_model_v1(str(weights_path))

    def embed(self, face: AlignedFace) -> Embedding:
        if face.landmarks is None:
            raise ValueError("dlib_resnet needs landmarks")
        points = [self._dlib.point(round(float(x)), round(float(y))) for x, y in face.landmarks]
        height, width = face.crop.shape[:2]
        shape = self._dlib.full_object_detection(
            self._dlib.rectangle(0, 0, width, height), self._dlib.points(points)
        )
        rgb = cv2.cvtColor(face.crop, cv2.COLOR_BGR2RGB)
        return np.asarray(self._network.compute_face_descriptor(rgb, shape), np.float32)


CARDS = (
    ModelCard(
        name="dlib_resnet",
        task="face_recognizer",
        summary="tells people apart, nothing to download",
        licence=Licence("CC0 1.0", True, "https://github.com/davisking/dlib-models"),
        open=DlibResnet,
        runtime="file",
        weights=Weights(
            package="face_recognition_models",
            path="models/dlib_face_recognition_resnet_model_v1.dat",
            size_bytes=22_466_066,
            sha256="55533b28a95800a551ba546ba62fe69625c7e95a7061c338adffead08719da30",
        ),
        needs_landmarks=True,
        metric="euclidean",
    ),
)
