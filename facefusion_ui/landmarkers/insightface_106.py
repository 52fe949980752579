"""2d106det: 106 points of a face, of which 68 stand for iBUG 300-W's; run by insightface's class.

From insightface's coordinate regression. Weights: InsightFace, non-commercial, see CARDS.
"""

from typing import Any

import numpy as np

from facefusion_ui.arrays import Frame, Points68
from facefusion_ui.cards import Archive, Licence, ModelCard, Weights
from facefusion_ui.contracts import Network
from facefusion_ui.faces import Face
from facefusion_ui.sessions import Session

SIDE = 192
AS_68 = (
    *(1, 10, 12, 14, 16, 3, 5, 7, 0, 23, 21, 19, 32, 30, 28, 26, 17),  # jaw
    *(43, 48, 49, 51, 50, 102, 103, 104, 105, 101),  # brows
    *(72, 73, 74, 86, 78, 79, 80, 85, 84),  # nose
    *(35, 41, 42, 39, 37, 36, 89, 95, 96, 93, 91, 90),  # eyes
    *(52, 64, 63, 71, 67, 68, 61, 58, 59, 53, 56, 55, 65, 66, 62, 70, 69, 57, 60, 54),  # mouth
)
"""Which of the 106 points stands for each of the 68."""


class Insightface106:
    """Implements `contracts.Landmarker`. In: (1, 3, 192, 192), RGB 0..255; out: 106 times x, y."""

    def __init__(self, network: Network) -> None:
        from insightface.model_zoo.landmark import Landmark  # type: ignore[import-untyped]

        # Its own __init__ reads the file again, to learn what is known here.
        self._model = Landmark.__new__(Landmark)
        self._model.session = Session(network)
        (self._model.input_name,) = network.input_shapes
        self._model.output_names = list(network.output_names)
        self._model.input_size = (SIDE, SIDE)
        self._model.input_mean, self._model.input_std = 0.0, 1.0
        self._model.lmk_num, self._model.taskname = 106, "landmarks"
        self._model.require_pose = False

    def landmarks(self, frame: Frame, face: Face) -> Points68:
        described = BoxOf(face)
        self._model.get(frame, described)
        return np.asarray(described["landmarks"][list(AS_68)], np.float32)


class BoxOf(dict[str, Any]):
    """A face as insightface knows one: it asks for the box and leaves its answer there."""

    def __init__(self, face: Face) -> None:
        super().__init__()
        self.bbox = face.box


CARDS = (
    ModelCard(
        name="2d106det",
        task="face_landmarker",
        summary="106 points, of which 68 are used; small and fast; in buffalo_l, 276 MiB",
        licence=Licence(
            "InsightFace model policy: non-commercial research only (code is MIT)",
            False,
            "https://github.com/deepinsight/insightface#license",
        ),
        open=Insightface106,
        runtime="onnx",
        bytes_per_pixel=300,  # an estimate at 192 px, not measured
        weights=Weights(
            path="2d106det.onnx",
            size_bytes=5_030_888,
            sha256="f001b856447c413801ef5c42091ed0cd516fcd21f2d6b79635b1e733a7109dbf",
            urls=(
                "https://github.com/deepinsight/insightface/releases/download/v0.7/buffalo_l.zip",
            ),
            archive=Archive(
                288_621_354, "80ffe37d8a5940d59a7384c201a2a38d4741f2f3c51eef46ebb28218a7b0ca2f"
            ),
        ),
    ),
)
