"""Guards the 68 of insightface's 106 points: its own numbers, and each in its place on a face."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from insightface.app.common import Face as TheirFace
from insightface.model_zoo.landmark import Landmark
from onnx import TensorProto, helper, numpy_helper

from facefusion_ui.faces import Face
from facefusion_ui.landmarkers.insightface_106 import AS_68, Insightface106
from tests.constant_networks import Opened


@pytest.fixture
def network(tmp_path) -> Path:
    """Write a network whose 212 answers hang on the picture's colours; as mxnet names its nodes."""
    rng = np.random.default_rng(0)
    mix = rng.normal(0, 1e-3, (3, 212)).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("Identity", ["data"], ["same"], name="bn_data"),
            helper.make_node("ReduceMean", ["same"], ["means"], axes=[2, 3], keepdims=0),
            helper.make_node("MatMul", ["means", "mix"], ["fc1"]),
        ],
        "points",
        [helper.make_tensor_value_info("data", TensorProto.FLOAT, ["None", 3, 192, 192])],
        [helper.make_tensor_value_info("fc1", TensorProto.FLOAT, [1, 212])],
        [numpy_helper.from_array(mix, "mix")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, tmp_path / "2d106det.onnx")
    return tmp_path / "2d106det.onnx"


def test_the_points_are_insightfaces_own(network, astronaut) -> None:
    box = np.float32([180, 60, 280, 200])
    expected = Landmark(str(network)).get(astronaut, TheirFace(bbox=box))
    face = Face(box, np.zeros((5, 2), np.float32), 0.9)
    points = Insightface106(Opened(network)).landmarks(astronaut, face)
    assert points.shape == (68, 2)
    assert points.dtype == np.float32
    assert np.allclose(points, expected[list(AS_68)], atol=1e-3)


def test_every_point_is_used_at_most_once() -> None:
    assert len(set(AS_68)) == len(AS_68) == 68
    assert max(AS_68) < 106
