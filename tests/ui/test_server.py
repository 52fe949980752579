"""Guards the server: a taken port, files it must not give away, another site that talks to it."""

import contextlib
import json
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from facefusion_ui.cli.main import main
from facefusion_ui.errors import OutputError
from facefusion_ui.ui.server import FIRST_PORT, find_port
from tests.ui.conftest import ROOT, Served, free_port

HOST = "127.0.0.1"


def ask(served: Served, path: str, **details) -> tuple[int, bytes]:
    asked = urllib.request.Request(f"{served.address}{path}", **details)
    try:
        with urllib.request.urlopen(asked) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def test_the_default_port_gives_way_to_the_next_free_one() -> None:
    first = find_port(HOST, None)
    assert first >= FIRST_PORT
    with socket.create_server((HOST, first)):
        assert find_port(HOST, None) > first


def test_a_second_copy_says_where_it_is_and_that_the_card_is_shared() -> None:
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):  # taken already: as well
            held.enter_context(socket.create_server((HOST, FIRST_PORT)))
        program = subprocess.Popen(
            [sys.executable, ROOT / "app.py"], stderr=subprocess.PIPE, encoding="utf-8"
        )
        said = ""
        while "Open http" not in said:
            said += program.stderr.readline()
            assert program.poll() is None, said
        program.terminate()
        program.communicate(timeout=30)
    port = int(said.partition("127.0.0.1:")[2].partition("/")[0])
    assert port > FIRST_PORT
    assert f"Port {FIRST_PORT} is taken, so the page is at {port}" in said
    assert "share one graphics card" in said


def test_a_port_that_was_asked_for_and_is_taken_is_said(capsys) -> None:
    port = free_port()
    assert find_port(HOST, port) == port
    with socket.create_server((HOST, port)):
        with pytest.raises(OutputError, match=f"Port {port}"):
            find_port(HOST, port)
        assert main(["run", "--port", str(port)]) == 2
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith(f"error: Port {port} of {HOST} cannot be used")
    assert "--port" in said[1]
    assert len(said) == 2


def test_only_this_machine_is_answered(served: Served) -> None:
    assert served.address.startswith("http://127.0.0.1:")
    assert ask(served, "")[0] == 200
    assert ask(served, "", headers={"Host": "evil.example"})[0] == 400
    answer = urllib.request.Request(served.address, headers={"Origin": "https://evil.example"})
    with urllib.request.urlopen(answer) as given:
        assert given.headers.get("Access-Control-Allow-Origin") is None


@pytest.mark.parametrize(
    "path", ["/etc/passwd", str(ROOT / "app.py"), "../../../../../../etc/passwd", "app.py"]
)
def test_no_file_of_the_machine_is_given_away(served: Served, path: str) -> None:
    assert ask(served, f"gradio_api/file={path}")[0] in (403, 404)


def test_a_path_in_a_call_is_no_way_to_read_a_file(served: Served, hopper_path: Path) -> None:
    """The picture would be readable, so that only the refusal keeps it from the caller."""
    config = json.loads(ask(served, "config")[1])
    swap = next(each for each in config["dependencies"] if each["api_name"] == "swap")
    file = {"path": str(hopper_path), "meta": {"_type": "gradio.FileData"}}
    by_id = {each["id"]: each for each in config["components"]}
    data = [by_id[each]["props"].get("value") for each in swap["inputs"]]
    data[0], data[1] = [file], file
    status, answer = ask(
        served,
        "gradio_api/call/swap",
        data=json.dumps({"data": data}).encode(),
        headers={"Content-Type": "application/json"},
    )
    assert status == 200
    _, said = ask(served, f"gradio_api/call/swap/{json.loads(answer)['event_id']}")
    assert b"event: error" in said
    assert b"generating" not in said
