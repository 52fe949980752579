"""Face enhancers of the user's own, as the TOML files beside them say."""

from functools import partial

from facefusion_ui.arrays import Crop
from facefusion_ui.blobs import PLAIN, WHOLE, from_blob, to_blob
from facefusion_ui.cards import ModelCard
from facefusion_ui.contracts import Network
from facefusion_ui.errors import ModelError
from facefusion_ui.faces import AlignedFace
from facefusion_ui.own import OwnModel


class OwnEnhancer:
    """Implements `contracts.Enhancer`."""

    def __init__(self, network: Network, model: OwnModel) -> None:
        if len(network.input_shapes) != 1:
            raise ModelError(
                f"{model.file} has {len(network.input_shapes)} inputs, an enhancer has one",
                hint=f"Look whether task is right in {model.name}.toml.",
            )
        self._network = network
        self._model = model
        (self._input,) = network.input_shapes

    def enhance(self, target: AlignedFace, *, weight: float) -> Crop:
        mean, std = self._model.mean, self._model.std
        answer = self._network({self._input: to_blob(target.crop, mean, std)})[0]
        unit = self._model.answer == "unit"
        return from_blob(answer, PLAIN if unit else mean, WHOLE if unit else std)


def card_of(model: OwnModel) -> ModelCard:
    """Return the card of an enhancer."""
    return ModelCard(
        name=model.name,
        task="face_enhancer",
        summary=model.summary,
        licence=model.terms,
        open=partial(OwnEnhancer, model=model),
        runtime="onnx",
        weights=model.weights,
        template=model.template,
        size_px=model.size,
    )


CARDS: tuple[ModelCard, ...] = ()
