"""Guards the account of memory on a real card: figures that are too small, memory that is kept, a
limit that is passed. `make gpu` runs these; they have no meaning on the processor."""

import gc

import numpy as np
import pytest

from benchmarks.standins import standin
from facefusion_ui.registry.device import nvidia_cards
from facefusion_ui.registry.ladder import Descent
from facefusion_ui.registry.registry import Registry
from facefusion_ui.registry.weights import Store
from tests.standin_models import Doubler, Namer, Painter, Restorer, card_of

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not nvidia_cards(), reason="no NVIDIA card is shown by a driver"),
]
MB = 1_000_000
SLACK_BYTES = 64 * MB  # handles that the libraries keep for each session

NETWORKS = {
    "w600k_r50": ("face_recognizer", Namer, 112, 586.4, ((1, 3, 112, 112),)),
    "inswapper_128": ("face_swapper", Painter, 128, 6198.5, ((1, 3, 128, 128), (1, 512))),
    "gfpgan_1_4": ("face_enhancer", Restorer, 512, 2026.5, ((1, 3, 512, 512),)),
}


@pytest.fixture
def models(monkeypatch):
    """Return a card of each stand-in, and a call that runs it once."""
    monkeypatch.setattr(
        Store, "locate", lambda _, card: standin(card.name.removeprefix("standin_"))
    )
    made = {}
    for name, (task, adapter, side, bytes_per_pixel, shapes) in NETWORKS.items():
        card = card_of(name, task, adapter, size_px=side, bytes_per_pixel=bytes_per_pixel)

        def call(adapter, shapes=shapes):
            names = list(adapter.network.input_shapes)
            blobs = [np.zeros(shape, np.float32) for shape in shapes]
            return adapter.network(dict(zip(names, blobs, strict=True)))

        made[name] = (card, call)
    return made


@pytest.fixture
def registry(models):
    """A registry on the card, with CUDA's own context already there."""
    with Registry(("cuda",)) as opened:
        card, call = models["w600k_r50"]
        opened.run(card, call, pixels=card.size_px**2)
        opened.release_all()
        gc.collect()
        yield opened


@pytest.mark.parametrize("name", NETWORKS)
def test_a_model_takes_no_more_than_its_card_says(registry, models, name) -> None:
    card, call = models[name]
    reading, pixels = registry.memory.reading, card.size_px**2
    before = reading.used_bytes
    need = registry.costs.need_bytes(card, pixels)
    registry.run(card, call, pixels=pixels)
    assert reading.used_bytes - before <= need + SLACK_BYTES
    registry.release_all()
    gc.collect()
    assert abs(reading.used_bytes - before) <= SLACK_BYTES


@pytest.mark.parametrize("limit_mb", [2000, 1000, 700, 300])
def test_any_limit_is_kept_and_every_model_runs(registry, models, limit_mb) -> None:
    reading, descent = registry.memory.reading, Descent()
    before = reading.used_bytes
    registry.memory.limit_bytes = limit_mb * MB
    most = 0
    for _ in range(2):
        for card, call in models.values():
            assert all(
                np.isfinite(out).all()
                for out in registry.run(card, call, descent, pixels=card.size_px**2)
            )
            most = max(most, reading.used_bytes - before)
    assert most <= limit_mb * MB + SLACK_BYTES


def test_tiles_on_the_card_are_the_whole(registry, monkeypatch) -> None:
    card = card_of(
        "real_esrgan_x2", "frame_enhancer", Doubler, scale=2, halo_px=16, bytes_per_pixel=3278
    )
    from facefusion_ui.steps.tile import in_tiles

    frame = np.random.default_rng(0).integers(0, 256, (256, 256, 3), np.uint8)
    whole = registry.run(card, lambda model: model.upscale(frame), pixels=256 * 256)
    tiled = registry.run(
        card, lambda model: in_tiles(frame, 128, 16, model.upscale), pixels=160 * 160
    )
    assert np.abs(whole.astype(int) - tiled).max() <= 2
