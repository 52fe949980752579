"""GHOST: put a source identity on a 256 px crop, in three depths of the same network.

Follows: Groshev et al., "GHOST: A New Face Swap Approach for Image and Video Domains"
(IEEE Access, 2022). It takes the embedding at its own length. Weights: see CARDS.
"""

import numpy as np

from facefusion_ui.blobs import from_blob, to_blob
from facefusion_ui.cards import Licence, ModelCard, Weights
from facefusion_ui.contracts import Network
from facefusion_ui.faces import AlignedFace, Source, SwappedFace

HALF = (0.5, 0.5, 0.5)  # mean and deviation, in and out: colours in -1..1


class Ghost:
    """Implements `contracts.Swapper`."""

    def __init__(self, network: Network) -> None:
        self._network = network

    def swap(self, source: Source, target: AlignedFace) -> SwappedFace:
        assert source.embedding is not None  # the card asks for one
        feeds = {
            "source": source.embedding[None].astype(np.float32),
            "target": to_blob(target.crop, HALF, HALF),
        }
        return SwappedFace(from_blob(self._network(feeds)[0], HALF, HALF))


LICENCE = Licence(
    "Apache-2.0 (as FaceFusion states; not confirmed upstream)",
    True,
    "https://github.com/ai-forever/ghost",
)
HOSTS = (
    "https://github.com/facefusion/facefusion-assets/releases/download/models-3.0.0/",
    "https://huggingface.co/facefusion/models-3.0.0/resolve/main/",
)


def _card(name: str, summary: str) -> ModelCard:
    return ModelCard(
        name=name,
        task="face_swapper",
        summary=summary,
        licence=LICENCE,
        open=Ghost,
        runtime="onnx",
        template="arcface_112_v1",
        size_px=256,
        recognizer="arcface",
        converter="crossface_ghost",
        rank=50,
        bytes_per_pixel=3000,  # an estimate at 256 px, not measured
        # nobody has published their sizes and hashes
        weights=Weights(path=f"{name}.onnx", urls=tuple(f"{host}{name}.onnx" for host in HOSTS)),
    )


CARDS = (
    _card("ghost_1_256", "256 px, the smallest of three depths; about 490 MiB"),
    _card("ghost_2_256", "256 px, the middle of three depths; about 705 MiB"),
    _card("ghost_3_256", "256 px, the largest of three depths; about 815 MiB"),
)
