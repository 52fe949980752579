"""Guards the 68 points: off the face, lost on a turned head, or trembling from frame to frame."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

from facefusion_ui.arrays import transform_points
from facefusion_ui.faces import Face
from facefusion_ui.registry.catalog import card


@pytest.fixture(scope="module")
def find(registry):
    detector, landmarker = card("centerface", "face_detector"), card("dlib_68", "face_landmarker")

    def landmarks(frame, face):
        return registry.run(landmarker, lambda model: model.landmarks(frame, face))

    def run(frame) -> Face:
        face = registry.run(detector, lambda d: d.detect(frame, size_px=640, score=0.5))[0]
        return replace(face, landmarks=landmarks(frame, face))

    run.landmarks = landmarks
    return run


def eyes_px(points) -> float:
    return float(np.linalg.norm(points[36:42].mean(axis=0) - points[42:48].mean(axis=0)))


def test_the_points_agree_with_the_detectors_five(find, astronaut, hopper) -> None:
    for frame in (astronaut, hopper):
        face = find(frame)
        points = face.landmarks
        five = np.stack(
            [points[36:42].mean(0), points[42:48].mean(0), points[30], points[48], points[54]]
        )
        assert np.linalg.norm(five - face.points, axis=1).mean() < 0.1 * eyes_px(points)


@pytest.mark.parametrize("angle", [-60, 30, 90, 180])
def test_a_turned_head_has_its_points_turned(find, astronaut, angle) -> None:
    upright = find(astronaut)
    turn = cv2.getRotationMatrix2D((256, 256), angle, 1).astype(np.float32)
    turned = cv2.warpAffine(astronaut, turn, (512, 512), borderMode=cv2.BORDER_REFLECT)
    face = replace(upright, points=transform_points(upright.points, turn))
    wanted = transform_points(upright.landmarks, turn)
    error = np.linalg.norm(find.landmarks(turned, face) - wanted, axis=1).mean()
    assert error < 0.03 * eyes_px(wanted)


@pytest.mark.parametrize("scale", [0.4, 3.0])
def test_the_points_follow_the_size_of_the_face(find, astronaut, scale) -> None:
    face = find(astronaut)
    sized = cv2.resize(astronaut, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    found = find.landmarks(sized, replace(face, points=face.points * scale))
    assert np.linalg.norm(found / scale - face.landmarks, axis=1).mean() < 0.04 * eyes_px(
        face.landmarks
    )


def test_points_that_tremble_by_a_pixel_move_the_landmarks_by_less(find, astronaut) -> None:
    face = find(astronaut)
    noise = np.random.default_rng(0)
    found = [
        find.landmarks(
            astronaut,
            replace(face, points=face.points + noise.normal(0, 1, (5, 2)).astype(np.float32)),
        )
        for _ in range(12)
    ]
    assert np.std(found, axis=0).mean() < 0.7
