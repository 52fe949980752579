"""Guards the fetching of models, against a server that does what servers do: it drops, truncates,
lies, redirects, and gives a web page in place of a file."""

import hashlib
import io
import zipfile

import pytest

from facefusion_ui.cards import Archive, Licence, ModelCard, Weights
from facefusion_ui.errors import ModelError
from facefusion_ui.registry import downloads
from facefusion_ui.registry.downloads import download
from facefusion_ui.registry.weights import Store
from tests.model_server import FILE, Server


def card_at(server: Server, *paths: str, known: bool = True, **how) -> ModelCard:
    stated = (len(FILE), hashlib.sha256(FILE).hexdigest()) if known else (0, "")
    urls = tuple(server.address + path for path in paths)
    return ModelCard(
        name="tool",
        task="face_swapper",
        summary="a tool",
        licence=Licence("MIT", True, "https://example.org"),
        open=str,
        runtime="onnx",
        weights=Weights("tool.onnx", *stated, urls=urls, **how),
    )


def fetch(card: ModelCard, store: Store):
    """Return the path that the download ends with, and how far it was at each step."""
    steps, pieces = [], download(card, store)
    while True:
        try:
            steps.append(next(pieces))
        except StopIteration as end:
            return end.value, steps


@pytest.mark.parametrize(
    "paths",
    [
        ("/good",),
        ("/moved",),
        ("/drops",),
        ("/no-ranges",),
        ("/gone", "/good"),
        ("/page", "/good"),
        ("/page-as-file", "/good"),
        ("/short", "/good"),
        ("/endless", "/good"),
        ("/other", "/good"),
    ],
    ids=lambda paths: "then ".join(paths),
)
def test_the_file_comes_whole_or_from_the_next_address(server, tmp_path, paths) -> None:
    path, steps = fetch(card_at(server, *paths), Store(tmp_path))
    assert path == tmp_path / "tool.onnx"
    assert path.read_bytes() == FILE
    assert (steps[-1].done_bytes, steps[-1].total_bytes) == (len(FILE), len(FILE))
    assert [each.name for each in tmp_path.iterdir()] == ["tool.onnx"]


def test_what_broke_off_is_gone_on_with(server, tmp_path) -> None:
    fetch(card_at(server, "/drops"), Store(tmp_path))
    starts = [start for _, start in server.asked]
    assert starts == sorted(set(starts))
    assert len(starts) <= 5


def test_a_cancelled_download_is_gone_on_with_the_next_time(server, tmp_path) -> None:
    pieces = download(card_at(server, "/good"), Store(tmp_path))
    done = next(pieces).done_bytes
    pieces.close()
    assert [each.name for each in tmp_path.iterdir()] == ["tool.onnx.part"]
    fetch(card_at(server, "/good"), Store(tmp_path))
    assert server.asked[1] == ("/good", done)
    assert (tmp_path / "tool.onnx").read_bytes() == FILE


def test_what_is_left_of_another_file_does_no_harm(server, tmp_path) -> None:
    (tmp_path / "tool.onnx.part").write_bytes(b"another edition")
    path, _ = fetch(card_at(server, "/good"), Store(tmp_path))
    assert path.read_bytes() == FILE


def test_when_no_address_serves_it_is_said_what_to_fetch_by_hand(server, tmp_path) -> None:
    card = card_at(server, "/gone", "/other")
    with pytest.raises(ModelError, match="answers 404") as caught:
        fetch(card, Store(tmp_path))
    assert "not the file that was published" in str(caught.value)
    assert card.weights.urls[0] in caught.value.hint
    assert f"into {tmp_path} as tool.onnx" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_offline_says_the_same(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(downloads, "TRIES", 1)
    card = card_at(Server("http://127.0.0.1:9"), "/good")
    with pytest.raises(ModelError, match="cannot be reached") as caught:
        fetch(card, Store(tmp_path))
    assert "By hand" in caught.value.hint


def test_a_file_without_a_published_sum_is_fetched_and_a_page_is_not(server, tmp_path) -> None:
    path, _ = fetch(card_at(server, "/good", known=False), Store(tmp_path))
    assert path.read_bytes() == FILE
    with pytest.raises(ModelError, match="web page"):
        fetch(card_at(server, "/page-as-file", known=False), Store(tmp_path))
    assert path.read_bytes() == FILE


def packed(server: Server, *names: str) -> Archive:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name in names:
            archive.writestr(name, FILE)
    server.zip = held.getvalue()
    return Archive(len(server.zip), hashlib.sha256(server.zip).hexdigest())


@pytest.mark.parametrize("inner", ["tool.onnx", "pack/tool.onnx", "../../tool.onnx"])
def test_a_zip_gives_the_file_and_nothing_beside_the_folder(
    server, tmp_path, monkeypatch, inner
) -> None:
    archive = packed(server, inner, "../evil.onnx", "readme.txt")
    card = card_at(server, "/pack.zip", archive=archive)
    monkeypatch.setattr(downloads, "find_cards", lambda: {"tool": card})
    folder = tmp_path / "deep" / "models"
    path, _ = fetch(card, Store(folder))
    assert path.read_bytes() == FILE
    assert [each for each in tmp_path.rglob("*") if each.is_file()] == [path]


def test_a_zip_without_the_file_is_said(server, tmp_path, monkeypatch) -> None:
    card = card_at(server, "/pack.zip", archive=packed(server, "readme.txt"))
    monkeypatch.setattr(downloads, "find_cards", lambda: {"tool": card})
    with pytest.raises(ModelError, match=r"tool\.onnx is not in"):
        fetch(card, Store(tmp_path))
    assert list(tmp_path.iterdir()) == []
