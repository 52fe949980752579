"""ArcFace: 512 numbers that say who a face is; run by insightface's own class.

Follows: Deng et al., "ArcFace: Additive Angular Margin Loss for Deep Face Recognition"
(arXiv:1801.07698). Weights: InsightFace, non-commercial, see CARDS.
"""

import numpy as np

from facefusion_ui.arrays import Embedding
from facefusion_ui.cards import Archive, Licence, ModelCard, Weights
from facefusion_ui.contracts import Network
from facefusion_ui.faces import AlignedFace
from facefusion_ui.sessions import Session

SIZE_PX = 112
MIDDLE = 127.5  # colours go in as -1..1


class Arcface:
    """Implements `contracts.Recognizer`."""

    def __init__(self, network: Network) -> None:
        from insightface.model_zoo.arcface_onnx import ArcFaceONNX  # type: ignore[import-untyped]

        # Its own __init__ reads the file again, to learn what is known here.
        self._model = ArcFaceONNX.__new__(ArcFaceONNX)
        self._model.session = Session(network)
        (self._model.input_name,) = network.input_shapes
        self._model.output_names = list(network.output_names)
        self._model.input_size = (SIZE_PX, SIZE_PX)
        self._model.input_mean = self._model.input_std = MIDDLE

    def embed(self, face: AlignedFace) -> Embedding:
        return np.asarray(self._model.get_feat(face.crop), np.float32).ravel()


LICENCE = Licence(
    "InsightFace model policy: non-commercial research only (code is MIT)",
    False,
    "https://github.com/deepinsight/insightface#license",
)
PACKS = "https://github.com/deepinsight/insightface/releases/download/v0.7/"

CARDS = (
    ModelCard(
        name="arcface",
        task="face_recognizer",
        summary="what most swappers know a person by; in buffalo_l, 276 MiB",
        licence=LICENCE,
        open=Arcface,
        runtime="onnx",
        template="arcface_112_v2",
        size_px=SIZE_PX,
        bytes_per_pixel=586.4,
        weights=Weights(
            path="w600k_r50.onnx",
            size_bytes=174_383_860,
            sha256="4c06341c33c2ca1f86781dab0e829f88ad5b64be9fba56e56bc9ebdefc619e43",
            urls=(PACKS + "buffalo_l.zip",),
            archive=Archive(
                288_621_354, "80ffe37d8a5940d59a7384c201a2a38d4741f2f3c51eef46ebb28218a7b0ca2f"
            ),
        ),
    ),
    ModelCard(
        name="arcface_antelopev2",
        task="face_recognizer",
        summary="a deeper network that tells people apart; in antelopev2, 344 MiB",
        licence=LICENCE,
        open=Arcface,
        runtime="onnx",
        template="arcface_112_v2",
        size_px=SIZE_PX,
        bytes_per_pixel=600,  # an estimate: a little over that of arcface
        weights=Weights(
            path="glintr100.onnx",
            size_bytes=260_665_334,
            sha256="4ab1d6435d639628a6f3e5008dd4f929edf4c4124b1a7169e1048f9fef534cdf",
            urls=(PACKS + "antelopev2.zip",),
            archive=Archive(
                360_662_982, "8e182f14fc6e80b3bfa375b33eb6cff7ee05d8ef7633e738d1c89021dcf0c5c5"
            ),
        ),
    ),
    ModelCard(
        name="arcface_mobile",
        task="face_recognizer",
        summary="a network a tenth as large, less sure; in buffalo_sc, 15 MiB",
        licence=LICENCE,
        open=Arcface,
        runtime="onnx",
        template="arcface_112_v2",
        size_px=SIZE_PX,
        bytes_per_pixel=586.4,  # an estimate: at most that of arcface
        weights=Weights(
            path="w600k_mbf.onnx",
            size_bytes=13_616_099,
            sha256="9cc6e4a75f0e2bf0b1aed94578f144d15175f357bdc05e815e5c4a02b319eb4f",
            urls=(PACKS + "buffalo_sc.zip",),
            archive=Archive(
                14_969_382, "57d31b56b6ffa911c8a73cfc1707c73cab76efe7f13b675a05223bf42de47c72"
            ),
        ),
    ),
)
