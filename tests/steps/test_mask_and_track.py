"""Guards edges and steadiness: a visible box, a mask that cuts, landmarks that lag or tremble."""

import numpy as np
import pytest

from facefusion_ui.faces import Face
from facefusion_ui.steps.mask import area_mask, box_mask
from facefusion_ui.steps.track import Steadier

SHAPE = np.random.default_rng(1).uniform(-40, 40, (68, 2)).astype(np.float32)
SHAPE[36:42] = (-20, -10)
SHAPE[42:48] = (20, -10)


def face_at(landmarks) -> Face:
    low, high = landmarks.min(axis=0), landmarks.max(axis=0)
    box = np.concatenate([low, high]).astype(np.float32)
    return Face(box, landmarks[:5], 0.9, landmarks.astype(np.float32))


def test_the_box_mask_meets_the_border_at_nothing_and_has_no_step() -> None:
    mask = box_mask((200, 160), 0.3, (0, 0, 0, 0))
    edge = np.concatenate([mask[0], mask[-1], mask[:, 0], mask[:, -1]])
    assert edge.max() < 0.01
    assert mask[80, 100] == 1
    assert np.abs(np.diff(mask, axis=0)).max() < 0.1


def test_padding_keeps_that_much_of_each_side() -> None:
    mask = box_mask((100, 100), 0.0, (10, 20, 30, 40))
    rows, columns = np.nonzero(mask)
    assert (rows.min(), rows.max()) == (10, 69)
    assert (columns.min(), columns.max()) == (40, 79)


def test_padding_that_leaves_nothing_gives_an_empty_mask() -> None:
    assert not box_mask((100, 100), 0.3, (60, 0, 60, 0)).any()


def test_the_area_mask_is_the_face_and_nothing_beyond() -> None:
    landmarks = SHAPE + 60
    mask = area_mask((120, 120), landmarks)
    assert mask[60, 60] == 1
    assert mask[0, 0] == 0
    assert 0 <= mask.min() <= mask.max() <= 1


def test_a_trembling_still_face_is_steadied() -> None:
    noise = np.random.default_rng(2)
    steadier = Steadier()
    frames = [SHAPE + 100 + noise.normal(0, 0.4, SHAPE.shape) for _ in range(60)]
    out = [steadier.steady([face_at(frame)])[0].landmarks for frame in frames]
    tremble_in = np.std(np.diff(frames, axis=0))
    tremble_out = np.std(np.diff(out, axis=0))
    assert tremble_out < 0.6 * tremble_in


def test_a_moving_head_is_followed_without_lag() -> None:
    steadier = Steadier()
    for step in range(20):
        landmarks = SHAPE * (1 + 0.01 * step) + 100 + 2.0 * step
        (steadied,) = steadier.steady([face_at(landmarks)])
        assert np.abs(steadied.landmarks - landmarks).max() < 0.01


def test_an_opening_mouth_is_followed_at_once() -> None:
    steadier = Steadier()
    steadier.steady([face_at(SHAPE + 100)])
    opened = SHAPE + 100
    opened[57] += (0, 12)
    (steadied,) = steadier.steady([face_at(opened)])
    assert np.linalg.norm(steadied.landmarks[57] - opened[57]) < 0.6


def test_another_person_at_another_place_is_not_mixed_in() -> None:
    steadier = Steadier()
    steadier.steady([face_at(SHAPE + 100)])
    elsewhere = SHAPE[::-1] + 400
    (steadied,) = steadier.steady([face_at(elsewhere)])
    assert steadied.landmarks == pytest.approx(elsewhere)
