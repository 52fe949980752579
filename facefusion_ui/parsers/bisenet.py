"""BiSeNet: which parts of a face are where.

Follows: Yu et al., "BiSeNet: Bilateral Segmentation Network for Real-time Semantic Segmentation"
(arXiv:1808.00897). Weights: yakhyo/face-parsing, MIT, as FaceFusion ships them; see CARDS.
"""

from collections.abc import Collection

import cv2
import numpy as np

from facefusion_ui.arrays import Crop, FaceMaskRegion, Mask
from facefusion_ui.blobs import to_blob
from facefusion_ui.cards import Licence, ModelCard, Weights
from facefusion_ui.contracts import Network

SIDE = 512
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet
SOFT_PX = 5.0  # sigma of the edge
CLASSES: dict[FaceMaskRegion, int] = {
    "skin": 1,
    "left-eyebrow": 2,
    "right-eyebrow": 3,
    "left-eye": 4,
    "right-eye": 5,
    "glasses": 6,
    "nose": 10,
    "mouth": 11,
    "upper-lip": 12,
    "lower-lip": 13,
}
"""Numbers of CelebAMask-HQ's nineteen classes."""


class Bisenet:
    """Implements `contracts.Parser`. In: (1, 3, 512, 512), RGB; out: (1, 19, 512, 512)."""

    def __init__(self, network: Network) -> None:
        self._network = network
        (self._input,) = network.input_shapes

    def mask(self, crop: Crop, regions: Collection[FaceMaskRegion]) -> Mask:
        small = np.asarray(cv2.resize(crop, (SIDE, SIDE), interpolation=cv2.INTER_AREA), np.uint8)
        scores = self._network({self._input: to_blob(small, MEAN, STD)})[0][0]
        within = np.isin(scores.argmax(axis=0), [CLASSES[region] for region in regions])
        mask = cv2.resize(within.astype(np.float32), (crop.shape[1], crop.shape[0]))
        mask = cv2.GaussianBlur(mask, (0, 0), SOFT_PX * crop.shape[0] / SIDE)
        return np.asarray((np.clip(mask, 0.5, 1) - 0.5) * 2, np.float32)


def _card(depth: int, tag: str, summary: str, size_bytes: int, sha256: str) -> ModelCard:
    name = f"bisenet_resnet_{depth}"
    return ModelCard(
        name=name,
        task="face_parser",
        summary=summary,
        licence=Licence("MIT", True, "https://github.com/yakhyo/face-parsing"),
        open=Bisenet,
        runtime="onnx",
        template="ffhq_512",
        size_px=SIDE,
        bytes_per_pixel=500,  # an estimate at 512 px
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
        34,
        "models-3.0.0",
        "tells skin, eyes, brows, nose and lips apart",
        93_632_546,
        "4a0b8c958a3c938913bd06a8365dbb3c8761afba6ecbf0d14b3b1f77eb230c96",
    ),
    _card(
        18,
        "models-3.1.0",
        "the same, smaller and less exact",
        53_205_356,
        "2218b6183c26ca5c83303232d682a536c670c13ea9695f716c777d1f244eefe9",
    ),
)
