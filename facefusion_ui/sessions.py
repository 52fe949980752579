"""An opened network as insightface's model classes know one: an onnxruntime session."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from facefusion_ui.contracts import Network


@dataclass(frozen=True)
class Port:
    """An input or an output: its name and declared shape."""

    name: str
    shape: tuple[int | str | None, ...]


class Session:
    """Answers what insightface asks of a session; the network stays the registry's.

    A network does not declare its outputs' shapes, so each is said to be two lengths, and an
    answer with a batch of one around such a table is given without it.
    """

    def __init__(self, network: Network) -> None:
        self._network = network

    def get_inputs(self) -> list[Port]:
        return [Port(name, shape) for name, shape in self._network.input_shapes.items()]

    def get_outputs(self) -> list[Port]:
        return [Port(name, (None, None)) for name in self._network.output_names]

    def run(
        self, names: Sequence[str] | None, feeds: Mapping[str, NDArray[np.generic]]
    ) -> list[NDArray[np.float32]]:
        """Return the outputs called `names`, in that order; None: all of them."""
        answers = dict(zip(self._network.output_names, self._network(feeds), strict=True))
        wanted = self._network.output_names if names is None else names
        return [_table(answers[name]) for name in wanted]


def _table(answer: NDArray[np.float32]) -> NDArray[np.float32]:
    return answer[0] if answer.ndim == 3 and len(answer) == 1 else answer
