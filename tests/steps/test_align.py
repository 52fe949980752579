"""Guards cutting and pasting: a face a pixel off, a seam, or a changed pixel far from the face."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facefusion_ui.arrays import Frame, Points5, transform_points
from facefusion_ui.faces import Face
from facefusion_ui.steps.align import TEMPLATES, align, estimate, paste

POINTS = np.asarray([[60, 70], [100, 66], [82, 92], [66, 112], [102, 108]], np.float32)


def noise_frame(height: int = 200, width: int = 160) -> Frame:
    return np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8)


def smooth_frame() -> Frame:
    y, x = np.mgrid[0:200, 0:160]
    return np.dstack([x, y, (x + y) // 2]).astype(np.uint8)


def face_at(points: Points5) -> Face:
    low, high = points.min(axis=0), points.max(axis=0)
    landmarks = np.linspace(low - 10, high + 10, 68).astype(np.float32)
    return Face(np.concatenate([low - 20, high + 20]), points, 0.9, landmarks)


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_face_that_lies_as_the_template_maps_onto_it(template) -> None:
    lying = np.asarray(TEMPLATES[template], np.float32) * 256
    angle = np.deg2rad(25)
    turn = 0.7 * np.asarray([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    in_frame = (lying @ turn.T + (40, 90)).astype(np.float32)
    mapped = transform_points(in_frame, estimate(in_frame, template, 256))
    assert np.abs(mapped - lying).max() < 0.01


def test_a_region_is_the_frame_pixel_for_pixel() -> None:
    frame = noise_frame()
    target = align(frame, face_at(POINTS), "region", 0)
    x, y = (-target.to_crop[:, 2]).astype(int)
    height, width = target.crop.shape[:2]
    inside = frame[max(0, y) : y + height, max(0, x) : x + width]
    assert np.array_equal(
        target.crop[max(0, -y) :, max(0, -x) :][: inside.shape[0], : inside.shape[1]], inside
    )
    assert np.allclose(target.points, POINTS - (x, y))


@given(
    dx=st.integers(-120, 120),
    dy=st.integers(-150, 150),
    weight=st.floats(0, 1, width=32),
)
def test_pasting_a_region_back_changes_nothing_wherever_the_face_lies(dx, dy, weight) -> None:
    frame = noise_frame()
    moved = POINTS + np.asarray([dx, dy], np.float32)
    target = align(frame, face_at(moved), "region", 0)
    mask = np.full(target.crop.shape[:2], weight, np.float32)
    assert np.array_equal(paste(frame, target.crop, mask, target.to_crop), frame)


def test_aligning_then_pasting_is_the_identity_inside_the_mask() -> None:
    frame = smooth_frame()
    target = align(frame, face_at(POINTS), "arcface_128", 256)
    mask = np.zeros((256, 256), np.float32)
    mask[40:216, 40:216] = 1
    pasted = paste(frame, target.crop, mask, target.to_crop)
    assert np.abs(pasted.astype(int) - frame).max() <= 1


def test_pixels_the_mask_does_not_reach_are_bit_identical() -> None:
    frame = noise_frame()
    target = align(frame, face_at(POINTS), "arcface_128", 128)
    mask = np.zeros((128, 128), np.float32)
    mask[50:70, 50:70] = 1
    white = np.full((128, 128, 3), 255, np.uint8)
    pasted = paste(frame, white, mask, target.to_crop)
    corners = np.asarray([[48, 48], [71, 48], [48, 71], [71, 71]], np.float32)
    inverse = np.linalg.inv(np.vstack([target.to_crop, [0, 0, 1]]))[:2].astype(np.float32)
    reach = transform_points(corners, inverse)
    (x0, y0), (x1, y1) = np.floor(reach.min(axis=0)), np.ceil(reach.max(axis=0))
    outside = np.ones(frame.shape[:2], bool)
    outside[int(y0) : int(y1) + 1, int(x0) : int(x1) + 1] = False
    assert np.array_equal(pasted[outside], frame[outside])
    assert (pasted[~outside] == 255).all(axis=-1).any()


def test_a_large_face_is_shrunk_without_aliasing() -> None:
    stripes = np.zeros((1600, 1600, 3), np.uint8)
    stripes[:, ::2] = 255  # far finer than the crop can show: must turn grey
    points = np.asarray(TEMPLATES["arcface_128"], np.float32) * 1500 + 40
    crop = align(stripes, face_at(points), "arcface_128", 128).crop
    assert np.abs(crop[8:-8, 8:-8].astype(int) - 127).max() <= 3


def test_a_shrunk_crop_lies_where_its_matrix_says() -> None:
    frame = np.zeros((1600, 1600, 3), np.uint8)
    points = np.asarray(TEMPLATES["arcface_128"], np.float32) * 1500 + 40
    target = align(frame, face_at(points), "arcface_128", 128)
    y, x = np.mgrid[0:1600, 0:1600]
    at = np.asarray([[800.0, 700.0]], np.float32)
    frame[np.hypot(x - at[0, 0], y - at[0, 1]) < 40] = 255
    crop = align(frame, face_at(points), "arcface_128", 128).crop[..., 0].astype(float)
    rows, columns = np.mgrid[0:128, 0:128]
    centre = [(columns * crop).sum() / crop.sum(), (rows * crop).sum() / crop.sum()]
    assert np.abs(transform_points(at, target.to_crop)[0] - centre).max() < 0.05


def test_a_mask_of_another_size_is_refused() -> None:
    frame = noise_frame()
    target = align(frame, face_at(POINTS), "arcface_128", 128)
    with pytest.raises(ValueError, match=r"mask must be \(128, 128\), got \(64, 64\)"):
        paste(frame, target.crop, np.ones((64, 64), np.float32), target.to_crop)
