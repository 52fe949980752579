"""Guards reading one array of a large file without loading it, and refusing what is no graph."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from facefusion_ui.errors import ModelError
from facefusion_ui.registry.backends import OnnxNetwork
from facefusion_ui.registry.graphs import last_initializer
from tests.networks import make_network


def write(path: Path, arrays: dict[str, np.ndarray]) -> Path:
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy"]
    graph = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["y"])],
        "copy",
        ends[:1],
        ends[1:],
        [numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    onnx.save(helper.make_model(graph), path)
    return path


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_the_last_array_is_the_last_one_stored(tmp_path: Path, dtype) -> None:
    wanted = np.random.default_rng(0).random((300, 7)).astype(dtype)
    path = write(tmp_path / "a.onnx", {"first": np.ones(5, np.float32), "emap": wanted})
    assert np.array_equal(last_initializer(path), wanted)


def test_a_graph_without_arrays_is_said(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="stores no arrays"):
        last_initializer(write(tmp_path / "a.onnx", {}))


def test_a_page_of_text_is_no_graph(tmp_path: Path) -> None:
    path = tmp_path / "a.onnx"
    path.write_text("<html>Not found</html>", encoding="utf-8")
    with pytest.raises(ModelError):
        last_initializer(path)


def test_a_graph_may_not_read_beyond_its_folder(tmp_path) -> None:
    """A file of weights beside the graph is the format's own way; one elsewhere is an attack."""
    secret = tmp_path / "secret.bin"
    secret.write_bytes(np.arange(8, dtype=np.float32).tobytes())
    folder = tmp_path / "models"
    folder.mkdir()
    path = make_network(folder / "n.onnx", 1)
    model = onnx.load(path)
    (weights,) = model.graph.initializer
    weights.ClearField("raw_data")
    weights.data_location = onnx.TensorProto.EXTERNAL
    weights.dims[:] = [8]
    weights.external_data.add(key="location", value="../secret.bin")
    path.write_bytes(model.SerializeToString())
    with pytest.raises(ModelError, match=r"n\.onnx"):
        OnnxNetwork(path, provider="cpu", device_id=0)
    with pytest.raises(ModelError, match=r"n\.onnx"):
        last_initializer(path)
