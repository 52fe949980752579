"""Guards the way of a learned model into a job: its file in the models folder, its name, no more.

The files are stand-ins of true size and shape: what they paint is noise, where the face is."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from benchmarks.standins import standin
from facefusion_ui.cli.main import main
from facefusion_ui.report import Report
from tests.conftest import load

FILES = {
    "inswapper_128.onnx": "inswapper_128",
    "w600k_r50.onnx": "w600k_r50",
    "GFPGANv1.4.pth": "gfpgan_1_4",
}
NAMES = ("inswapper_128", "arcface", "gfpgan_1.4")


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    for name, made in FILES.items():
        shutil.copy(standin(made).with_suffix(Path(name).suffix), folder / name)
    return folder


@pytest.mark.slow
def test_files_in_the_models_folder_are_used_by_name(
    models, tmp_path, hopper_path, astronaut_path, astronaut
) -> None:
    out, told = tmp_path / "out.png", tmp_path / "report.json"
    words = [
        "headless-run", "-s", hopper_path, "-t", astronaut_path, "-o", out, "--report", told,
        "--processors", "face_swapper", "face_enhancer", "--face-swapper-model", "inswapper_128",
        "--face-enhancer-model", "gfpgan_1.4",
        "--models-path", models, "--unverified-models", *NAMES,
    ]  # fmt: skip
    assert main([str(word) for word in words]) == 0
    report = Report.model_validate_json(told.read_bytes())
    used = {model.name: model for model in report.models}
    assert {"inswapper_128", "arcface", "gfpgan_1.4"} <= set(used)
    assert not used["inswapper_128"].commercial_use
    assert "gfpgan_1.4 is converted to ONNX first" in report.warnings[0].message
    changed = (load(out) != astronaut).any(axis=-1)
    ys, xs = np.nonzero(changed)
    assert changed[118, 226]  # the nose
    assert 120 < np.ptp(xs) < 260
    assert 120 < np.ptp(ys) < 260


def test_auto_takes_them_and_says_so(models, hopper_path, astronaut_path, capsys) -> None:
    words = ["plan", "-s", hopper_path, "-t", astronaut_path, "--models-path", models]
    words += ["--processors", "face_swapper", "face_enhancer", "--unverified-models", *NAMES]
    assert main([str(word) for word in words]) == 0
    told = capsys.readouterr().out
    assert "inswapper_128: the best face swapper that is installed" in told
    assert "gfpgan_1.4: the best face enhancer that is installed" in told
