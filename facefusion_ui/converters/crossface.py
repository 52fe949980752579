"""CrossFace: arcface's description of a face, as another network's recogniser would give it.

One file for each family of swappers. Weights: see CARDS.
"""

import numpy as np

from facefusion_ui.arrays import Embedding
from facefusion_ui.blobs import HINT
from facefusion_ui.cards import Licence, ModelCard, Weights
from facefusion_ui.contracts import Network
from facefusion_ui.errors import BrokenOutputError


class CrossFace:
    """Implements `contracts.Converter`; takes arcface's embedding as it is, at its own length."""

    def __init__(self, network: Network) -> None:
        self._network = network
        (self._input,) = network.input_shapes

    def convert(self, embedding: Embedding) -> Embedding:
        (converted,) = self._network({self._input: embedding[None].astype(np.float32)})
        if not np.isfinite(converted).all():
            raise BrokenOutputError("the embedding holds what is not a number", hint=HINT)
        return np.asarray(converted, np.float32).ravel()


HOSTS = (
    "https://github.com/facefusion/facefusion-assets/releases/download/models-3.4.0/",
    "https://huggingface.co/facefusion/models-3.4.0/resolve/main/",
)


def _card(family: str, licence: Licence, size_bytes: int = 0, sha256: str = "") -> ModelCard:
    name = f"crossface_{family}"
    return ModelCard(
        name=name,
        task="identity_converter",
        summary=f"lets {family} models work from arcface's embedding; about 21 MiB",
        licence=licence,
        open=CrossFace,
        runtime="onnx",
        weights=Weights(
            path=f"{name}.onnx",
            size_bytes=size_bytes,
            sha256=sha256,
            urls=tuple(f"{host}{name}.onnx" for host in HOSTS),
        ),
    )


CARDS = (
    _card(
        "simswap",
        Licence("CC-BY-NC-4.0", False, "https://github.com/neuralchen/SimSwap"),
        size_bytes=22_083_800,
        sha256="6452a261ec30cc30afdbe4a426d82c3b10a476f2df794e3494071c02574e6829",
    ),
    _card(  # nobody has published its size and hash
        "ghost",
        Licence(
            "Apache-2.0 (as FaceFusion states; not confirmed upstream)",
            True,
            "https://github.com/ai-forever/ghost",
        ),
    ),
    _card(
        "hififace",
        Licence(
            "unknown (FaceFusion names GuijiAI as vendor, no licence)",
            False,
            "https://github.com/facefusion/facefusion/blob/master/facefusion/processors/modules/face_swapper/core.py",
        ),
        size_bytes=22_083_800,
        sha256="dfb75f960cb8ef1967a82838e64963b9ff621c4af3e22f9fda48ad958dddec9a",
    ),
)
