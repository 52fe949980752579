"""Swappers of the user's own, as the TOML files beside them say."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facefusion_ui.blobs import PLAIN, WHOLE, from_blob, to_blob
from facefusion_ui.cards import ModelCard
from facefusion_ui.contracts import Network
from facefusion_ui.errors import ModelError
from facefusion_ui.faces import AlignedFace, Source, SwappedFace
from facefusion_ui.own import OwnModel


class OwnSwapper:
    """Implements `contracts.Swapper`; a second answer, if there is one, is the mask."""

    def __init__(self, network: Network, model: OwnModel) -> None:
        self._network = network
        self._model = model
        self._source = needed_input(network, model, model.source)
        self._target = needed_input(network, model, model.target)

    def swap(self, source: Source, target: AlignedFace) -> SwappedFace:
        mean, std = self._model.mean, self._model.std
        feeds = {
            self._source: self._person(source),
            self._target: to_blob(target.crop, mean, std),
        }
        picture, *masks = self._network(feeds)
        unit = self._model.answer == "unit"
        crop = from_blob(picture, PLAIN if unit else mean, WHOLE if unit else std)
        mask = np.clip(masks[0].reshape(crop.shape[:2]), 0, 1) if masks else None
        return SwappedFace(crop, mask)

    def _person(self, source: Source) -> NDArray[Any]:
        if source.picture is not None:
            return to_blob(source.picture)
        assert source.embedding is not None  # the card asks for one of them
        length = np.linalg.norm(source.embedding) if self._model.source_is != "embedding" else 1
        return np.asarray(source.embedding[None] / length, np.float32)


def needed_input(network: Network, model: OwnModel, name: str) -> str:
    """Return `name` if the network has such an input.

    Raises:
        ModelError: it has not.
    """
    if name not in network.input_shapes:
        raise ModelError(
            f"{model.file} has no input {name!r}; it has {', '.join(network.input_shapes)}",
            hint=f"Say it in {model.name}.toml.",
        )
    return name


def card_of(model: OwnModel) -> ModelCard:
    """Return the card of a swapper."""
    picture = model.source_is == "picture"
    return ModelCard(
        name=model.name,
        task="face_swapper",
        summary=model.summary,
        licence=model.terms,
        open=partial(OwnSwapper, model=model),
        runtime="onnx",
        weights=model.weights,
        template=model.template,
        size_px=model.size,
        recognizer="" if picture else model.recognizer,
        converter="" if picture else model.converter,
        source_template=model.source_template if picture else None,
        source_size_px=model.source_size if picture else 0,
    )


CARDS: tuple[ModelCard, ...] = ()
