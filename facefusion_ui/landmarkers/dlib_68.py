"""dlib's regression trees: 68 points of a face, iBUG 300-W order.

Follows: Kazemi & Sullivan, "One Millisecond Face Alignment with an Ensemble of Regression Trees"
(CVPR 2014). Weights: trained on iBUG 300-W, non-commercial, carried by face-recognition-models.
"""

from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from facefusion_ui.arrays import Affine, Frame, Points68, fit_similarity, transform_points
from facefusion_ui.cards import Licence, ModelCard, Weights
from facefusion_ui.faces import Face

SIDE = 300  # of the upright crop the trees see; they read single pixels, so scale hardly matters
BOX = (0.2, 0.8)  # of the crop's side: where the box of dlib's own detector lies, both ways
# The five points in that box, averaged over the sample faces found by dlib's detector.
IN_BOX = np.asarray(
    [[0.30, 0.315], [0.70, 0.315], [0.5, 0.55], [0.335, 0.735], [0.665, 0.735]], np.float32
)
UPRIGHT = BOX[0] + (BOX[1] - BOX[0]) * IN_BOX
SHIFTS = ((0.0, 0.0), (-0.012, 0.0), (0.012, 0.0), (0.0, -0.012), (0.0, 0.012))


class Dlib68:
    """Implements `contracts.Landmarker`."""

    def __init__(self, weights_path: Path) -> None:
        import dlib

        self._dlib = dlib
        self._predict = dlib.shape_predictor(str(weights_path))

    def landmarks(self, frame: Frame, face: Face) -> Points68:
        to_crop = fit_similarity(face.points, UPRIGHT * SIDE)
        crop = cv2.warpAffine(frame, to_crop, (SIDE, SIDE), borderMode=cv2.BORDER_REPLICATE)
        grey = np.asarray(cv2.cvtColor(crop, cv2.COLOR_BGR2GRAY), np.uint8)
        # The mean over slightly moved boxes trembles less from frame to frame than one answer.
        points = np.mean([self._points_in(grey, shift) for shift in SHIFTS], axis=0)
        to_frame: Affine = np.asarray(cv2.invertAffineTransform(to_crop), np.float32)
        return transform_points(points.astype(np.float32), to_frame)

    def _points_in(
        self, grey: NDArray[np.uint8], shift_xy: tuple[float, float]
    ) -> NDArray[np.float64]:
        """Return (68, 2) points for dlib's usual box, moved by shares of the crop's side."""
        near, far = BOX
        x, y = shift_xy
        sides = (near + x, near + y, far + x, far + y)
        shape = self._predict(grey, self._dlib.rectangle(*(round(v * SIDE) for v in sides)))
        return np.asarray([(point.x, point.y) for point in shape.parts()], np.float64)


CARDS = (
    ModelCard(
        name="dlib_68",
        task="face_landmarker",
        summary="68 points in a few milliseconds, nothing to download",
        licence=Licence(
            "iBUG 300-W terms: non-commercial",
            False,
            "https://github.com/davisking/dlib-models",
        ),
        open=Dlib68,
        runtime="file",
        weights=Weights(
            package="face_recognition_models",
            path="models/shape_predictor_68_face_landmarks.dat",
            size_bytes=99_693_937,
            sha256="fbdc2cb80eb9aa7a758672cbfdda32ba6300efe9b6e6c7a299ff7e736b11b92f",
        ),
    ),
)
