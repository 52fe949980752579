"""Guards describing a face by ArcFace: colours the wrong way, other numbers than insightface's."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnx
import onnxruntime
import pytest
from insightface.model_zoo.arcface_onnx import ArcFaceONNX
from insightface.utils.face_align import norm_crop
from onnx import TensorProto, helper, numpy_helper

from facefusion_ui.faces import AlignedFace
from facefusion_ui.recognizers.arcface import Arcface
from tests.constant_networks import Opened

POINTS = np.float32([[90, 100], [150, 96], [122, 135], [98, 170], [146, 168]])


def write_recognizer(path: Path, weights: np.ndarray) -> Path:
    """Write a network that averages 16 px blocks and multiplies them by `weights`."""
    graph = helper.make_graph(
        [
            helper.make_node("AveragePool", ["in"], ["p"], kernel_shape=[16] * 2, strides=[16] * 2),
            helper.make_node("Flatten", ["p"], ["flat"]),
            helper.make_node("MatMul", ["flat", "w"], ["out"]),
        ],
        "recogniser",
        [helper.make_tensor_value_info("in", TensorProto.FLOAT, ["N", 3, 112, 112])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, ["N", 512])],
        [numpy_helper.from_array(weights.astype(np.float32), "w")],
    )
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path
    )
    return path


def aligned(crop: np.ndarray) -> AlignedFace:
    return AlignedFace(crop, np.eye(2, 3, dtype=np.float32), POINTS, None)


# insightface calls scikit-image by an old name
@pytest.mark.filterwarnings("ignore:`estimate` is deprecated:FutureWarning")
def test_a_face_is_described_as_insightface_describes_it(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    path = write_recognizer(tmp_path / "n.onnx", rng.normal(size=(147, 512)))
    frame = rng.integers(0, 256, (256, 256, 3), np.uint8)
    bare = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    theirs = ArcFaceONNX(str(path), bare).get(frame, SimpleNamespace(kps=POINTS))
    ours = Arcface(Opened(path)).embed(aligned(norm_crop(frame, POINTS, 112)))
    assert ours.shape == (512,)
    assert ours.dtype == np.float32
    assert np.array_equal(ours, theirs)
    assert np.linalg.norm(ours) > 2  # raw, not brought to length one


def test_red_goes_in_first_and_as_minus_one_to_one(tmp_path: Path) -> None:
    weights = np.zeros((147, 512))
    weights[[0, 49, 98], [0, 1, 2]] = 1  # the first block of each channel
    crop = np.full((112, 112, 3), (0, 51, 255), np.uint8)
    path = write_recognizer(tmp_path / "n.onnx", weights)
    assert np.allclose(Arcface(Opened(path)).embed(aligned(crop))[:3], [1, -0.6, -1], atol=1e-6)
