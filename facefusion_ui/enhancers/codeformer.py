"""CodeFormer: restores a face out of a book of face parts.

Follows: Zhou et al., "Towards Robust Blind Face Restoration with Codebook Lookup Transformer"
(arXiv:2206.11253). The network is the package codeformer-pip's. Weights: see CARDS.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from facefusion_ui.bridges import bridged
from facefusion_ui.cards import Licence, ModelCard, TorchCode, Weights
from facefusion_ui.enhancers.gfpgan import SIZE_PX, Restorer


@dataclass(frozen=True)
class Fidelity:
    """The weight as the package's network asks for it: compared once, then multiplied by.

    A tensor would be turned into a number at the comparison, and stay that number for ever in a
    network that is converted.
    """

    weight: Any

    def __gt__(self, other: float) -> bool:
        return True

    def __mul__(self, other: Any) -> Any:
        return self.weight.to(other.dtype) * other


def make() -> Any:
    """Return the package's network, without weights."""
    with bridged():
        from codeformer.basicsr.archs.codeformer_arch import CodeFormer

    return CodeFormer(
        dim_embd=512,
        codebook_size=1024,
        n_head=8,
        n_layers=9,
        connect_list=["32", "64", "128", "256"],
    )


def build(state: Mapping[str, Any]) -> Any:
    """Return the network with the weights of a .pth file."""
    network = make()
    network.load_state_dict(state["params_ema"])
    table = network.fuse_convs_dict
    for side in list(table):  # when it is converted, a side's length is called tensor(32)
        table[f"tensor({side})"] = table[side]
    return network


def call(network: Any, picture: Any, weight: Any) -> Any:
    """Run it; `weight` is one float64."""
    return network(picture, w=Fidelity(weight), adain=True)[0]


LICENCE = Licence(
    "S-Lab-1.0 (non-commercial)", False, "https://github.com/sczhou/CodeFormer/blob/master/LICENSE"
)
CODE = TorchCode(
    build,
    call,
    {"input": (1, 3, SIZE_PX, SIZE_PX), "weight": (1,)},
    doubles=frozenset({"weight"}),
)
BYTES_PER_PIXEL = 4500  # an estimate at 512 px

CARDS = (
    ModelCard(
        name="codeformer",
        task="face_enhancer",
        summary="restores even badly damaged faces; the weight says how freely",
        licence=LICENCE,
        open=Restorer,
        runtime="onnx",
        torch=CODE,
        template="ffhq_512",
        size_px=SIZE_PX,
        rank=80,
        bytes_per_pixel=BYTES_PER_PIXEL,
        weights=Weights(
            path="codeformer.pth",
            size_bytes=376_637_898,
            sha256="1009e537e0c2a07d4cabce6355f53cb66767cd4b4297ec7a4a64ca4b8a5684b7",
            urls=(
                "https://github.com/sczhou/CodeFormer/releases/download/v0.1.0/codeformer.pth",
                "https://huggingface.co/datasets/Gourieff/ReActor/resolve/main/models/facerestore_models/codeformer-v0.1.0.pth",
            ),
        ),
    ),
    ModelCard(
        name="codeformer_onnx",
        task="face_enhancer",
        summary="codeformer, converted by others: nothing is left to convert",
        licence=LICENCE,
        open=Restorer,
        runtime="onnx",
        template="ffhq_512",
        size_px=SIZE_PX,
        rank=79,
        bytes_per_pixel=BYTES_PER_PIXEL,
        weights=Weights(
            path="codeformer.onnx",
            size_bytes=376_951_650,
            sha256="21710e7ab61c82683576c428e9c1b6fe1ed419586b7b39e394c3449c294b550f",
            urls=(
                "https://github.com/facefusion/facefusion-assets/releases/download/models-3.0.0/codeformer.onnx",
                "https://huggingface.co/facefusion/models-3.0.0/resolve/main/codeformer.onnx",
            ),
        ),
    ),
)
