"""SCRFD: boxes and five points at three scales; run by insightface's own class.

Follows: Guo et al., "Sample and Computation Redistribution for Efficient Face Detection"
(arXiv:2105.04714). Weights: InsightFace, non-commercial, see CARDS.
"""

import cv2
import numpy as np

from facefusion_ui.arrays import Frame
from facefusion_ui.cards import Archive, Licence, ModelCard, Weights
from facefusion_ui.contracts import Network
from facefusion_ui.faces import Face
from facefusion_ui.sessions import Session

MULTIPLE = 32  # what the network's sides must be divisible by


class Scrfd:
    """Implements `contracts.Detector`."""

    def __init__(self, network: Network) -> None:
        from insightface.model_zoo.scrfd import SCRFD  # type: ignore[import-untyped]

        self._detector = SCRFD(session=Session(network))

    def detect(self, frame: Frame, *, size_px: int, score: float) -> list[Face]:
        long_px, short_px = max(frame.shape[:2]), min(frame.shape[:2])
        fixed: tuple[int, int] | None = self._detector.static_input_size
        needed_px = -(-long_px // MULTIPLE) * MULTIPLE
        asked_px = max(MULTIPLE, round(size_px / MULTIPLE) * MULTIPLE)
        width, height = fixed or (min(asked_px, needed_px),) * 2
        # insightface enlarges what is smaller than the input, and fails where a side shrinks to 0
        if long_px < min(width, height):
            frame = _padded(frame, height, width)
        elif short_px * min(width, height) < 2 * long_px:
            least = -(-2 * long_px // min(width, height))
            frame = _padded(frame, max(least, frame.shape[0]), max(least, frame.shape[1]))
        found, points = self._detector.detect(frame, input_size=(width, height), det_thresh=score)
        return [
            Face(row[:4].astype(np.float32), five.astype(np.float32), float(row[4]))
            for row, five in zip(found, points, strict=True)
        ]


def _padded(frame: Frame, height: int, width: int) -> Frame:
    """Return `frame` in the top left corner of a black picture."""
    down, right = height - frame.shape[0], width - frame.shape[1]
    padded = cv2.copyMakeBorder(frame, 0, down, 0, right, cv2.BORDER_CONSTANT)
    return np.asarray(padded, np.uint8)


LICENCE = Licence(
    "InsightFace model policy: non-commercial research only (code is MIT)",
    False,
    "https://github.com/deepinsight/insightface#license",
)
PACKS = "https://github.com/deepinsight/insightface/releases/download/v0.7/"

CARDS = (
    ModelCard(
        name="scrfd",
        task="face_detector",
        summary="finds small and turned faces best; in buffalo_l, 276 MiB",
        licence=LICENCE,
        open=Scrfd,
        runtime="onnx",
        bytes_per_pixel=42.5,
        weights=Weights(
            path="det_10g.onnx",
            size_bytes=16_923_827,
            sha256="5838f7fe053675b1c7a08b633df49e7af5495cee0493c7dcf6697200b85b5b91",
            urls=(PACKS + "buffalo_l.zip",),
            archive=Archive(
                288_621_354, "80ffe37d8a5940d59a7384c201a2a38d4741f2f3c51eef46ebb28218a7b0ca2f"
            ),
        ),
    ),
    ModelCard(
        name="scrfd_2.5g",
        task="face_detector",
        summary="a quarter of the work of scrfd; in buffalo_m, 264 MiB",
        licence=LICENCE,
        open=Scrfd,
        runtime="onnx",
        bytes_per_pixel=42.5,  # an estimate: at most that of scrfd
        weights=Weights(
            path="det_2.5g.onnx",
            size_bytes=3_292_009,
            sha256="041f73f47371333d1d17a6fee6c8ab4e6aecabefe398ff32cca4e2d5eaee0af9",
            urls=(PACKS + "buffalo_m.zip",),
            archive=Archive(
                275_951_529, "d98264bd8f2dc75cbc2ddce2a14e636e02bb857b3051c234b737bf3b614edca9"
            ),
        ),
    ),
    ModelCard(
        name="scrfd_500m",
        task="face_detector",
        summary="the fastest of the scrfd family; in buffalo_sc, 15 MiB",
        licence=LICENCE,
        open=Scrfd,
        runtime="onnx",
        bytes_per_pixel=42.5,  # an estimate: at most that of scrfd
        weights=Weights(
            path="det_500m.onnx",
            size_bytes=2_524_817,
            sha256="5e4447f50245bbd7966bd6c0fa52938c61474a04ec7def48753668a9d8b4ea3a",
            urls=(PACKS + "buffalo_sc.zip",),
            archive=Archive(
                14_969_382, "57d31b56b6ffa911c8a73cfc1707c73cab76efe7f13b675a05223bf42de47c72"
            ),
        ),
    ),
)
