"""InSwapper: put a source identity on a 128 px crop.

Follows: insightface, python-package/insightface/model_zoo/inswapper.py (the embedding goes through
the graph's last initializer). Weights: non-commercial, see CARDS.
"""

import numpy as np

from facefusion_ui.blobs import from_blob, to_blob
from facefusion_ui.cards import Licence, ModelCard, Weights
from facefusion_ui.contracts import Network
from facefusion_ui.faces import AlignedFace, Source, SwappedFace


class InSwapper:
    """Implements `contracts.Swapper`."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._projection = np.asarray(network.last_initializer(), np.float32)

    def swap(self, source: Source, target: AlignedFace) -> SwappedFace:
        assert source.embedding is not None  # the card asks for one
        unit = source.embedding / np.linalg.norm(source.embedding)
        latent = unit[None] @ self._projection
        latent /= np.linalg.norm(latent)
        feeds = {"source": latent.astype(np.float32), "target": to_blob(target.crop)}
        return SwappedFace(from_blob(self._network(feeds)[0]))


LICENCE = Licence(
    "InsightFace model policy: non-commercial research only (code is MIT)",
    False,
    "https://github.com/deepinsight/insightface#license",
)

CARDS = (
    ModelCard(
        name="inswapper_128",
        task="face_swapper",
        summary="128 px: large faces stay soft without a face enhancer",
        licence=LICENCE,
        open=InSwapper,
        runtime="onnx",
        half="inswapper_128_fp16",
        template="arcface_128",
        size_px=128,
        recognizer="arcface",
        rank=80,
        bytes_per_pixel=6200,
        weights=Weights(
            path="inswapper_128.onnx",
            size_bytes=554_253_681,
            sha256="e4a3f08c753cb72d04e10aa0f7dbe3deebbf39567d4ead6dce08e98aa49e16af",
            urls=(
                "https://github.com/deepinsight/insightface/releases/download/model-zoo/inswapper_128.onnx",
                "https://huggingface.co/ezioruan/inswapper_128.onnx/resolve/main/inswapper_128.onnx",
                "https://huggingface.co/datasets/Gourieff/ReActor/resolve/main/models/inswapper_128.onnx",
                "https://huggingface.co/CountFloyd/deepfake/resolve/main/inswapper_128.onnx",
            ),
            twins=(  # FaceFusion's re-export, models-3.0.0
                (
                    555_303_150,
                    "a290273ed497312095dac48cdef20feec9d5208298223dd01288ab202b54bea7",
                ),
            ),
        ),
    ),
    ModelCard(
        name="inswapper_128_fp16",
        task="face_swapper",
        summary="inswapper_128 in half precision: half the download",
        licence=LICENCE,
        open=InSwapper,
        runtime="onnx",
        template="arcface_128",
        size_px=128,
        recognizer="arcface",
        rank=79,
        bytes_per_pixel=6200,
        weights=Weights(
            path="inswapper_128_fp16.onnx",
            size_bytes=277_680_638,
            sha256="6d51a9278a1f650cffefc18ba53f38bf2769bf4bbff89267822cf72945f8a38b",
            urls=(
                "https://huggingface.co/hacksider/deep-live-cam/resolve/main/inswapper_128_fp16.onnx",
                "https://github.com/Alucard24/rope-assets/releases/download/v1.0.8/inswapper_128.fp16.onnx",
                "https://github.com/visomaster/visomaster-assets/releases/download/v0.1.0/inswapper_128.fp16.onnx",
            ),
            twins=(  # FaceFusion's re-export, models-3.0.0
                (
                    277_680_829,
                    "c4eccca86ad177586c85c28bf1a64a9d9ed237e283a15818d831f7facfd3f420",
                ),
            ),
        ),
    ),
)
