"""Guards models that torch runs: memory outside the card's account, a silent processor, a file that
is not what it should be, and running out of the system's own memory."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from facefusion_ui.cards import Licence, ModelCard, TorchCode, Weights
from facefusion_ui.errors import DeviceError, ModelError
from facefusion_ui.registry.ladder import Descent, LeftOut
from facefusion_ui.registry.registry import Registry
from facefusion_ui.registry.torch_network import TorchNetwork
from facefusion_ui.registry.weights import Store
from tests.networks import MB, make_network
from tests.registry.conftest import AddOne


class Brighter(torch.nn.Module):
    """Adds the mean of its weights, by way of `work` times as many numbers as there are pixels."""

    def __init__(self, elements: int, work: int = 1) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(elements))
        self.work = work

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        large = x[:, :1].repeat(1, self.work, 1, 1)
        return x + self.weight.mean() * large.isfinite().all()


def build(state) -> Brighter:
    network = Brighter(state["weight"].numel(), work=8)
    network.load_state_dict(state)
    return network


CODE = TorchCode(build, lambda network, x: network(x), {"input": (1, 3, -1, -1)})


class Bright:
    def __init__(self, network) -> None:
        self.network = network

    def enhance(self, side: int = 64) -> np.ndarray:
        return self.network({"input": np.zeros((1, 3, side, side), np.float32)})[0]


def card_of(path: Path, **kwargs) -> ModelCard:
    return ModelCard(
        name="bright",
        task="face_enhancer",
        summary="adds one",
        licence=Licence("MIT", True, "https://example.org"),
        open=Bright,
        runtime="torch",
        torch=CODE,
        weights=Weights("bright.pth", path.stat().st_size, "0"),
        **kwargs,
    )


@pytest.fixture
def bright(tmp_path, monkeypatch) -> ModelCard:
    path = tmp_path / "bright.pth"
    torch.save(Brighter(4 * MB // 4).state_dict(), path)
    other = make_network(tmp_path / "other.onnx", 4)
    monkeypatch.setattr(Store, "locate", lambda _, card: path if card.name == "bright" else other)
    return card_of(path, bytes_per_pixel=100)


def other_card() -> ModelCard:
    return ModelCard(
        name="generator",
        task="face_swapper",
        summary="adds one",
        licence=Licence("MIT", True, "https://example.org"),
        open=AddOne,
        runtime="onnx",
        weights=Weights("other.onnx"),
    )


def test_a_torch_model_runs_and_gives_its_memory_back(bright) -> None:
    with Registry(("cpu",), emulate_bytes=20 * MB) as registry:
        out = registry.run(bright, lambda model: model.enhance(), pixels=64 * 64)
        assert out.shape == (1, 3, 64, 64)
        assert out.dtype == np.float32
        assert (out == 1).all()
        assert registry.held_bytes == pytest.approx(4 * MB, rel=0.01)
        assert registry.free_bytes == 20 * MB - registry.held_bytes
        registry.release_all()
        assert registry.free_bytes == 20 * MB


def test_both_runtimes_share_one_budget(bright) -> None:
    descent = Descent()
    with Registry(("cpu",), emulate_bytes=7 * MB) as registry:
        registry.run(other_card(), lambda model: model.add(), descent)
        registry.run(bright, lambda model: model.enhance(), descent, pixels=64 * 64)
        assert [model.name for model in registry.status()] == ["bright"]
        assert registry.memory.reading.peak_bytes <= 7 * MB
    assert [step.rung for step in descent.steps] == ["unpin"]


@pytest.mark.parametrize(("capacity_mb", "moment"), [(3, "loading"), (5, "running")])
def test_what_does_not_fit_runs_on_the_processor(bright, capacity_mb, moment) -> None:
    descent = Descent()
    with Registry(("cpu",), emulate_bytes=capacity_mb * MB) as registry:
        # the card's figures are not told, so that the failure itself is what is seen
        out = registry.run(bright, lambda model: model.enhance(256), descent)
        assert (out == 1).all()
        assert [model.on_card for model in registry.status()] == [False]
        assert registry.free_bytes == capacity_mb * MB
    assert [step.rung for step in descent.steps] == ["processor"]


def test_changing_the_runtime_opens_the_model_anew(bright, tmp_path, monkeypatch) -> None:
    network = make_network(tmp_path / "bright.onnx", 4)
    with Registry(("cpu",)) as registry:
        registry.run(bright, lambda model: model.enhance())
        monkeypatch.setattr(Store, "locate", lambda _, card: network)
        as_onnx = replace(bright, runtime="onnx", torch=None, open=AddOne)
        assert registry.run(as_onnx, lambda model: model.add()).tolist() == [1] * 8


def test_a_card_that_torch_does_not_find_is_an_error_and_never_the_processor(
    tmp_path, bright
) -> None:
    if torch.cuda.is_available():
        pytest.skip("torch finds a card here")
    with pytest.raises(DeviceError, match="torch does not find it"):
        TorchNetwork(tmp_path / "bright.pth", CODE, device="cuda:0", half=False)


@pytest.mark.parametrize(
    "content", [b"<html>Not found</html>", b"", "other weights"], ids=["page", "empty", "other"]
)
def test_a_file_that_is_not_the_model_is_named(tmp_path, content) -> None:
    path = tmp_path / "wrong.pth"
    if isinstance(content, str):
        torch.save({"weight": torch.ones(3), "bias": torch.ones(3)}, path)
    else:
        path.write_bytes(content)
    with pytest.raises(ModelError, match=r"wrong\.pth is not what its card says"):
        TorchNetwork(path, CODE, device="cpu", half=False)


def test_a_file_that_would_run_code_is_refused(tmp_path) -> None:
    path = tmp_path / "evil.pth"
    torch.save({"weight": Path}, path)
    with pytest.raises(ModelError, match=r"evil\.pth is not what its card says"):
        TorchNetwork(path, CODE, device="cpu", half=False)


LIMITED = """
import resource, sys
from pathlib import Path
from tests.registry.test_torch import card_of
from facefusion_ui.registry.weights import Store
from facefusion_ui.registry.ladder import Descent, LeftOut
from facefusion_ui.registry.registry import Registry

path = Path(sys.argv[1])
Store.locate = lambda _, card: path
card, descent = card_of(path), Descent()
with Registry(("cpu",)) as registry:
    assert (registry.run(card, lambda model: model.enhance(), descent) == 1).all()
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    data_bytes = int(status["VmData"].split()[0]) * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (data_bytes + 40_000_000, -1))
    try:
        registry.run(card, lambda model: model.enhance(4096), descent)
    except LeftOut:
        print(*[step.rung for step in descent.steps], descent.steps[-1].reason, sep="|")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds a process's data")
def test_the_systems_own_memory_running_out_leaves_the_stage_out(bright, tmp_path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path / "bright.pth")],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert ran.returncode == 0, ran.stderr
    rung, reason = ran.stdout.strip().split("|")
    assert rung == "off"
    assert "allocate" in reason


def test_a_stage_that_is_left_out_raises_so(bright) -> None:
    descent = Descent(offload=frozenset({"face_enhancer"}))
    descent.step_down(bright, reason="no memory", on_card=False)
    with Registry(("cpu",)) as registry, pytest.raises(LeftOut):
        registry.run(bright, lambda model: model.enhance(), descent)
