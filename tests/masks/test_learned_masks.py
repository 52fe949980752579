"""Guards what models say of where a face may change: colour order, classes, and the way into a job.

The networks are real, of a few nodes, with the published inputs and outputs."""

from pathlib import Path

import cv2
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from facefusion_ui import swappers
from facefusion_ui.occluders.xseg import Xseg
from facefusion_ui.parsers.bisenet import CLASSES, Bisenet
from facefusion_ui.processor.jobs import run_job
from facefusion_ui.registry.registry import Registry
from facefusion_ui.registry.weights import Store
from facefusion_ui.settings import make_settings
from tests.conftest import load
from tests.constant_networks import Opened
from tests.processor.test_added_models import HEAD

BLUE, GREEN = (255, 0, 0), (0, 255, 0)


def save(path: Path, nodes, shape, out, arrays) -> Path:
    graph = helper.make_graph(
        nodes,
        "mask",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, out)],
        arrays,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, path)
    return path


def write_xseg(path: Path) -> Path:
    """Write a network that takes for face what is blue."""
    nodes = [helper.make_node("Gather", ["input", "blue"], ["output"], axis=3)]
    arrays = [numpy_helper.from_array(np.int64([0]), "blue")]
    return save(path, nodes, (1, 256, 256, 3), (1, 256, 256, 1), arrays)


def write_bisenet(path: Path) -> Path:
    """Write a network that takes what is red for skin and what is green for the mouth."""
    kernel = np.zeros((19, 3, 1, 1), np.float32)
    kernel[CLASSES["skin"], 0] = kernel[CLASSES["mouth"], 1] = 1
    nodes = [helper.make_node("Conv", ["input", "kernel"], ["output"])]
    arrays = [numpy_helper.from_array(kernel, "kernel")]
    return save(path, nodes, (1, 3, 512, 512), (1, 19, 512, 512), arrays)


def halves(left, right, side: int = 200) -> np.ndarray:
    crop = np.zeros((side, side, 3), np.uint8)
    crop[:, : side // 2], crop[:, side // 2 :] = left, right
    return crop


def check(mask: np.ndarray, left: float, right: float) -> None:
    assert mask.shape == (200, 200)
    assert mask.dtype == np.float32
    assert np.allclose(mask[20:180, 10:80], left)
    assert np.allclose(mask[20:180, 120:190], right)


def test_xseg_sees_blue_first(tmp_path) -> None:
    crop = halves(BLUE, (0, 255, 255))
    check(Xseg(Opened(write_xseg(tmp_path / "x.onnx"))).mask(crop), 1, 0)


@pytest.mark.parametrize(
    ("regions", "left", "right"),
    [(["skin"], 1, 0), (["mouth"], 0, 1), (["skin", "mouth"], 1, 1), (["nose"], 0, 0)],
)
def test_bisenet_tells_regions_apart(tmp_path, regions, left, right) -> None:
    parser = Bisenet(Opened(write_bisenet(tmp_path / "b.onnx")))
    check(parser.mask(halves((0, 0, 255), GREEN), regions), left, right)


PAINTER = """
class Paint:
    def swap(self, source, target):
        return SwappedFace(np.full_like(target.crop, (0, 0, 255)))

CARDS = (ModelCard(
    name="paint", task="face_swapper", summary="paints red", licence=LICENCE, open=Paint,
    template="arcface_128", size_px=64),)
"""


def test_a_job_changes_only_what_is_seen_and_asked_for(
    tmp_path, monkeypatch, hopper_path, astronaut_path, astronaut
) -> None:
    """The astronaut's face is redder than blue: 'seen' is the network's idea of it, blue > 0.5."""
    (tmp_path / "added_paint.py").write_text(HEAD + PAINTER, encoding="utf-8")
    monkeypatch.setattr(swappers, "__path__", [*swappers.__path__, str(tmp_path)])
    write_xseg(tmp_path / "xseg_1.onnx")
    write_bisenet(tmp_path / "bisenet_resnet_34.onnx")
    store = Store(tmp_path, vouched=("xseg_1", "bisenet_resnet_34"))
    changed = {}
    with Registry(("cpu",), store=store) as registry:
        for masks in (("box",), ("box", "occlusion"), ("box", "region"), ("occlusion", "region")):
            made = make_settings(
                {
                    "source_paths": [hopper_path],
                    "target_path": astronaut_path,
                    "output_path": tmp_path / "out.png",
                    "face_swapper_model": "paint",
                    "face_mask_types": masks,
                    "face_mask_regions": ["skin"],
                }
            )
            list(run_job(made, registry))
            changed[masks] = (load(tmp_path / "out.png") != astronaut).any(axis=-1)
    box, occlusion, region = (changed["box", *rest] for rest in ((), ("occlusion",), ("region",)))
    blue = cv2.GaussianBlur(astronaut[..., 0], (0, 0), 4) > 120  # masks have soft edges
    reddest = cv2.GaussianBlur(np.float32(astronaut.argmax(axis=-1) == 2), (0, 0), 2) > 0.4
    assert 0.1 * box.sum() < occlusion.sum() < 0.9 * box.sum()
    assert blue[occlusion].mean() > 0.9
    assert blue[box & ~occlusion].mean() < 0.3
    assert reddest[region].mean() > 0.9
    both = changed["occlusion", "region"] & box
    assert both.sum() > 0.5 * (occlusion & region).sum()
    assert (both & ~(occlusion & region)).sum() < 0.01 * both.sum()
