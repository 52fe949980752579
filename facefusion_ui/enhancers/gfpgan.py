"""GFPGAN: restores a face with the memory of a face generator.

Follows: Wang et al., "Towards Real-World Blind Face Restoration with Generative Facial Prior"
(arXiv:2101.04061). The network is the package gfpgan's; its own enhance() is not used, since it
hides a want of memory, paints noise that flickers in clips, and fetches networks by itself.
Weights: see CARDS.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facefusion_ui.arrays import Crop
from facefusion_ui.blobs import from_blob, to_blob
from facefusion_ui.bridges import bridged
from facefusion_ui.cards import Licence, ModelCard, TorchCode, Weights
from facefusion_ui.contracts import Network
from facefusion_ui.faces import AlignedFace

HALF = (0.5, 0.5, 0.5)  # mean and deviation: colours are -1..1
SIZE_PX = 512


class Restorer:
    """Implements `contracts.Enhancer` for every network of this kind.

    `input` is the face, (1, 3, S, S), RGB -1..1; the output is the same. Some have a `weight`, one
    float64: 0 paints the finest face, 1 keeps nearest to the one that is there.
    """

    def __init__(self, network: Network) -> None:
        self._network = network
        self._weighs = "weight" in network.input_shapes
        self._input = next(name for name in network.input_shapes if name != "weight")

    def enhance(self, target: AlignedFace, *, weight: float) -> Crop:
        feeds: dict[str, NDArray[Any]] = {self._input: to_blob(target.crop, HALF, HALF)}
        if self._weighs:
            feeds["weight"] = np.asarray([weight], np.float64)
        return from_blob(self._network(feeds)[0], HALF, HALF)


def make() -> Any:
    """Return the package's network, without weights."""
    with bridged():
        from gfpgan.archs.gfpganv1_clean_arch import GFPGANv1Clean

    return GFPGANv1Clean(
        out_size=SIZE_PX,
        num_style_feat=512,
        channel_multiplier=2,
        fix_decoder=False,
        input_is_latent=True,
        different_w=True,
        sft_half=True,
    )


def build(state: Mapping[str, Any]) -> Any:
    """Return the network with the weights of a .pth file."""
    network = make()
    network.load_state_dict(state["params_ema"])
    return network


def call(network: Any, picture: Any) -> Any:
    """Run it without the noise that would make a clip flicker."""
    return network(picture, return_rgb=False, randomize_noise=False)[0]


LICENCE = Licence(
    "Apache-2.0 except StyleGAN2 parts (NVIDIA Source Code License-NC) and DFDNet parts "
    "(CC-BY-NC-SA-4.0)",
    False,
    "https://github.com/TencentARC/GFPGAN/blob/master/LICENSE",
)
CODE = TorchCode(build, call, {"input": (1, 3, SIZE_PX, SIZE_PX)}, half_ok=True)
BYTES_PER_PIXEL = 2026.5
RELEASES = "https://github.com/TencentARC/GFPGAN/releases/download/"

CARDS = (
    ModelCard(
        name="gfpgan_1.4",
        task="face_enhancer",
        summary="restores a face, natural and a little smooth",
        licence=LICENCE,
        open=Restorer,
        runtime="onnx",
        torch=CODE,
        template="ffhq_512",
        size_px=SIZE_PX,
        rank=90,
        bytes_per_pixel=BYTES_PER_PIXEL,
        weights=Weights(
            path="GFPGANv1.4.pth",
            size_bytes=348_632_874,
            sha256="e2cd4703ab14f4d01fd1383a8a8b266f9a5833dacee8e6a79d3bf21a1b6be5ad",
            urls=(RELEASES + "v1.3.4/GFPGANv1.4.pth", RELEASES + "v1.3.0/GFPGANv1.4.pth"),
        ),
    ),
    ModelCard(
        name="gfpgan_1.3",
        task="face_enhancer",
        summary="the edition before: softer, nearer to the face that is there",
        licence=LICENCE,
        open=Restorer,
        runtime="onnx",
        torch=CODE,
        template="ffhq_512",
        size_px=SIZE_PX,
        rank=75,
        bytes_per_pixel=BYTES_PER_PIXEL,
        weights=Weights(
            path="GFPGANv1.3.pth",
            sha256="c953a88f2727c85c3d9ae72e2bd4846bbaf59fe6972ad94130e23e7017524a70",
            urls=(
                RELEASES + "v1.3.0/GFPGANv1.3.pth",
                "https://huggingface.co/datasets/Gourieff/ReActor/resolve/main/models/facerestore_models/GFPGANv1.3.pth",
            ),
        ),
    ),
    ModelCard(
        name="gfpgan_1.4_onnx",
        task="face_enhancer",
        summary="gfpgan_1.4, converted by others: nothing is left to convert",
        licence=LICENCE,
        open=Restorer,
        runtime="onnx",
        template="ffhq_512",
        size_px=SIZE_PX,
        rank=89,
        bytes_per_pixel=BYTES_PER_PIXEL,
        weights=Weights(
            path="gfpgan_1.4.onnx",
            size_bytes=340_299_087,
            sha256="accc4757b26bdb89b32b4d3500d4f79c9dff97c1dd7c7104bf9dcb95e3311385",
            urls=(
                "https://github.com/facefusion/facefusion-assets/releases/download/models-3.0.0/gfpgan_1.4.onnx",
                "https://huggingface.co/facefusion/models-3.0.0/resolve/main/gfpgan_1.4.onnx",
            ),
            twins=(
                (340_256_690, "6548e54cbcf248af385248f0c1193b359c37a0f98b836282b09cf48af4fd2b73"),
            ),
        ),
    ),
)
