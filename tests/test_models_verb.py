"""Guards `app.py models`: what it lists, that it asks before it fetches what is not free, and that
nothing is left or lost."""

import hashlib
import json
from pathlib import Path

import pytest

from facefusion_ui import swappers
from facefusion_ui.cli.main import main
from tests.model_server import FILE
from tests.processor.test_added_models import HEAD

CARD = """
from facefusion_ui.cards import Weights

CARDS = tuple(ModelCard(
    name=name, task="face_swapper", summary="a tool", open=str, runtime="onnx",
    licence=Licence("Paper-1.0", free, "https://example.org"),
    weights=Weights(f"{name}.onnx", SIZE, SHA, urls=(URL,)))
    for name, free, SIZE, SHA in (
        ("free", True, SIZE_HERE, SHA_HERE),
        ("bound", False, SIZE_HERE, SHA_HERE),
        ("unknown", True, 0, ""),
    ))
"""


@pytest.fixture
def models(tmp_path, monkeypatch, server) -> Path:
    """Add three models that the server has; return the models folder."""
    folder = tmp_path / "code"
    folder.mkdir()
    sha = hashlib.sha256(FILE).hexdigest()
    values = {"URL": f"{server.address}/good", "SIZE_HERE": len(FILE), "SHA_HERE": sha}
    code = CARD
    for name, value in values.items():
        code = code.replace(name, repr(value))
    name = f"added_server_{server.address.rpartition(':')[2]}"  # modules are imported once
    (folder / f"{name}.py").write_text(HEAD + code, encoding="utf-8")
    monkeypatch.setattr(swappers, "__path__", [*swappers.__path__, str(folder)])
    return tmp_path / "models"


def run(models: Path, *words: str) -> int:
    return main(["models", *words, "--models-path", str(models)])


def listed(models: Path, capsys, *names: str) -> dict[str, dict]:
    capsys.readouterr()
    assert run(models, "list", *names, "--json") == 0
    return {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)}


def test_the_list_tells_a_program_what_each_model_is(models, capsys) -> None:
    known = listed(models, capsys)
    assert {"inswapper_128", "gfpgan_1.4", "scrfd", "xseg_1", "free"} <= set(known)
    swapper = known["inswapper_128"]
    wanted = {"name", "task", "licence", "commercial_use", "bytes", "installed", "verified"}
    assert wanted <= set(swapper)
    assert (swapper["bytes"], swapper["commercial_use"]) == (554_253_681, False)
    assert (swapper["installed"], swapper["verified"]) == (False, None)
    assert swapper["need_bytes"] > swapper["bytes"]
    assert (known["centerface"]["installed"], known["centerface"]["verified"]) == (True, True)


def test_the_list_and_a_model_are_told_to_people(models, capsys) -> None:
    assert run(models, "list") == 0
    lines = capsys.readouterr().out.splitlines()
    (line,) = [line for line in lines if line.startswith("  inswapper_128 ")]
    assert "554 MB" in line
    assert "non-commercial" in line
    assert run(models, "show", "ghost_1_256") == 0
    shown = capsys.readouterr().out
    assert "needs       arcface" in shown
    assert "needs       crossface_ghost" in shown
    assert "https://github.com/facefusion/facefusion-assets" in shown


def test_a_free_model_is_fetched_checked_and_removed(models, capsys) -> None:
    assert run(models, "download", "free") == 0
    assert (models / "free.onnx").read_bytes() == FILE
    entry = listed(models, capsys, "free")["free"]
    assert (entry["installed"], entry["verified"]) == (True, True)
    assert entry["path"] == str(models / "free.onnx")
    assert run(models, "verify", "free") == 0
    (models / "free.onnx").write_bytes(FILE[:-1])
    assert run(models, "verify", "free") == 1
    assert f"{len(FILE)} are expected" in capsys.readouterr().out
    assert run(models, "download", "free") == 0  # a wrong file is replaced
    assert run(models, "remove", "free") == 0
    assert list(models.iterdir()) == []
    assert run(models, "remove", "free") == 1


def test_a_licence_that_restricts_is_accepted_once(models, server, capsys) -> None:
    assert run(models, "download", "bound") == 1
    said = capsys.readouterr().err
    assert "Paper-1.0" in said
    assert "--accept-licence" in said
    assert server.asked == []
    assert run(models, "download", "bound", "--accept-licence") == 0
    assert run(models, "remove", "bound") == 0
    assert run(models, "download", "bound") == 0  # accepted before


def test_a_file_nobody_can_check_is_used_only_by_name(models, capsys) -> None:
    assert run(models, "download", "unknown") == 0
    assert "--unverified-models unknown" in capsys.readouterr().err
    entry = listed(models, capsys, "unknown")["unknown"]
    assert (entry["installed"], entry["verified"]) == (True, False)


def test_what_comes_with_the_program_is_not_removed(models, capsys) -> None:
    assert run(models, "remove", "centerface") == 1
    assert "comes with the program" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("download",), "models list"),
        (("download", "inswaper_128"), "Did you mean inswapper_128?"),
        (("convert", "inswapper_128"), "ONNX already"),
        (("convert", "scrfd", "--fp16"), "no use of half precision"),
    ],
)
def test_what_cannot_be_done_is_said(models, capsys, words, said) -> None:
    assert run(models, *words) == 1
    assert said in capsys.readouterr().err


def test_an_action_that_is_not_known_is_a_usage_error(models, capsys) -> None:
    assert run(models, "lst") == 2
    assert "choose from" in capsys.readouterr().err
