"""SFace: 128 numbers that say who a face is; commercial use is allowed.

Follows: Zhong et al., "SFace: Sigmoid-Constrained Hypersphere Loss for Robust Face Recognition"
(arXiv:2205.12010). Weights: OpenCV Zoo, Apache-2.0. Fed as OpenCV's FaceRecognizerSF feeds it.
"""

import cv2
import numpy as np

from facefusion_ui.arrays import Embedding
from facefusion_ui.cards import Licence, ModelCard, Weights
from facefusion_ui.contracts import Network
from facefusion_ui.faces import AlignedFace

SIDE = 112


class Sface:
    """Implements `contracts.Recognizer`. In: (1, 3, 112, 112), RGB 0..255; out: (1, 128)."""

    def __init__(self, network: Network) -> None:
        self._network = network
        (self._input,) = network.input_shapes

    def embed(self, face: AlignedFace) -> Embedding:
        blob = np.asarray(cv2.dnn.blobFromImage(face.crop, swapRB=True), np.float32)
        return self._network({self._input: blob})[0].ravel()


CARDS = (
    ModelCard(
        name="sface",
        task="face_recognizer",
        summary="small, and free for commercial use",
        licence=Licence("Apache-2.0", True, "https://github.com/opencv/opencv_zoo"),
        open=Sface,
        runtime="onnx",
        template="arcface_112_v2",
        size_px=SIDE,
        bytes_per_pixel=600,  # an estimate: that of arcface
        weights=Weights(
            path="face_recognition_sface_2021dec.onnx",
            size_bytes=38_696_353,
            sha256="0ba9fbfa01b5270c96627c4ef784da859931e02f04419c829e83484087c34e79",
            urls=(
                "https://media.githubusercontent.com/media/opencv/opencv_zoo/main/models/face_recognition_sface/face_recognition_sface_2021dec.onnx",
            ),
        ),
    ),
)
