"""HifiFace: put a source identity, with the shape of its face, on a 256 px crop.

Follows: Wang et al., "HifiFace: 3D Shape and Semantic Prior Guided High Fidelity Face Swapping"
(arXiv:2106.09965). Weights: trained by others, licence unknown, see CARDS.
"""

import numpy as np

from facefusion_ui.blobs import from_blob, to_blob
from facefusion_ui.cards import Licence, ModelCard, Weights
from facefusion_ui.contracts import Network
from facefusion_ui.faces import AlignedFace, Source, SwappedFace

HALF = (0.5, 0.5, 0.5)  # mean and deviation, in and out: colours in -1..1


class HifiFace:
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
        return SwappedFace(from_blob(self._network(feeds)[0], HALF, HALF))


CARDS = (
    ModelCard(
        name="hififace_unofficial_256",
        task="face_swapper",
        summary="256 px; made to carry over the shape of the face too; not by its authors",
        licence=Licence(
            "unknown (FaceFusion names GuijiAI as vendor, no licence)",
            False,
            "https://github.com/facefusion/facefusion/blob/master/facefusion/processors/modules/face_swapper/core.py",
        ),
        open=HifiFace,
        runtime="onnx",
        template="mtcnn_512",
        size_px=256,
        recognizer="arcface",
        converter="crossface_hififace",
        rank=55,
        bytes_per_pixel=3000,  # an estimate at 256 px, not measured
        weights=Weights(
            path="hififace_unofficial_256.onnx",
            size_bytes=203_784_742,
            sha256="9de9751617976195114d7f067b9b6cf933748363355cf473cab2da57a739c2ef",
            urls=(
                "https://github.com/facefusion/facefusion-assets/releases/download/models-3.1.0/hififace_unofficial_256.onnx",
                "https://huggingface.co/facefusion/models-3.1.0/resolve/main/hififace_unofficial_256.onnx",
            ),
        ),
    ),
)
