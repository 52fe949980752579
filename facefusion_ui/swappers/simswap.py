"""SimSwap: put a source identity on a 256 or 512 px crop.

Follows: Chen et al., "SimSwap: An Efficient Framework For High Fidelity Face Swapping"
(arXiv:2106.06340). The two files differ in how they take colours. Weights: non-commercial.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

from facefusion_ui.blobs import PLAIN, WHOLE, from_blob, to_blob
from facefusion_ui.cards import Licence, ModelCard, Weights
from facefusion_ui.contracts import Network
from facefusion_ui.faces import AlignedFace, Source, SwappedFace

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)


class SimSwap:
    """Implements `contracts.Swapper`; `mean` and `std` are of the target, RGB. Answers in 0..1."""

    def __init__(self, network: Network, mean: Sequence[float], std: Sequence[float]) -> None:
        self._network = network
        self._mean = mean
        self._std = std

    def swap(self, source: Source, target: AlignedFace) -> SwappedFace:
        assert source.embedding is not None  # the card asks for one
        unit = source.embedding / np.linalg.norm(source.embedding)
        feeds = {
            "source": unit[None].astype(np.float32),
            "target": to_blob(target.crop, self._mean, self._std),
        }
        return SwappedFace(from_blob(self._network(feeds)[0]))


LICENCE = Licence("CC-BY-NC-4.0", False, "https://github.com/neuralchen/SimSwap")
HOSTS = (
    "https://github.com/facefusion/facefusion-assets/releases/download/models-3.0.0/",
    "https://huggingface.co/facefusion/models-3.0.0/resolve/main/",
)

CARDS = (
    ModelCard(
        name="simswap_256",
        task="face_swapper",
        summary="256 px; about 210 MiB",
        licence=LICENCE,
        open=partial(SimSwap, mean=IMAGENET_MEAN, std=IMAGENET_STD),
        runtime="onnx",
        template="arcface_112_v1",
        size_px=256,
        recognizer="arcface",
        converter="crossface_simswap",
        rank=40,
        bytes_per_pixel=3000,  # an estimate at 256 px, not measured
        weights=Weights(
            path="simswap_256.onnx",
            sha256="5b6374b2ffab838588d4f0c32dc7ed5bb8d99237d755a663ed02ee265a1714fb",
            urls=tuple(f"{host}simswap_256.onnx" for host in HOSTS),
        ),
    ),
    ModelCard(
        name="simswap_unofficial_512",
        task="face_swapper",
        summary="512 px, the largest crop of all swappers; not by SimSwap's authors",
        licence=LICENCE,
        open=partial(SimSwap, mean=PLAIN, std=WHOLE),
        runtime="onnx",
        template="arcface_112_v1",
        size_px=512,
        recognizer="arcface",
        converter="crossface_simswap",
        rank=60,
        bytes_per_pixel=3000,  # an estimate at 256 px, not measured
        weights=Weights(
            path="simswap_unofficial_512.onnx",
            size_bytes=239_249_034,
            sha256="fe805d1ce7d9e66322e2a8811f593a821e7d92f9ff861dd233794bdb2bb7a586",
            urls=tuple(f"{host}simswap_unofficial_512.onnx" for host in HOSTS),
        ),
    ),
)
