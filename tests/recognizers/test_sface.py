"""Guards SFace: its network is fed as OpenCV's own class feeds it."""

import cv2
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from facefusion_ui.faces import AlignedFace
from facefusion_ui.recognizers.sface import Sface
from tests.constant_networks import Opened


def test_a_face_is_described_as_opencv_describes_it(tmp_path, astronaut) -> None:
    rng = np.random.default_rng(0)
    mix = rng.normal(0, 1e-2, (128, 3, 112, 112)).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["data", "mix"], ["whole"], kernel_shape=[112, 112]),
            helper.make_node("Flatten", ["whole"], ["fc1"]),
        ],
        "sface",
        [helper.make_tensor_value_info("data", TensorProto.FLOAT, [1, 3, 112, 112])],
        [helper.make_tensor_value_info("fc1", TensorProto.FLOAT, [1, 128])],
        [numpy_helper.from_array(mix, "mix")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path = tmp_path / "sface.onnx"
    onnx.save(model, path)
    crop = np.ascontiguousarray(astronaut[60:172, 170:282])
    expected = cv2.FaceRecognizerSF.create(str(path), "").feature(crop).ravel()
    face = AlignedFace(crop, np.eye(2, 3, dtype=np.float32), np.zeros((5, 2), np.float32), None)
    embedding = Sface(Opened(path)).embed(face)
    assert embedding.shape == (128,)
    assert np.allclose(embedding, expected, rtol=1e-3, atol=1e-2)
