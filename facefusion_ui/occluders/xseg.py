"""XSeg: what of a face is seen and not covered by hands, hair or glasses.

From DeepFaceLab; weights as FaceFusion ships them, GPL-3.0; see CARDS.
"""

import cv2
import numpy as np

from facefusion_ui.arrays import Crop, Mask
from facefusion_ui.cards import Licence, ModelCard, Weights
from facefusion_ui.contracts import Network

SIDE = 256
SOFT_PX = 5.0  # sigma of the blur; only its inner half is kept


class Xseg:
    """Implements `contracts.Occluder`. In: (1, 256, 256, 3), BGR 0..1; out: (1, 256, 256, 1)."""

    def __init__(self, network: Network) -> None:
        self._network = network
        (self._input,) = network.input_shapes

    def mask(self, crop: Crop) -> Mask:
        size_wh = (crop.shape[1], crop.shape[0])
        small = cv2.resize(crop, (SIDE, SIDE), interpolation=cv2.INTER_AREA)
        seen = self._network({self._input: small[None].astype(np.float32) / 255})[0]
        mask = cv2.resize(np.clip(seen[0, ..., 0], 0, 1), size_wh)
        mask = cv2.GaussianBlur(mask, (0, 0), SOFT_PX * crop.shape[0] / SIDE)
        return np.asarray((np.clip(mask, 0.5, 1) - 0.5) * 2, np.float32)


LICENCE = Licence("GPL-3.0", True, "https://github.com/iperov/DeepFaceLab/blob/master/LICENSE")


def _card(number: int, tag: str, summary: str, size_bytes: int, sha256: str) -> ModelCard:
    name = f"xseg_{number}"
    return ModelCard(
        name=name,
        task="face_occluder",
        summary=summary,
        licence=LICENCE,
        open=Xseg,
        runtime="onnx",
        template="ffhq_512",
        size_px=SIDE,
        bytes_per_pixel=2000,  # an estimate at 256 px
        weights=Weights(
            path=f"{name}.onnx",
            size_bytes=size_bytes,
            sha256=sha256,
            urls=(
                f"https://github.com/facefusion/facefusion-assets/releases/download/{tag}/{name}.onnx",
                f"https://huggingface.co/facefusion/{tag}/resolve/main/{name}.onnx",
            ),
        ),
    )


CARDS = (
    _card(
        1,
        "models-3.1.0",
        "finds what covers a face",
        70_324_286,
        "c4d1498b8a03b5fe2a3a5d2ef2a0402ab03bd51edaf5b2d8d5fb764702a97dd3",
    ),
    _card(
        2,
        "models-3.1.0",
        "finds what covers a face, trained longer",
        70_324_286,
        "cd9a0879eaf43841d765472cf1f8c330dbf9dcb03da0eace93e95f3bcc399042",
    ),
    _card(
        3,
        "models-3.2.0",
        "finds what covers a face, the newest",
        70_327_709,
        "48ccd7e8541e159a5a754ec9e62df2f12065f7df8f9af842c1750342c6533559",
    ),
)
