"""HyperSwap: put a source identity on a 256 px crop, and say where the new face belongs.

The files are in half precision inside. Weights: research only, see CARDS.
"""

import numpy as np

from facefusion_ui.blobs import HINT, from_blob, to_blob
from facefusion_ui.cards import Licence, ModelCard, Weights
from facefusion_ui.contracts import Network
from facefusion_ui.errors import BrokenOutputError
from facefusion_ui.faces import AlignedFace, Source, SwappedFace

HALF = (0.5, 0.5, 0.5)  # mean and deviation, in and out: colours in -1..1


class HyperSwap:
    """Implements `contracts.Swapper`."""

    def __init__(self, network: Network) -> None:
        self._network = network

    def swap(self, source: Source, target: AlignedFace) -> SwappedFace:
        assert source.embedding is not None  # the card asks for one
        unit = source.embedding / np.linalg.norm(source.embedding)
        feeds = {
            "source": unit[None].astype(np.float32),
            "target": to_blob(target.crop, HALF, HALF),
        }
        image, mask = self._network(feeds)
        if not np.isfinite(mask).all():
            raise BrokenOutputError("the network's mask holds what is not a number", hint=HINT)
        shape_hw = target.crop.shape[:2]
        inside = np.clip(mask, 0, 1).astype(np.float32).reshape(shape_hw)
        return SwappedFace(from_blob(image, HALF, HALF), inside)


LICENCE = Licence(
    "ResearchRAIL (label only, no published text found)",
    False,
    "https://huggingface.co/facefusion/models-3.3.0",
)
HOSTS = (
    "https://github.com/facefusion/facefusion-assets/releases/download/models-3.3.0/",
    "https://huggingface.co/facefusion/models-3.3.0/resolve/main/",
)


def _card(name: str, summary: str, sha256: str) -> ModelCard:
    return ModelCard(
        name=name,
        task="face_swapper",
        summary=summary,
        licence=LICENCE,
        open=HyperSwap,
        runtime="onnx",
        template="arcface_128",
        size_px=256,
        recognizer="arcface",
        rank=90,
        bytes_per_pixel=3000,  # an estimate at 256 px, not measured
        weights=Weights(
            path=f"{name}.onnx",
            size_bytes=402_742_682,
            sha256=sha256,
            urls=tuple(f"{host}{name}.onnx" for host in HOSTS),
        ),
    )


CARDS = (
    _card(
        "hyperswap_1a_256",
        "256 px with a mask of its own; first of three variants",
        "c0e98a8a03a238f461ed3d2570e426b49f46745ee400854a60dceeb70c246add",
    ),
    _card(
        "hyperswap_1b_256",
        "256 px with a mask of its own; second of three variants",
        "5124031789c42f71b9558fb71954ef7aedb6da7ed9fac79293e23c61a792a73e",
    ),
    _card(
        "hyperswap_1c_256",
        "256 px with a mask of its own; third of three variants",
        "5528c2d76fe9986c99d829278987ef9f3a630cb606db7628d02b57b330f406a5",
    ),
)
