"""Real-ESRGAN: enlarges a whole frame two or four times.

Follows: Wang et al., "Real-ESRGAN: Training Real-World Blind Super-Resolution with Pure Synthetic
Data" (arXiv:2107.10833). The large network is the package basicsr's; weights: see CARDS.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from facefusion_ui.arrays import Frame
from facefusion_ui.blobs import from_blob, to_blob
from facefusion_ui.bridges import bridged
from facefusion_ui.cards import Licence, ModelCard, TorchCode, Weights
from facefusion_ui.contracts import Network

EVEN = 2  # the network for two times folds pixels in pairs


class RealEsrgan:
    """Implements `contracts.Upscaler`. `input` and output: (1, 3, H, W), RGB 0..1."""

    def __init__(self, network: Network) -> None:
        self._network = network
        (self._input,) = network.input_shapes

    def upscale(self, frame: Frame) -> Frame:
        height, width = frame.shape[:2]
        even = np.pad(frame, ((0, height % EVEN), (0, width % EVEN), (0, 0)), "edge")
        large = from_blob(self._network({self._input: to_blob(even)})[0])
        scale = large.shape[0] // even.shape[0]
        return np.ascontiguousarray(large[: height * scale, : width * scale])


def make_large(scale: int) -> Any:
    """Return the network of 23 blocks, without weights."""
    with bridged():
        from basicsr.archs.rrdbnet_arch import RRDBNet

    return RRDBNet(3, 3, num_feat=64, num_block=23, num_grow_ch=32, scale=scale)


def build_large(state: Mapping[str, Any], scale: int) -> Any:
    """Return that network with the weights of a .pth file."""
    network = make_large(scale)
    network.load_state_dict(state["params_ema"])
    return network


def make_small() -> Any:
    """Return the compact network, without weights."""
    with bridged():
        from basicsr.archs.srvgg_arch import SRVGGNetCompact

    return SRVGGNetCompact(3, 3, num_feat=64, num_conv=32, upscale=4, act_type="prelu")


def build_small(state: Mapping[str, Any]) -> Any:
    """Return that network with the weights of a .pth file."""
    network = make_small()
    network.load_state_dict(state["params"])
    return network


def call(network: Any, picture: Any) -> Any:
    """Run it."""
    return network(picture)


LICENCE = Licence(
    "BSD-3-Clause", True, "https://github.com/xinntao/Real-ESRGAN/blob/master/LICENSE"
)
RELEASES = "https://github.com/xinntao/Real-ESRGAN/releases/download/"


def _card(
    name: str,
    summary: str,
    scale: int,
    bytes_per_pixel: float,
    halo_px: int,
    rank: int,
    build: Callable[[Mapping[str, Any]], Any],
    weights: Weights,
) -> ModelCard:
    return ModelCard(
        name=name,
        task="frame_enhancer",
        summary=summary,
        licence=LICENCE,
        open=RealEsrgan,
        runtime="onnx",
        torch=TorchCode(build, call, {"input": (1, 3, -1, -1)}, half_ok=True),
        scale=scale,
        halo_px=halo_px,
        rank=rank,
        bytes_per_pixel=bytes_per_pixel,
        weights=weights,
    )


CARDS = (
    _card(
        "real_esrgan_x2",
        "twice as large",
        scale=2,
        bytes_per_pixel=3278,
        halo_px=16,
        rank=80,
        build=partial(build_large, scale=2),
        weights=Weights(
            path="RealESRGAN_x2plus.pth",
            size_bytes=67_061_725,
            sha256="49fafd45f8fd7aa8d31ab2a22d14d91b536c34494a5cfe31eb5d89c2fa266abb",
            urls=(RELEASES + "v0.2.1/RealESRGAN_x2plus.pth",),
        ),
    ),
    _card(
        "real_esrgan_x4",
        "four times as large; slow",
        scale=4,
        bytes_per_pixel=13_100,  # an estimate: its maps are four times as large as those of x2
        halo_px=16,
        rank=60,
        build=partial(build_large, scale=4),
        weights=Weights(
            path="RealESRGAN_x4plus.pth",
            size_bytes=67_040_989,
            sha256="4fa0d38905f75ac06eb49a7951b426670021be3018265fd191d2125df9d682f1",
            urls=(RELEASES + "v0.1.0/RealESRGAN_x4plus.pth",),
        ),
    ),
    _card(
        "real_esrgan_general_x4",
        "four times as large, ten times as fast",
        scale=4,
        bytes_per_pixel=1100,  # an estimate: two maps of 64 channels, and the picture
        halo_px=34,
        rank=70,
        build=build_small,
        weights=Weights(
            path="realesr-general-x4v3.pth",
            size_bytes=4_885_111,
            sha256="8dc7edb9ac80ccdc30c3a5dca6616509367f05fbc184ad95b731f05bece96292",
            urls=(RELEASES + "v0.2.5.0/realesr-general-x4v3.pth",),
        ),
    ),
)
