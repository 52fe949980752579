"""YOLO-face 8n: boxes and five points, one row for each place a face may be.

Follows: Ultralytics YOLOv8's pose head (boxes by centre and size, points with a confidence).
Weights: derronqi/yolov8-face, as FaceFusion ships them; see CARDS for the licence.
"""

import cv2
import numpy as np
from numpy.typing import NDArray

from facefusion_ui.arrays import Frame, Points
from facefusion_ui.blobs import to_blob
from facefusion_ui.cards import Licence, ModelCard, Weights
from facefusion_ui.contracts import Network
from facefusion_ui.faces import Face

MULTIPLE = 32  # what the network's sides must be divisible by
NMS_IOU = 0.4


class YoloFace:
    """Implements `contracts.Detector`."""

    def __init__(self, network: Network) -> None:
        self._network = network
        ((self._input, self._shape),) = network.input_shapes.items()

    def detect(self, frame: Frame, *, size_px: int, score: float) -> list[Face]:
        picture, to_frame = fit(frame, size_px, self._shape)
        rows = self._network({self._input: to_blob(picture)})[0][0].T  # (N, 20)
        rows = rows[rows[:, 4] >= score]
        centres, sizes = rows[:, :2], rows[:, 2:4]
        corners = np.concatenate([centres - sizes / 2, centres + sizes / 2], axis=1)
        points = rows[:, 5:].reshape(-1, 5, 3)[..., :2]
        return best(corners, points, rows[:, 4], to_frame)


def fit(frame: Frame, size_px: int, shape: tuple[int | str | None, ...]) -> tuple[Frame, Points]:
    """Shrink `frame` to `size_px`, in the top left corner of what a network takes.

    Args:
        shape: the declared input (1, 3, H, W); a side that is no number may be of any length.

    Returns:
        The picture, and what its (x, y) are multiplied by to be in `frame`'s pixels: (2,) float32.
    """
    height, width = frame.shape[:2]
    high, wide = (side if isinstance(side, int) and side > 0 else None for side in shape[2:4])
    shrink = min(
        1.0, size_px / max(height, width), (high or height) / height, (wide or width) / width
    )
    small_wh = (max(1, round(width * shrink)), max(1, round(height * shrink)))
    small = cv2.resize(frame, small_wh, interpolation=cv2.INTER_AREA)
    right = (wide or -(-small_wh[0] // MULTIPLE) * MULTIPLE) - small_wh[0]
    bottom = (high or -(-small_wh[1] // MULTIPLE) * MULTIPLE) - small_wh[1]
    picture = cv2.copyMakeBorder(small, 0, bottom, 0, right, cv2.BORDER_CONSTANT)
    to_frame = np.asarray([width / small_wh[0], height / small_wh[1]], np.float32)
    return np.asarray(picture, np.uint8), to_frame


def best(
    corners: NDArray[np.float32],
    points: NDArray[np.float32],
    scores: NDArray[np.float32],
    to_frame: Points,
) -> list[Face]:
    """Drop overlapping boxes and return the faces, in the frame's pixels, best first.

    Args:
        corners: (N, 4) left, top, right, bottom.
        points: (N, 5, 2).
        scores: (N,).
        to_frame: as from `fit`.
    """
    if len(scores) == 0:
        return []
    boxes = np.concatenate([corners[:, :2], corners[:, 2:] - corners[:, :2]], axis=1)
    kept = cv2.dnn.NMSBoxes(boxes.tolist(), scores.tolist(), 0.0, NMS_IOU)
    order = sorted(np.asarray(kept).flatten(), key=lambda index: -scores[index])
    return [
        Face(
            (corners[i].reshape(2, 2) * to_frame).ravel().astype(np.float32),
            (points[i] * to_frame).astype(np.float32),
            float(scores[i]),
        )
        for i in order
    ]


CARDS = (
    ModelCard(
        name="yoloface_8n",
        task="face_detector",
        summary="fast, good with faces at odd angles",
        licence=Licence(
            "GPL-3.0 per FaceFusion; AGPL-3.0 in the ONNX metadata (Ultralytics)",
            True,
            "https://github.com/derronqi/yolov8-face",
        ),
        open=YoloFace,
        runtime="onnx",
        bytes_per_pixel=160,  # an estimate, not measured
        weights=Weights(
            path="yoloface_8n.onnx",
            size_bytes=12_659_761,
            sha256="821cdbb1e65fbbabdde7dd0933f754797a343e56fd962729c61ffcefcd135929",
            urls=(
                "https://github.com/facefusion/facefusion-assets/releases/download/models-3.0.0/yoloface_8n.onnx",
                "https://huggingface.co/facefusion/models-3.0.0/resolve/main/yoloface_8n.onnx",
            ),
        ),
    ),
)
