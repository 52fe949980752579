"""Guards the models folder: a file that is not the model, or nobody knows how to get it."""

import hashlib
from pathlib import Path

import pytest

from facefusion_ui.cards import Archive, Licence, ModelCard, Weights
from facefusion_ui.errors import ModelError
from facefusion_ui.registry import weights
from facefusion_ui.registry.weights import locate

RIGHT, TWIN = b"the model" * 9, b"another publisher's edition"
URL = "https://example.org/model.onnx"


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(weights, "FOLDER", tmp_path)
    return tmp_path


def card_with(**how) -> ModelCard:
    return ModelCard(
        name="tool",
        task="face_swapper",
        summary="a tool",
        licence=Licence("MIT", True, "https://example.org"),
        open=str,
        runtime="onnx",
        weights=Weights(
            "model.onnx",
            len(RIGHT),
            digest(RIGHT),
            urls=(URL,),
            twins=((len(TWIN), digest(TWIN)),),
            **how,
        ),
    )


@pytest.mark.parametrize("content", [RIGHT, TWIN], ids=["published", "twin"])
def test_a_file_in_the_models_folder_is_found(folder, content) -> None:
    (folder / "model.onnx").write_bytes(content)
    assert locate(card_with()) == folder / "model.onnx"


def test_a_missing_file_is_said_with_what_to_fetch_and_where_to_put_it(folder) -> None:
    with pytest.raises(ModelError, match="is missing") as caught:
        locate(card_with())
    assert caught.value.hint == (f"Download it from {URL} and put it into {folder} as model.onnx.")


def test_a_file_that_comes_in_a_zip_is_said_so(folder) -> None:
    with pytest.raises(ModelError) as caught:
        locate(card_with(archive=Archive(1, "a")))
    assert f"put model.onnx out of it into {folder}" in caught.value.hint


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"  <!DOCTYPE html><p>Not found", "it is a web page"),
        (b"version https://git-lfs.github.com/spec/v1", "it is a pointer to the file"),
        (RIGHT[:-1], f"{len(RIGHT)} are expected"),
        (RIGHT[:-1] + b"x", "not the file that was published"),
        (TWIN[:-1] + b"x", "not the file that was published"),
    ],
    ids=["page", "pointer", "cut", "changed", "changed twin"],
)
def test_a_file_that_is_not_the_model_is_named(folder, content, message) -> None:
    (folder / "model.onnx").write_bytes(content)
    with pytest.raises(ModelError, match=message):
        locate(card_with())
