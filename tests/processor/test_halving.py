"""Guards editions in half precision: they are kept only where they paint the same, and are used
where half precision is asked for."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from facefusion_ui.cli.main import main
from facefusion_ui.errors import ModelError
from facefusion_ui.processor.halving import halve
from facefusion_ui.processor.jobs import run_job
from facefusion_ui.registry import catalog
from facefusion_ui.registry.catalog import find_card
from facefusion_ui.registry.registry import Registry
from facefusion_ui.registry.weights import Store
from facefusion_ui.settings import make_settings
from tests.conftest import load

SIDE = 64


def write_enhancer(path: Path, large: float) -> None:
    """Write a network that blurs; on the way, numbers are `large`: too large for half precision?"""
    kernel = np.zeros((3, 3, 5, 5), np.float32)
    for channel in range(3):
        kernel[channel, channel] = large / 25
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["input", "kernel"], ["blurred"], pads=[2, 2, 2, 2]),
            helper.make_node("Div", ["blurred", "large"], ["output"]),
        ],
        "blur",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 3, SIDE, SIDE])],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, [1, 3, SIDE, SIDE])],
        [
            numpy_helper.from_array(kernel, "kernel"),
            numpy_helper.from_array(np.float32(large), "large"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, path)


@pytest.fixture
def models(tmp_path, monkeypatch) -> Path:
    folder = tmp_path / "models"
    folder.mkdir()
    monkeypatch.setattr(catalog, "FOLDER", folder)
    text = f'task = "face_enhancer"\ntemplate = "ffhq_512"\nsize = {SIDE}\n'
    (folder / "blur.toml").write_text(text)
    return folder


def test_an_edition_is_made_compared_and_used(
    models, tmp_path, hopper_path, astronaut_path, capsys
) -> None:
    write_enhancer(models / "blur.onnx", large=1.0)
    assert main(["models", "convert", "blur", "--fp16", "--models-path", str(models)]) == 0
    assert "of 255 from the original" in capsys.readouterr().err
    (made,) = (models / "converted").iterdir()
    assert made.name.endswith("-fp16.onnx")
    graph = onnx.load(made).graph
    assert {each.type.tensor_type.elem_type for each in (*graph.input, *graph.output)} == {1}
    assert TensorProto.FLOAT16 in {each.data_type for each in graph.initializer}

    pictures = []
    for precision in ("full", "half"):
        settings = make_settings(
            {
                "source_paths": [hopper_path],
                "target_path": astronaut_path,
                "output_path": tmp_path / f"{precision}.png",
                "processors": ["face_enhancer"],
                "face_enhancer_model": "blur",
                "execution_precision": precision,
            }
        )
        with Registry(("cpu",), store=Store(models)) as registry:
            list(run_job(settings, registry))
        pictures.append(load(tmp_path / f"{precision}.png").astype(int))
    apart = np.abs(pictures[0] - pictures[1])
    assert 0 < apart.max() <= 1


def test_an_edition_that_paints_something_else_is_refused_and_leaves_nothing(models) -> None:
    write_enhancer(models / "blur.onnx", large=1e6)  # half precision ends at 65504
    store = Store(models)
    with (
        Registry(("cpu",), store=store) as registry,
        pytest.raises(ModelError, match="half precision") as caught,
    ):
        halve(find_card("blur"), store, registry)
    assert "--execution-precision full" in caught.value.hint
    assert list((models / "converted").iterdir()) == []
