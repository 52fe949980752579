"""More detail from a small network: a large crop is worked on as interleaved small ones.

Each small crop takes every n-th pixel of every n-th row, so that it shows the whole face; put back
between each other, the results make the large crop.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from facefusion_ui.faces import AlignedFace, SwappedFace


def boosted(
    target: AlignedFace, factor: int, work: Callable[[AlignedFace], SwappedFace]
) -> SwappedFace:
    """Return `work(target)`, made of `factor` x `factor` runs on crops `factor` times smaller.

    Args:
        target: its crop's sides are multiples of `factor`.
    """
    if factor == 1:
        return work(target)
    crop = np.empty_like(target.crop)
    mask = np.ones(crop.shape[:2], np.float32)
    for row in range(factor):
        for column in range(factor):
            part = (slice(row, None, factor), slice(column, None, factor))
            small = np.ascontiguousarray(target.crop[part])
            done = work(replace(target, crop=small, points=target.points / np.float32(factor)))
            crop[part] = done.crop
            if done.mask is not None:
                mask[part] = done.mask
    return SwappedFace(crop, mask)
