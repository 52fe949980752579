"""Guards models of the user's own: a small text beside an ONNX file makes it a choice, and a text
that is wrong is told without costing the others."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from facefusion_ui.errors import ModelError
from facefusion_ui.processor.jobs import run_job
from facefusion_ui.registry import catalog
from facefusion_ui.registry.catalog import cards_of, choices, find_card
from facefusion_ui.registry.registry import Registry
from facefusion_ui.registry.weights import Store
from facefusion_ui.settings import Settings, make_settings, option
from tests.conftest import load

SIDE = 64


@pytest.fixture
def models(tmp_path, monkeypatch) -> Path:
    folder = tmp_path / "models"
    folder.mkdir()
    monkeypatch.setattr(catalog, "FOLDER", folder)
    return folder


def write_inverter(path: Path, inputs: dict[str, list[int]], top: float) -> None:
    """Write a network that answers `top` minus its first input, whatever else it is fed."""
    first, *others = inputs
    nodes = [helper.make_node("Sub", ["top", first], ["inverted"])]
    total = "inverted"
    for number, name in enumerate(others):
        nodes += [
            helper.make_node("ReduceSum", [name], [f"sum_{number}"], keepdims=0),
            helper.make_node("Mul", [f"sum_{number}", "zero"], [f"nothing_{number}"]),
            helper.make_node("Add", [total, f"nothing_{number}"], [f"out_{number}"]),
        ]
        total = f"out_{number}"
    graph = helper.make_graph(
        nodes,
        "inverter",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs.items()],
        [helper.make_tensor_value_info(total, TensorProto.FLOAT, inputs[first])],
        [
            numpy_helper.from_array(np.float32(top), "top"),
            numpy_helper.from_array(np.float32(0), "zero"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, path)


SWAPPER = f"""
task = "face_swapper"
template = "arcface_128"
size = {SIDE}
target = "face"
source = "who"
recognizer = "dlib_resnet"
"""
ENHANCER = f"""
task = "face_enhancer"
template = "ffhq_512"
size = {SIDE}
mean = [0.5, 0.5, 0.5]
std = [0.5, 0.5, 0.5]
"""
FACE = [1, 3, SIDE, SIDE]


def nose_of(models: Path, tmp_path, hopper_path, astronaut_path, **how) -> list[int]:
    made = make_settings(
        {
            "source_paths": [hopper_path],
            "target_path": astronaut_path,
            "output_path": tmp_path / "out.png",
            **how,
        }
    )
    with Registry(("cpu",), store=Store(models)) as registry:
        list(run_job(made, registry))
    return load(tmp_path / "out.png")[118, 226].astype(int)


def test_a_swapper_and_an_enhancer_of_ones_own_are_choices_and_work(
    models, tmp_path, hopper_path, astronaut_path, astronaut
) -> None:
    (models / "mine.toml").write_text(SWAPPER)
    write_inverter(models / "mine.onnx", {"face": FACE, "who": [1, 128]}, top=1.0)
    (models / "better.toml").write_text(ENHANCER)
    write_inverter(models / "better.onnx", {"input": FACE}, top=0.0)  # -x is the inverse of -1..1
    assert "mine" in choices(option(Settings.model_fields["face_swapper_model"]))
    assert cards_of("face_enhancer")["better"].licence.name == "not stated"
    paths = (tmp_path, hopper_path, astronaut_path)
    inverse = 255 - astronaut[118, 226].astype(int)
    nose = nose_of(models, *paths, face_swapper_model="mine")
    assert np.abs(nose - inverse).max() <= 12  # of a crop a third as large
    nose = nose_of(
        models, *paths, processors=["face_enhancer"], face_enhancer_model="better",
        face_enhancer_blend=100,
    )  # fmt: skip
    assert np.abs(nose - inverse).max() <= 25


def test_a_picture_of_the_person_can_be_asked_for(
    models, tmp_path, hopper_path, astronaut_path, astronaut
) -> None:
    more = 'source_is = "picture"\nsource_template = "ffhq_512"\nsource_size = 96\n'
    (models / "mine.toml").write_text(SWAPPER + more)
    write_inverter(models / "mine.onnx", {"face": FACE, "who": [1, 3, 96, 96]}, top=1.0)
    nose = nose_of(models, tmp_path, hopper_path, astronaut_path, face_swapper_model="mine")
    assert np.abs(nose - (255 - astronaut[118, 226].astype(int))).max() <= 12


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("task = ", "is not TOML"),
        ('task = "face_swapper"\n', "template: Field required"),
        (SWAPPER.replace("size =", "sizes ="), "Did you mean size?"),
        (SWAPPER + 'file = "../../etc/passwd"\n', "file: "),
    ],
)
def test_a_text_that_is_wrong_is_told_and_costs_no_other(models, caplog, text, said) -> None:
    (models / "mine.toml").write_text(SWAPPER)
    (models / "wrong.toml").write_text(text)
    with caplog.at_level("WARNING", "facefusion_ui"):
        known = cards_of("face_swapper")
        cards_of("face_swapper")
    assert "mine" in known
    assert "wrong" not in known
    (told,) = caplog.messages  # once
    assert "wrong.toml" in told
    assert said in told


def test_a_name_that_is_taken_stays_with_its_model(models) -> None:
    (models / "landmark_warp.toml").write_text(SWAPPER)
    assert find_card("landmark_warp").weights is None


def test_an_input_that_is_not_there_is_said_with_those_that_are(models) -> None:
    (models / "mine.toml").write_text(SWAPPER)
    write_inverter(models / "mine.onnx", {"picture": FACE, "who": [1, 128]}, top=1.0)
    with (
        Registry(("cpu",), store=Store(models)) as registry,
        pytest.raises(ModelError, match="no input 'face'; it has picture, who"),
    ):
        registry.run(find_card("mine"), lambda model: model)


@pytest.mark.parametrize("emulate_bytes", [None, 10**8], ids=["processor", "emulated card"])
@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"face": FACE, "who": [1, 512]}, "who 1x512; its card says who 1x128"),
        ({"face": [1, 3, 32, 32], "who": [1, 128]}, "takes face 1x3x32x32"),
        ({"face": FACE, "who": [1, 128], "mood": [1, 2]}, "mood 1x2; its card says"),
    ],
)
def test_a_network_with_other_inputs_is_named_as_such(
    models, tmp_path, hopper_path, astronaut_path, inputs, said, emulate_bytes
) -> None:
    (models / "mine.toml").write_text(SWAPPER)
    write_inverter(models / "mine.onnx", inputs, top=1.0)
    made = make_settings(
        {
            "source_paths": [hopper_path],
            "target_path": astronaut_path,
            "output_path": tmp_path / "out.png",
            "face_swapper_model": "mine",
        }
    )
    with (
        Registry(("cpu",), emulate_bytes=emulate_bytes, store=Store(models)) as registry,
        pytest.raises(ModelError, match="is not what its card says") as caught,
    ):
        list(run_job(made, registry))
    assert said in str(caught.value)
    assert not (tmp_path / "out.png").exists()
