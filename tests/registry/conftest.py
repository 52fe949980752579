"""Cards of real networks whose weights are as large as a test wants."""

from pathlib import Path

import numpy as np
import pytest

from facefusion_ui.cards import Licence, ModelCard, Weights
from facefusion_ui.registry.weights import Store
from tests.networks import MB, make_network

LICENCE = Licence("MIT", True, "https://example.org")


class AddOne:
    """An adapter: arrays in, arrays out."""

    def __init__(self, network) -> None:
        self.network = network

    def add(self, count: int = 8) -> np.ndarray:
        (out,) = self.network({"x": np.zeros(count, np.float32)})
        return out


@pytest.fixture
def model(tmp_path, monkeypatch):
    """Make a card of a network with that many megabytes of weights; `known`: the card says so."""
    paths: dict[str, Path] = {}
    locate = Store.locate
    monkeypatch.setattr(
        Store, "locate", lambda store, card: paths.get(card.name) or locate(store, card)
    )

    def make(
        name: str,
        weights_mb: float,
        *,
        task="face_swapper",
        dtype=np.float32,
        known: bool = False,
        **kwargs,
    ) -> ModelCard:
        paths[name] = make_network(tmp_path / f"{name}.onnx", weights_mb, dtype)
        return ModelCard(
            name=name,
            task=task,
            summary="adds one",
            licence=LICENCE,
            open=AddOne,
            runtime="onnx",
            weights=Weights(name, int(weights_mb * MB) if known else 0, name),
            **kwargs,
        )

    return make
