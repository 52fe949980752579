"""Guards work in tiles: a seam, a lost row at the border, a tile that sees too little."""

import cv2
import numpy as np
import pytest

from facefusion_ui.steps.tile import in_tiles

RADIUS = 3


def blurred(frame: np.ndarray) -> np.ndarray:
    """Enlarge a picture twice by a method that looks 3 pixels around."""
    soft = cv2.boxFilter(frame, -1, (2 * RADIUS + 1,) * 2, borderType=cv2.BORDER_REPLICATE)
    return np.asarray(cv2.resize(soft, None, fx=2, fy=2, interpolation=cv2.INTER_NEAREST))


@pytest.mark.parametrize("size_wh", [(64, 64), (65, 33), (7, 130), (1, 1)])
@pytest.mark.parametrize("tile_px", [16, 32])
def test_tiles_with_enough_around_them_leave_no_trace(size_wh, tile_px) -> None:
    frame = np.random.default_rng(0).integers(0, 256, (*size_wh[::-1], 3), np.uint8)
    assert np.array_equal(in_tiles(frame, tile_px, RADIUS, blurred), blurred(frame))


def test_tiles_with_too_little_around_them_show() -> None:
    frame = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
    assert not np.array_equal(in_tiles(frame, 16, 1, blurred), blurred(frame))


def test_a_tile_is_never_larger_than_asked_for() -> None:
    seen = []

    def work(piece: np.ndarray) -> np.ndarray:
        seen.append(piece.shape[:2])
        return piece

    frame = np.zeros((100, 70, 3), np.uint8)
    assert in_tiles(frame, 32, 4, work).shape == frame.shape
    assert max(max(shape) for shape in seen) == 40
