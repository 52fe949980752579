"""YuNet: boxes and five points from a network of 230 KB.

Follows: Wu et al., "YuNet: A Tiny Millisecond-level Face Detector" (Machine Intelligence Research,
2023). Weights: MIT, OpenCV's model zoo.
"""

import numpy as np

from facefusion_ui.arrays import Frame
from facefusion_ui.cards import Licence, ModelCard, Weights
from facefusion_ui.contracts import Network
from facefusion_ui.detectors.yolo_face import best, fit
from facefusion_ui.faces import Face

STRIDES = (8, 16, 32)  # pixels of the network's input per cell


class Yunet:
    """Implements `contracts.Detector`."""

    def __init__(self, network: Network) -> None:
        self._network = network
        ((self._input, self._shape),) = network.input_shapes.items()

    def detect(self, frame: Frame, *, size_px: int, score: float) -> list[Face]:
        picture, to_frame = fit(frame, size_px, self._shape)
        # the one network here that takes its colours as they are: BGR, 0..255
        blob = np.ascontiguousarray(picture.transpose(2, 0, 1), np.float32)[None]
        names = self._network.output_names
        answers = dict(zip(names, self._network({self._input: blob}), strict=True))
        corners, points, scores = [], [], []
        for stride in STRIDES:
            kinds = ("cls", "obj", "bbox", "kps")
            face, thing, box, five = (answers[f"{kind}_{stride}"][0] for kind in kinds)
            rows, columns = (side // stride for side in picture.shape[:2])
            grid = np.stack(np.meshgrid(np.arange(columns), np.arange(rows)), axis=-1)
            cells = grid.reshape(-1, 2).astype(np.float32)
            sure = face[:, 0] * thing[:, 0]
            seen = sure >= score
            centres = (cells[seen] + box[seen, :2]) * stride
            halves = np.exp(box[seen, 2:]) * stride / 2
            corners.append(np.concatenate([centres - halves, centres + halves], axis=1))
            points.append((cells[seen, None] + five[seen].reshape(-1, 5, 2)) * stride)
            scores.append(sure[seen])
        return best(
            np.concatenate(corners), np.concatenate(points), np.concatenate(scores), to_frame
        )


CARDS = (
    ModelCard(
        name="yunet_2023_mar",
        task="face_detector",
        summary="230 KB, fast; commercial use is allowed",
        licence=Licence(
            "MIT",
            True,
            "https://github.com/opencv/opencv_zoo/tree/main/models/face_detection_yunet",
        ),
        open=Yunet,
        runtime="onnx",
        bytes_per_pixel=100,  # an estimate, not measured
        weights=Weights(
            path="face_detection_yunet_2023mar.onnx",
            size_bytes=232_589,
            sha256="8f2383e4dd3cfbb4553ea8718107fc0423210dc964f9f4280604804ed2552fa4",
            urls=(
                "https://media.githubusercontent.com/media/opencv/opencv_zoo/main/models/face_detection_yunet/face_detection_yunet_2023mar.onnx",
                "https://huggingface.co/opencv/face_detection_yunet/resolve/main/face_detection_yunet_2023mar.onnx",
            ),
        ),
    ),
)
