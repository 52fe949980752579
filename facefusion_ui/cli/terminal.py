"""What the terminal is told: progress, warnings, errors; and the signals it sends."""

import contextlib
import io
import logging
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import NoReturn

from facefusion_ui.errors import FaceFusionError
from facefusion_ui.events import Progress

REDRAW_S = 0.1  # on a terminal
REPEAT_S = 10.0  # in a log


class Terminal(logging.Handler):
    """Speaks on stderr: a bar that is redrawn on a terminal, plain lines in a file."""

    def __init__(self) -> None:
        super().__init__()
        self._live = sys.stderr.isatty()
        self._next_s = 0.0
        self._drawn = False

    def say(self, text: str) -> None:
        """Print a line, above the bar if there is one."""
        self.clear()
        print(text, file=sys.stderr, flush=True)

    def warn(self, message: str, hint: str) -> None:
        self.say(f"warning: {message} {hint}")

    def error(self, error: FaceFusionError) -> None:
        self.say(f"error: {str(error).rstrip('.')}.\n       {error.hint}")

    def emit(self, record: logging.LogRecord) -> None:
        """Print what our modules log."""
        self.say(self.format(record))

    def progress(self, progress: Progress) -> None:
        """Show how far the job is; not more often than is useful to see."""
        now_s = time.monotonic()
        if now_s < self._next_s and progress.done != progress.total:
            return
        self._next_s = now_s + (REDRAW_S if self._live else REPEAT_S)
        if not self._live:
            print(progress_text(progress), file=sys.stderr, flush=True)
            return
        width = shutil.get_terminal_size().columns - 1
        line = f"{progress_bar(progress)} {progress_text(progress)}"[:width]
        print(f"\r{line:{width}}", end="", file=sys.stderr, flush=True)
        self._drawn = True

    def clear(self) -> None:
        """Take the bar away."""
        if self._drawn:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r{'':{width}}\r", end="", file=sys.stderr, flush=True)
            self._drawn = False


def progress_bar(progress: Progress) -> str:
    """Draw a bar of 22 signs; without a total it only moves.

    >>> progress_bar(Progress(done=5, total=10, fps=1.0, left_s=5.0))
    '[##########----------]'
    """
    if not progress.total:
        place = progress.done % 20
        return f"[{'-' * place}#{'-' * (19 - place)}]"
    full = 20 * progress.done // progress.total
    return f"[{'#' * full}{'-' * (20 - full)}]"


def progress_text(progress: Progress) -> str:
    """Tell frames, speed and the time left.

    >>> progress_text(Progress(done=30, total=75, fps=9.5, left_s=4.7))
    'frame 30 of 75, 9.5 fps, 0:05 left'
    """
    of = "" if progress.total is None else f" of {progress.total}"
    text = f"frame {progress.done}{of}, {progress.fps:.1f} fps"
    if progress.left_s is None:
        return text
    minutes, seconds = divmod(round(progress.left_s), 60)
    hours, minutes = divmod(minutes, 60)
    clock = f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
    return f"{text}, {clock} left"


@contextlib.contextmanager
def heard(log: logging.Logger, terminal: Terminal) -> Iterator[None]:
    """Let what our modules log be seen."""
    log.addHandler(terminal)
    try:
        yield
    finally:
        log.removeHandler(terminal)


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let a request to end (kill, a closed terminal) unwind, so that jobs clean up after them."""

    def leave(number: int, _: object) -> NoReturn:
        raise SystemExit(128 + number)

    before = {}
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGHUP", "SIGBREAK"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, leave)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def speak_utf8() -> None:
    """Make any file name printable, also where a console or a pipe has an old encoding."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
