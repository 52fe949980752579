"""Real networks of a few nodes whose need of memory is as large as a test wants."""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

MB = 1_000_000


def make_network(path: Path, weights_mb: float, dtype=np.float32) -> Path:
    """Write y = x + max(w), with as many weights as asked; a run takes twice the size of x."""
    weights = np.ones(max(1025, int(weights_mb * MB) // np.dtype(dtype).itemsize), dtype)
    kind = TensorProto.FLOAT if dtype == np.float32 else TensorProto.FLOAT16
    graph = helper.make_graph(
        [
            helper.make_node("ReduceMax", ["w"], ["top"], keepdims=0),
            helper.make_node("Cast", ["top"], ["one"], to=TensorProto.FLOAT),
            helper.make_node("Add", ["x", "one"], ["y"]),
        ],
        "add one",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N"])],
        [numpy_helper.from_array(weights, "w")],
    )
    assert kind == graph.initializer[0].data_type
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, path)
    return path
