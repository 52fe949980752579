"""The ffmpeg program: which one is used, what it can do, and how it is run without stalling.

The user's own comes first: `IMAGEIO_FFMPEG_EXE`, then `PATH` (it may know encoders of a graphics
card), then the one that imageio-ffmpeg carries. One on PATH that does not run, or is older than
OLDEST, is passed over; one named by IMAGEIO_FFMPEG_EXE is used or refused, never passed over.
"""

import logging
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

import imageio_ffmpeg

from facefusion_ui.errors import FfmpegError

OLDEST = (5, 1)  # the first with -fps_mode
KEPT_LINES = 12
COMMON = ["-hide_banner", "-nostats", "-loglevel", "error", "-y"]
STALL_S = 120.0

logger = logging.getLogger(__name__)

_INSTALL_HINT = "Install ffmpeg 5.1 or newer, or set IMAGEIO_FFMPEG_EXE to one."
_QUIET = ["-hide_banner", "-nostdin"]


@dataclass(frozen=True)
class Ffmpeg:
    """An ffmpeg program that runs."""

    path: Path

    def lists(self, what: Literal["filters", "decoders", "encoders"], name: str) -> bool:
        """Whether `name` is among this program's filters, decoders or encoders."""
        done = subprocess.run(
            [self.path, *_QUIET, f"-{what}"], capture_output=True, check=False, **detached()
        )
        rows = (line.split() for line in done.stdout.decode(errors="replace").splitlines())
        return any(len(row) > 1 and row[1] == name for row in rows)


def find_ffmpeg() -> Ffmpeg:
    """Return the ffmpeg to use.

    Raises:
        FfmpegError: there is none, or the one the user named does not run or is too old.
    """
    named = os.environ.get("IMAGEIO_FFMPEG_EXE")
    if named:
        fault = _fault(named)
        if fault:
            raise FfmpegError(f"IMAGEIO_FFMPEG_EXE names {named}, {fault}", hint=_INSTALL_HINT)
        return Ffmpeg(Path(named))
    on_path = shutil.which("ffmpeg")
    if on_path:
        fault = _fault(on_path)
        if not fault:
            return Ffmpeg(Path(on_path))
        logger.warning("%s is passed over, %s", on_path, fault)
    try:
        return Ffmpeg(Path(imageio_ffmpeg.get_ffmpeg_exe()))
    except RuntimeError as error:
        raise FfmpegError("ffmpeg is not on this machine", hint=_INSTALL_HINT) from error


class Child:
    """An ffmpeg run that is read from or written to by pipe; a context manager.

    Its messages are always drained, so a pipe of messages never stalls it, and the last ones are
    kept. It lives in a group of its own, so that Ctrl+C reaches this process only, which then ends
    it; if this process is killed, the closing pipes end it.

    Attributes:
        message_count: lines ffmpeg has written.
    """

    def __init__(self, arguments: list[str], *, stall_s: float = STALL_S) -> None:
        """Start ffmpeg with `arguments`; it is killed when one read or write takes `stall_s`."""
        self._process: subprocess.Popen[bytes] = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **detached(),
        )
        self._stall_s = stall_s
        self._waiting_since: float | None = None
        self._stalled = False
        self._ended = threading.Event()
        self._lines: deque[str] = deque(maxlen=KEPT_LINES)
        self.message_count = 0
        self._threads = [
            threading.Thread(target=self._drain, daemon=True),
            threading.Thread(target=self._watch, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_: object) -> None:
        """End the run, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        self._ended.set()
        for thread in self._threads:
            thread.join()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            _close(pipe)

    def read_into(self, buffer: memoryview) -> bool:
        """Fill `buffer` (bytes); False when the run's output ended before.

        Raises:
            FfmpegError: nothing came for the stall time.
        """
        assert self._process.stdout is not None
        filled = 0
        self._waiting_since = time.monotonic()
        while filled < len(buffer):
            got = self._process.stdout.readinto(buffer[filled:])  # type: ignore[attr-defined]
            if not got:
                break
            filled += got
            self._waiting_since = time.monotonic()
        self._waiting_since = None
        self._raise_if_stalled()
        return filled == len(buffer)

    def write(self, data: memoryview) -> bool:
        """Hand `data` to the run; False when it no longer listens.

        Raises:
            FfmpegError: it did not take the data for the stall time.
        """
        assert self._process.stdin is not None
        self._waiting_since = time.monotonic()
        try:
            self._process.stdin.write(data)
            self._process.stdin.flush()
        except OSError:  # a broken pipe; Windows says EINVAL
            taken = False
        else:
            taken = True
        self._waiting_since = None
        self._raise_if_stalled()
        return taken

    def finish(self, *, timeout_s: float) -> int:
        """Close the input, let the run end by itself, and return its exit code.

        Raises:
            FfmpegError: it did not end in `timeout_s`.
        """
        _close(self._process.stdin)
        try:
            code = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._stalled = True
            self._raise_if_stalled()
            raise
        self._threads[0].join()  # the last words are in
        return code

    @property
    def last_words(self) -> str:
        """What ffmpeg said last, a few lines."""
        return "\n".join(self._lines)

    def _drain(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._lines.append(line.decode(errors="replace").rstrip())
            self.message_count += 1

    def _watch(self) -> None:
        while not self._ended.wait(min(1.0, self._stall_s / 4)):
            since = self._waiting_since
            if since is not None and time.monotonic() - since > self._stall_s:
                self._stalled = True
                self._process.kill()

    def _raise_if_stalled(self) -> None:
        if self._stalled:
            raise FfmpegError(
                f"ffmpeg did nothing for {self._stall_s:.0f} s and was stopped. {self.last_words}",
                hint="The file may be damaged, or its disk is not answering.",
            )


def _fault(program: str) -> str | None:
    try:
        done = subprocess.run(
            [program, "-version"], capture_output=True, timeout=30, check=False, **detached()
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"which does not run: {error}"
    text = done.stdout.decode(errors="replace")
    if done.returncode or not text.startswith("ffmpeg version"):
        return "which does not answer as ffmpeg does"
    release = re.match(r"ffmpeg version n?(\d+)\.(\d+)", text)  # builds from git bear no number
    if release and (int(release[1]), int(release[2])) < OLDEST:
        return f"which is version {release[1]}.{release[2]}"
    return None


def detached() -> dict[str, Any]:
    """Return the options of subprocess that keep Ctrl+C and console windows from a child."""
    if sys.platform == "win32":
        flags = subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP
        return {"creationflags": flags}
    return {"start_new_session": True}


def _close(pipe: IO[bytes] | None) -> None:
    try:
        if pipe is not None:
            pipe.close()
    except OSError:
        pass  # what was still buffered has nobody to go to
