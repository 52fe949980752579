"""Working on a frame in tiles, each with enough of its surroundings that no seam shows."""

from collections.abc import Callable

import numpy as np

from facefusion_ui.arrays import Frame


def in_tiles(
    frame: Frame, tile_px: int | None, halo_px: int, work: Callable[[Frame], Frame]
) -> Frame:
    """Return `work(frame)`, put together from tiles.

    Args:
        frame: (H, W, 3) uint8, BGR. Not modified.
        tile_px: side of a tile; None: the frame in one piece.
        halo_px: what is added around each tile, where there is a frame, and cut off after.
        work: enlarges a picture by a whole number; depends on no pixel beyond `halo_px`.
    """
    height, width = frame.shape[:2]
    if tile_px is None:
        return work(frame)
    out = np.empty((0,), np.uint8)
    for top in range(0, height, tile_px):
        for left in range(0, width, tile_px):
            bottom, right = min(top + tile_px, height), min(left + tile_px, width)
            y, x = max(0, top - halo_px), max(0, left - halo_px)
            piece = frame[y : bottom + halo_px, x : right + halo_px]
            done = work(np.ascontiguousarray(piece))
            scale = done.shape[0] // piece.shape[0]
            if not out.size:
                out = np.empty((height * scale, width * scale, 3), np.uint8)
            inner = done[(top - y) * scale :, (left - x) * scale :]
            rows, columns = (bottom - top) * scale, (right - left) * scale
            out[top * scale : top * scale + rows, left * scale : left * scale + columns] = inner[
                :rows, :columns
            ]
    return out
