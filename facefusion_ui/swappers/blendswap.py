"""BlendSwap: put the face of a source picture on a 256 px crop; its encoder is inside the network.

Follows: Shiohara et al., "BlendFace: Re-designing Identity Encoders for Face-Swapping"
(arXiv:2307.10854). Weights: non-commercial, see CARDS.
"""

from facefusion_ui.blobs import from_blob, to_blob
from facefusion_ui.cards import Licence, ModelCard, Weights
from facefusion_ui.contracts import Network
from facefusion_ui.faces import AlignedFace, Source, SwappedFace


class BlendSwap:
    """Implements `contracts.Swapper`; colours are 0..1 everywhere."""

    def __init__(self, network: Network) -> None:
        self._network = network

    def swap(self, source: Source, target: AlignedFace) -> SwappedFace:
        assert source.picture is not None  # the card asks for one
        feeds = {"source": to_blob(source.picture), "target": to_blob(target.crop)}
        return SwappedFace(from_blob(self._network(feeds)[0]))


CARDS = (
    ModelCard(
        name="blendswap_256",
        task="face_swapper",
        summary="256 px; looks at the best source picture itself, not at an embedding",
        licence=Licence("CC-BY-NC-SA-4.0", False, "https://github.com/mapooon/BlendFace"),
        open=BlendSwap,
        runtime="onnx",
        template="ffhq_512",
        size_px=256,
        source_template="arcface_112_v2",
        source_size_px=112,
        rank=35,
        bytes_per_pixel=3000,  # an estimate at 256 px, not measured
        weights=Weights(  # nobody has published its size and hash
            path="blendswap_256.onnx",
            urls=(
                "https://github.com/facefusion/facefusion-assets/releases/download/models-3.0.0/blendswap_256.onnx",
                "https://huggingface.co/facefusion/models-3.0.0/resolve/main/blendswap_256.onnx",
            ),
        ),
    ),
)
