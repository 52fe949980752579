"""The page as a visitor meets it: the program in a process of its own, a real Chromium."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from facefusion_ui.registry.registry import Registry
from facefusion_ui.ui.handlers import Desk
from tests.face_clip import make_face_clip

ROOT = Path(__file__).parents[2]
NAMES = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@dataclass(frozen=True)
class Served:
    """A running program."""

    address: str
    process: psutil.Process
    folder: Path

    def works(self) -> bool:
        """Whether a clip is being read or written."""
        return bool(self.process.children(recursive=True))

    def results(self) -> list[Path]:
        """Everything that jobs have left, finished or not."""
        return [path for path in self.folder.rglob("*.mp4") if path.parent.name.startswith("tmp")]


def free_port() -> int:
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return int(trial.getsockname()[1])


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("page") / "空灵 Bücher"
    folder.mkdir()
    log = tmp_path_factory.mktemp("log") / "page.log"
    port = free_port()
    with log.open("w", encoding="utf-8") as stderr:
        program = subprocess.Popen(
            [sys.executable, ROOT / "app.py", "--port", str(port)],
            stderr=stderr,
            env=os.environ | {"TMPDIR": str(folder), "TEMP": str(folder)},
        )
    address = f"http://127.0.0.1:{port}/"
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(address).close()
                break
            except OSError:
                assert program.poll() is None, log.read_text(encoding="utf-8")
                time.sleep(0.1)
        yield Served(address, psutil.Process(program.pid), folder)
    finally:
        program.terminate()
        program.wait(timeout=30)
    assert "a fault of the program" not in log.read_text(encoding="utf-8")
    assert list(folder.glob("facefusion-ui*")) == []


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        reason = "no Chromium is installed; bring it with: apt-get install chromium"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=found, args=list(QUIET))
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Browser, served: Served) -> Iterator[Page]:
    """A new visitor's page; it may say nothing on the console and ask no other machine."""
    visitor = browser.new_context(viewport={"width": 1280, "height": 800})
    opened = visitor.new_page()
    opened.set_default_timeout(60_000)
    complaints: list[str] = []
    opened.on("console", lambda said: said.type == "error" and complaints.append(said.text))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("request", lambda asked: _is_ours(asked.url, served) or complaints.append(asked.url))
    opened.goto(served.address)
    opened.wait_for_selector("#swap")
    opened.wait_for_selector("#scene img")
    yield opened
    visitor.close()
    assert complaints == []


def _is_ours(url: str, served: Served) -> bool:
    return url.startswith((served.address, "data:", "blob:"))


@pytest.fixture
def desk(registry: Registry, tmp_path: Path) -> Desk:
    folder = tmp_path / "desk"
    folder.mkdir()
    return Desk(registry, folder)


@pytest.fixture(scope="session")
def face_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """12 frames with sound."""
    return make_face_clip(tmp_path_factory.mktemp("clip") / "short.mp4", frames=12)


@pytest.fixture(scope="session")
def long_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """300 frames with sound."""
    return make_face_clip(tmp_path_factory.mktemp("clip") / "long.mp4", frames=300)
