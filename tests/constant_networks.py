"""Real networks whose answers a test chooses; only the picture's first colour can change them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Array = NDArray[np.float32]


def write_network(
    path: Path,
    answers: Mapping[str, Array],
    shape: Sequence[int | str] = (1, 3, "H", "W"),
    reddens: Mapping[str, Array] | None = None,
) -> Path:
    """Write a network that gives `answers`, plus `reddens` times the mean of its first channel."""
    nodes = [
        helper.make_node("ReduceMean", ["input"], ["means"], axes=[2, 3], keepdims=0),
        helper.make_node("Gather", ["means", "zero"], ["of_batch"], axis=1),
        helper.make_node("ReduceMean", ["of_batch"], ["first"], axes=[0], keepdims=0),
    ]
    arrays = [numpy_helper.from_array(np.int64(0), "zero")]
    for name, answer in answers.items():
        red = (reddens or {}).get(name, np.zeros_like(answer))
        arrays += [
            numpy_helper.from_array(answer, f"{name} base"),
            numpy_helper.from_array(red, f"{name} red"),
        ]
        nodes += [
            helper.make_node("Mul", ["first", f"{name} red"], [f"{name} tint"]),
            helper.make_node("Add", [f"{name} base", f"{name} tint"], [name]),
        ]
    graph = helper.make_graph(
        nodes,
        "constant",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, shape)],
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, answer.shape)
            for name, answer in answers.items()
        ],
        arrays,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, path)
    return path


class Opened:
    """Implements `contracts.Network`; keeps what it was fed."""

    def __init__(self, path: Path) -> None:
        self._session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        self.input_shapes = {port.name: tuple(port.shape) for port in self._session.get_inputs()}
        self.output_names = tuple(port.name for port in self._session.get_outputs())
        self.fed: list[Array] = []

    def last_initializer(self) -> Array:
        raise NotImplementedError

    def __call__(self, feeds: Mapping[str, NDArray[np.generic]]) -> list[Array]:
        self.fed += list(feeds.values())
        return self._session.run(None, dict(feeds))
