"""Guards the enlarging of frames: the packages' own picture, odd sides, tiles without seams."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from benchmarks.standins import standin
from facefusion_ui.registry.backends import OnnxNetwork
from facefusion_ui.registry.catalog import card
from facefusion_ui.registry.registry import Registry
from facefusion_ui.registry.weights import Store
from facefusion_ui.steps.tile import in_tiles
from facefusion_ui.upscalers import real_esrgan
from facefusion_ui.upscalers.real_esrgan import RealEsrgan


def theirs(network, frame: np.ndarray) -> np.ndarray:
    """Return what the package's network paints, as Real-ESRGAN reads and writes pictures."""
    picture = torch.from_numpy(frame[..., ::-1].transpose(2, 0, 1).copy()).float()[None] / 255
    with torch.inference_mode():
        out = network.eval()(picture)[0].clamp(0, 1).numpy()
    return (out.transpose(1, 2, 0)[..., ::-1] * 255).round().astype(int)


def test_x2_is_the_packages_own_picture_whole_and_in_tiles(astronaut) -> None:
    path = standin("real_esrgan_x2")
    state = torch.load(path.with_suffix(".pth"), weights_only=True)
    frame = np.ascontiguousarray(astronaut[80:176, 180:276])
    upscaler = RealEsrgan(OnnxNetwork(path, provider="cpu", device_id=0))
    whole = upscaler.upscale(frame)
    assert np.abs(whole - theirs(real_esrgan.build_large(state, scale=2), frame)).max() <= 1
    halo_px = card("real_esrgan_x2", "frame_enhancer").halo_px
    tiled = in_tiles(frame, 48, halo_px, upscaler.upscale)
    assert np.abs(tiled.astype(int) - whole).max() <= 2


def test_odd_sides_are_kept(astronaut) -> None:
    upscaler = RealEsrgan(OnnxNetwork(standin("real_esrgan_x2"), provider="cpu", device_id=0))
    assert upscaler.upscale(astronaut[:33, :47]).shape == (66, 94, 3)


@pytest.fixture
def small(tmp_path):
    """The compact network with random weights, as a .pth file, and its card."""
    torch.manual_seed(0)
    network = real_esrgan.make_small()
    found = card("real_esrgan_general_x4", "frame_enhancer")
    torch.save({"params": network.state_dict()}, tmp_path / found.weights.path)
    return network, found


def test_a_pth_file_is_converted_once_and_paints_the_same_as_torch(
    small, tmp_path, astronaut
) -> None:
    network, found = small
    frame = np.ascontiguousarray(astronaut[80:140, 180:240])
    store = Store(tmp_path, vouched=(found.name,))
    with Registry(("cpu",), store=store) as registry:
        first = registry.run(found, lambda model: model.upscale(frame))
        (made,) = (tmp_path / "converted").iterdir()
        written_ns = made.stat().st_mtime_ns
        registry.release_all()
        again = registry.run(found, lambda model: model.upscale(frame))
        registry.release_all()
        plain = registry.run(replace(found, runtime="torch"), lambda model: model.upscale(frame))
        tiled = registry.run(found, lambda m: in_tiles(frame, 16, found.halo_px, m.upscale))
    assert made.stat().st_mtime_ns == written_ns
    assert first.shape == (240, 240, 3)
    assert np.array_equal(first, again)
    expected = theirs(network, frame)
    for frame in (first, plain, tiled):
        assert np.abs(frame.astype(int) - expected).max() <= 1
