"""2D-FAN-4: 68 points of a face from heat maps, iBUG 300-W order.

Follows: Bulat & Tzimiropoulos, "How far are we from solving the 2D & 3D Face Alignment problem?"
(arXiv:1703.07332). Weights: 1adrianb/face-alignment, as FaceFusion ships them.
"""

import cv2
import numpy as np

from facefusion_ui.arrays import Affine, Frame, Points68, transform_points
from facefusion_ui.blobs import to_blob
from facefusion_ui.cards import Licence, ModelCard, Weights
from facefusion_ui.contracts import Network
from facefusion_ui.faces import Face

SIDE = 256  # of the upright crop the network sees
BOX_PX = 195  # of the crop: the longer side of the face's box
CELL = 4  # pixels of the crop per cell of the network's answer


class Fan:
    """Implements `contracts.Landmarker`."""

    def __init__(self, network: Network) -> None:
        self._network = network
        (self._input,) = network.input_shapes

    def landmarks(self, frame: Frame, face: Face) -> Points68:
        to_crop = _upright(face)
        crop = cv2.warpAffine(frame, to_crop, (SIDE, SIDE), flags=cv2.INTER_LINEAR)
        points = self._network({self._input: to_blob(np.asarray(crop, np.uint8))})[0]
        to_frame: Affine = np.asarray(cv2.invertAffineTransform(to_crop), np.float32)
        return transform_points(points[0, :, :2] * CELL, to_frame)


def _upright(face: Face) -> Affine:
    """Return the map from the frame to a crop where the mouth is straight below the eyes."""
    left_top, right_bottom = face.box[:2], face.box[2:]
    scale = BOX_PX / max(float((right_bottom - left_top).max()), 1.0)
    # From eyes to mouth, not along the eyes: that line is short in a face seen from the side.
    across, down = face.points[3:].mean(axis=0) - face.points[:2].mean(axis=0)
    length = float(np.hypot(across, down))
    cos, sin = (down / length, across / length) if length > 0 else (1.0, 0.0)
    turn = scale * np.asarray([[cos, -sin], [sin, cos]])
    shift = SIDE / 2 - turn @ ((left_top + right_bottom) / 2)
    return np.concatenate([turn, shift[:, None]], axis=1).astype(np.float32)


CARDS = (
    ModelCard(
        name="2dfan4",
        task="face_landmarker",
        summary="68 points, steady with turned and covered faces",
        licence=Licence(
            "MIT per FaceFusion (vendor breadbread1984); BSD-3-Clause per face-alignment",
            True,
            "https://github.com/1adrianb/face-alignment/blob/master/LICENSE",
        ),
        open=Fan,
        runtime="onnx",
        bytes_per_pixel=1500,  # an estimate at 256 px, not measured
        weights=Weights(
            path="2dfan4.onnx",
            size_bytes=97_904_803,
            sha256="678c6fa539d52335a31c980feefdf4a6e02d781d83dce00af8a894f114557285",
            urls=(
                "https://github.com/facefusion/facefusion-assets/releases/download/models-3.0.0/2dfan4.onnx",
                "https://huggingface.co/facefusion/models-3.0.0/resolve/main/2dfan4.onnx",
            ),
        ),
    ),
)
