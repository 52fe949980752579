"""Guards the graphics card: plain onnxruntime's files over onnxruntime-gpu's lose it in silence."""

import importlib.metadata
import sys

import onnxruntime
import pytest

COMPILED = "onnxruntime/capi/_pybind_state.py"


def test_one_distribution_owns_the_files_of_onnxruntime() -> None:
    owners = [
        distribution.name
        for distribution in importlib.metadata.distributions()
        if any(file.as_posix() == COMPILED for file in distribution.files or ())
    ]
    assert owners == ["onnxruntime" if sys.platform == "darwin" else "onnxruntime-gpu"]


@pytest.mark.skipif(sys.platform == "darwin", reason="there is no CUDA on macOS")
def test_onnxruntime_knows_cuda() -> None:
    assert "CUDAExecutionProvider" in onnxruntime.get_available_providers()
