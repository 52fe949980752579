"""Guards what restorers are fed and answer, and that both ways to run a .pth file paint what the
packages' own code paints; at true size, with random weights."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks.standins import standin
from facefusion_ui.bridges import bridged
from facefusion_ui.enhancers import codeformer, gfpgan
from facefusion_ui.enhancers.gfpgan import Restorer
from facefusion_ui.errors import BrokenOutputError
from facefusion_ui.faces import AlignedFace
from facefusion_ui.registry.backends import OnnxNetwork
from facefusion_ui.registry.catalog import cards_of
from facefusion_ui.registry.torch_network import TorchNetwork

MODULES = {"gfpgan_1_4": gfpgan, "codeformer": codeformer}


@pytest.fixture(scope="module")
def face(request) -> AlignedFace:
    astronaut = request.getfixturevalue("astronaut")
    return AlignedFace(astronaut, np.eye(2, 3, dtype=np.float32), np.zeros((5, 2)), None)


def weights_of(name: str) -> Path:
    return standin(name).with_suffix(".pth")


def both(name: str) -> list[Restorer]:
    """Return the restorer as ONNX Runtime and as torch runs it."""
    code = MODULES[name].CODE
    onnx = OnnxNetwork(standin(name), provider="cpu", device_id=0)
    plain = TorchNetwork(weights_of(name), code, device="cpu", half=False)
    return [Restorer(onnx), Restorer(plain)]


class Aligned:
    """Stands where GFPGANer would find faces: it is given one that is cut already."""

    def __init__(self, *_, **__) -> None:
        self.clean_all()

    def clean_all(self) -> None:
        self.cropped_faces, self.restored_faces = [], []

    def add_restored_face(self, face) -> None:
        self.restored_faces.append(face)


def test_gfpgan_paints_what_the_package_paints(face, monkeypatch) -> None:
    restorers = both("gfpgan_1_4")
    with bridged():
        import gfpgan.utils

    monkeypatch.setattr(gfpgan.utils, "FaceRestoreHelper", Aligned)
    theirs = gfpgan.utils.GFPGANer(str(weights_of("gfpgan_1_4")), upscale=1, bg_upsampler=None)
    theirs.gfpgan.forward = partial(theirs.gfpgan.forward, randomize_noise=False)
    (expected,) = theirs.enhance(face.crop, has_aligned=True, paste_back=False)[1]
    for restorer in restorers:
        restored = restorer.enhance(face, weight=0.5)
        assert np.abs(restored.astype(int) - expected).max() <= 1
        assert np.array_equal(
            restored, restorer.enhance(face, weight=0.5)
        )  # a clip must not flicker
    assert np.ptp(expected) > 50


def test_codeformer_paints_what_the_package_paints(face) -> None:
    network = codeformer.build(torch.load(weights_of("codeformer"), weights_only=True)).eval()
    picture = torch.from_numpy(face.crop[..., ::-1].transpose(2, 0, 1).copy()).float()[None] / 255
    restorers = both("codeformer")
    seen = {}
    for weight in (0.0, 0.7):
        with torch.inference_mode():
            out = network(picture * 2 - 1, w=weight, adain=True)[0][0]
        expected = ((out.clamp(-1, 1) + 1) / 2 * 255).round().byte().numpy()
        expected = expected.transpose(1, 2, 0)[..., ::-1].astype(int)
        for restorer in restorers:
            assert np.abs(restorer.enhance(face, weight=weight) - expected).max() <= 1
        seen[weight] = expected
    assert np.abs(seen[0.0] - seen[0.7]).max() > 5


class Echo:
    """A network that gives back what it is fed, or `answer`."""

    def __init__(self, names=("input",), answer=None) -> None:
        self.input_shapes = dict.fromkeys(names, (1, 3, None, None))
        self.answer = answer

    def __call__(self, feeds):
        self.fed = dict(feeds)
        return [feeds["input"] if self.answer is None else self.answer]


ENHANCERS = cards_of("face_enhancer").values()


@pytest.mark.parametrize("card", ENHANCERS, ids=lambda card: card.name)
def test_colours_go_in_and_come_out_in_their_order(card, face) -> None:
    network = Echo(("weight", "input"))
    before = face.crop.copy()
    restored = card.open(network).enhance(face, weight=0.25)
    assert np.array_equal(restored, face.crop)
    assert np.array_equal(face.crop, before)
    fed = network.fed["input"]
    assert fed.dtype == np.float32
    assert np.allclose(fed[0, 0], face.crop[..., 2] / 127.5 - 1, atol=1e-6)  # red is first
    assert network.fed["weight"].dtype == np.float64
    assert network.fed["weight"].tolist() == [0.25]


@pytest.mark.parametrize("value", [np.nan, 0.3], ids=["no number", "flat"])
def test_an_answer_that_is_no_picture_is_an_error(face, value) -> None:
    with pytest.raises(BrokenOutputError):
        Restorer(Echo(answer=np.full((1, 3, 8, 8), value, np.float32))).enhance(face, weight=0.5)
