"""Guards the models folder: a file that is not the model, or nobody knows how to get it."""

import hashlib
from dataclasses import replace

import pytest

from facefusion_ui.cards import Archive, Licence, ModelCard, Weights
from facefusion_ui.errors import ModelError
from facefusion_ui.registry.weights import Store

RIGHT, TWIN = b"the model" * 9, b"another publisher's edition"
URL = "https://example.org/model.onnx"


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


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
def test_a_file_in_the_models_folder_is_found(tmp_path, content) -> None:
    (tmp_path / "model.onnx").write_bytes(content)
    assert Store(tmp_path).locate(card_with()) == tmp_path / "model.onnx"


def test_a_missing_file_is_said_with_what_to_fetch_and_where_to_put_it(tmp_path) -> None:
    with pytest.raises(ModelError, match="is missing") as caught:
        Store(tmp_path).locate(card_with())
    assert caught.value.hint == (
        f"Run: python app.py models download tool. By hand: put {URL} into {tmp_path} "
        "as model.onnx."
    )


def test_a_file_that_comes_in_a_zip_is_said_so(tmp_path) -> None:
    with pytest.raises(ModelError) as caught:
        Store(tmp_path).locate(card_with(archive=Archive(1, "a")))
    assert f"put model.onnx out of {URL} into {tmp_path}" in caught.value.hint


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
def test_a_file_that_is_not_the_model_is_named(tmp_path, content, message) -> None:
    (tmp_path / "model.onnx").write_bytes(content)
    with pytest.raises(ModelError, match=message):
        Store(tmp_path).locate(card_with())


def test_a_file_of_another_name_or_another_programs_is_known_by_its_content(tmp_path) -> None:
    store = Store(tmp_path / "ours", (tmp_path / "theirs",))
    (tmp_path / "theirs" / "deep").mkdir(parents=True)
    (tmp_path / "theirs" / "model.onnx").write_bytes(RIGHT[:-1] + b"x")
    assert not store.has(card_with())
    right = tmp_path / "theirs" / "deep" / "swap-v2.onnx"
    right.write_bytes(RIGHT)
    assert store.has(card_with())
    assert store.locate(card_with()) == right


def unpublished() -> ModelCard:
    return replace(card_with(), weights=Weights("model.onnx", urls=(URL,)))


def test_a_file_that_nobody_has_published_a_sum_of_is_used_when_the_user_names_it(tmp_path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"anything")
    with pytest.raises(ModelError, match="nobody has published its SHA-256") as caught:
        Store(tmp_path).locate(unpublished())
    assert caught.value.hint.endswith("--unverified-models tool")
    vouched = Store(tmp_path, vouched=("tool",))
    assert vouched.locate(unpublished()) == tmp_path / "model.onnx"
    (tmp_path / "model.onnx").write_bytes(RIGHT[:-1])
    assert vouched.locate(card_with()) == tmp_path / "model.onnx"
