"""UniFace: put the face of a source picture on a 256 px crop, without a recogniser.

Follows: Xu et al., "Designing One Unified Framework for High-Fidelity Face Reenactment and
Swapping" (ECCV 2022). Weights: no licence published, see CARDS.
"""

from facefusion_ui.blobs import from_blob, to_blob
from facefusion_ui.cards import Licence, ModelCard, Weights
from facefusion_ui.contracts import Network
from facefusion_ui.faces import AlignedFace, Source, SwappedFace

HALF = (0.5, 0.5, 0.5)  # mean and deviation of the target, in and out: colours in -1..1


class UniFace:
    """Implements `contracts.Swapper`; the source's picture goes in as 0..1."""

    def __init__(self, network: Network) -> None:
        self._network = network

    def swap(self, source: Source, target: AlignedFace) -> SwappedFace:
        assert source.picture is not None  # the card asks for one
        feeds = {"source": to_blob(source.picture), "target": to_blob(target.crop, HALF, HALF)}
        return SwappedFace(from_blob(self._network(feeds)[0], HALF, HALF))


CARDS = (
    ModelCard(
        name="uniface_256",
        task="face_swapper",
        summary="256 px; looks at the best source picture itself, not at an embedding",
        licence=Licence(
            "none published (official weights only on e-mail request)",
            False,
            "https://github.com/xc-csc101/UniFace",
        ),
        open=UniFace,
        runtime="onnx",
        template="ffhq_512",
        size_px=256,
        source_template="ffhq_512",
        source_size_px=256,
        rank=45,
        bytes_per_pixel=3000,  # an estimate at 256 px, not measured
        weights=Weights(
            path="uniface_256.onnx",
            size_bytes=406_964_143,
            sha256="eb5ce2af024cddf88ecb93b24e29a6eb44e354aba7d3319e84d29dcd868820f3",
            urls=(
                "https://github.com/facefusion/facefusion-assets/releases/download/models-3.0.0/uniface_256.onnx",
                "https://huggingface.co/facefusion/models-3.0.0/resolve/main/uniface_256.onnx",
            ),
        ),
    ),
)
