"""Guards the large crop made of small runs: each pixel comes from the run that saw it."""

import numpy as np
import pytest

from facefusion_ui.faces import AlignedFace, SwappedFace
from facefusion_ui.steps.boost import boosted


@pytest.mark.parametrize("factor", [1, 2, 4])
def test_every_pixel_passes_the_network_once_in_a_picture_of_the_whole_face(factor) -> None:
    rng = np.random.default_rng(0)
    crop = rng.integers(0, 256, (64, 64, 3), np.uint8)
    target = AlignedFace(crop, np.eye(2, 3), np.float32([[16, 32]] * 5), None)
    seen = []

    def invert(part: AlignedFace) -> SwappedFace:
        seen.append(part)
        return SwappedFace(255 - part.crop, part.crop[..., 0] / np.float32(255))

    done = boosted(target, factor, invert)
    assert np.array_equal(done.crop, 255 - crop)
    assert np.allclose(done.mask, crop[..., 0] / 255)
    assert len(seen) == factor**2
    assert {part.crop.shape for part in seen} == {(64 // factor, 64 // factor, 3)}
    assert np.allclose(seen[0].points, np.float32([[16, 32]]) / factor)
