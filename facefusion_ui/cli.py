"""The command line: a verb per job, a flag per field of Settings, progress on the terminal.

Exit codes: 0 the whole output is there; 1 the job failed; 2 the command was wrong; 130 Ctrl-C.
"""

import argparse
import contextlib
import glob
import io
import itertools
import logging
import re
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from pydantic import ByteSize
from pydantic.fields import FieldInfo

from facefusion_ui import __version__
from facefusion_ui.errors import FaceFusionError, InputError, OutputError, SettingsError
from facefusion_ui.events import Done, Progress, SteppedDown, Warned
from facefusion_ui.media.files import write_whole
from facefusion_ui.registry.catalog import card, cards_of
from facefusion_ui.registry.registry import Registry
from facefusion_ui.settings import Group, Settings, make_settings, nearest, option, values_of

VERBS = {
    "run": "open the page in which all is done by mouse (the default)",
    "headless-run": "change one photo or video",
    "batch-run": "change many, named by patterns",
    "demo": "swap the sample faces, to see that all works",
}
GROUPS: dict[Group, str] = {
    "paths": "files",
    "face": "faces: which are found and which are chosen",
    "swapping": "swapping",
    "mask": "mask: what of the face is changed",
    "output": "output",
    "machine": "machine",
}
PATHS = ("source_paths", "target_path", "output_path")
PLACEHOLDERS = ("index", "source_name", "target_name", "target_extension")
BESIDE = "beside the output"  # what --report without a file stands for
REDRAW_S = 0.1  # on a terminal
REPEAT_S = 10.0  # in a log
LEVELS = {"error": "ERROR", "warn": "WARNING", "info": "INFO", "debug": "DEBUG"}

log = logging.getLogger("facefusion_ui")


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks and return the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    _speak_utf8()
    terminal = Terminal()
    try:
        asked = _parse(words)
        log.setLevel(LEVELS[asked.settings.log_level])
        with _heard(terminal), _ended_by_signals():
            return _do(asked, terminal)
    except UsageError as error:
        terminal.error(error)
        return 2
    except FaceFusionError as error:
        terminal.error(error)
        return 1
    except KeyboardInterrupt:
        terminal.say("Stopped. No half-written file is left.")
        return 130


def _do(asked: argparse.Namespace, terminal: "Terminal") -> int:
    try:
        return _DO[asked.verb](asked, terminal)
    except FaceFusionError:
        raise
    except Exception as error:
        raise _fault(error) from error


class UsageError(FaceFusionError):
    """The command line itself is wrong."""


# --- what is asked ---------------------------------------------------------------------------


class Parser(argparse.ArgumentParser):
    """Raises UsageError where argparse would exit, and names the nearest flag."""

    def __init__(self, **details: Any) -> None:
        super().__init__(
            allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **details
        )

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=f"Run: {self.prog} --help")

    def parse(self, words: list[str]) -> argparse.Namespace:
        """Parse as argparse does; a flag that is not known raises with the nearest name."""
        parsed, unknown = self.parse_known_args(words)
        for word in unknown:
            if word.startswith("-"):
                flag = word.partition("=")[0]
                raise UsageError(f"{flag} is not an option", hint=nearest(flag, self._long_flags()))
        if unknown:
            raise UsageError(f"{unknown[0]} belongs to no option", hint=f"Run: {self.prog} --help")
        return parsed

    def _long_flags(self) -> list[str]:
        return [flag for flag in self._option_string_actions if flag.startswith("--")]


def _parse(words: list[str]) -> argparse.Namespace:
    """Return the verb, its own options, and `settings` made of all flags that were given."""
    if not words or (words[0].startswith("-") and words[0] not in ("-h", "--help", "--version")):
        words = ["run", *words]
    verb = words[0]
    if verb in ("-h", "--help"):
        _overview().print_help()
        raise SystemExit(0)
    if verb == "--version":
        print(f"facefusion-ui {__version__}")
        raise SystemExit(0)
    if verb not in VERBS:
        raise UsageError(f"{verb} is not a verb", hint=nearest(verb, list(VERBS)))
    asked = make_parser(verb).parse(words[1:])
    asked.verb = verb
    given = {
        name: tuple(value) if isinstance(value, list) else value
        for name in Settings.model_fields
        if (value := getattr(asked, name, None)) is not None
    }
    asked.beside = given.get("report_path") == BESIDE
    if asked.beside:
        del given["report_path"]
    try:
        asked.settings = make_settings(given)
        for name, value in given.items():
            task = option(Settings.model_fields[name]).task
            if task:
                card(str(value), task)
    except FaceFusionError as error:
        raise UsageError(str(error), hint=error.hint) from error
    return asked


def _overview() -> Parser:
    verbs = "\n".join(f"  {verb:14}{text}" for verb, text in VERBS.items())
    parser = Parser(
        prog="app.py",
        usage="app.py [VERB] [options]",
        description="Swap faces in photos and videos on your own machine.",
        epilog=f"verbs:\n{verbs}\n\nEach verb has its own help, for instance: "
        "app.py headless-run --help",
    )
    parser.add_argument("--version", action="store_true", help="print the version")
    return parser


def make_parser(verb: str) -> Parser:
    """Return the parser of one verb: its own flags, then a flag per field of Settings."""
    text = VERBS[verb]
    parser = Parser(
        prog=f"app.py {verb}",
        usage=f"app.py {verb} {_USAGE[verb]}[options]",
        description=f"{text[0].upper()}{text[1:]}.",
    )
    own = parser.add_argument_group(verb)
    hidden: tuple[str, ...] = PATHS
    if verb == "run":
        own.add_argument("--port", type=_port, metavar="PORT", help=_PORT_HELP)
        own.add_argument("--host", default="127.0.0.1", help=_HOST_HELP)
        own.add_argument("--open-browser", action="store_true", help="open the page in a browser")
        hidden = (*PATHS, "report_path")
    elif verb == "batch-run":
        own.add_argument("-s", "--source-pattern", nargs="+", metavar="PATTERN", help=_SOURCE_HELP)
        own.add_argument(
            "-t", "--target-pattern", nargs="+", required=True, metavar="PATTERN", help=_TARGET_HELP
        )
        own.add_argument(
            "-o", "--output-pattern", required=True, metavar="PATTERN", help=_OUTPUT_HELP
        )
    elif verb == "demo":
        own.add_argument(
            "-o", "--output-path", dest="folder", type=Path, default=Path("outputs/demo"),
            metavar="FOLDER", help="where the results are written (default: outputs/demo)",
        )  # fmt: skip
        own.add_argument("--picture", type=Path, metavar="FILE", help=_PICTURE_HELP)
    else:
        hidden = ()
    sections = {group: parser.add_argument_group(title) for group, title in GROUPS.items()}
    for name, field in Settings.model_fields.items():
        if name not in hidden:
            _add_flag(sections[option(field).group], name, field)
    return parser


_USAGE = {
    "run": "",
    "headless-run": "-s SOURCE ... -t TARGET -o OUTPUT ",
    "batch-run": "-s PATTERN ... -t PATTERN ... -o PATTERN ",
    "demo": "",
}
_PORT_HELP = "port of the page (default: 7860, or the next one that is free)"
_HOST_HELP = (
    "address the page is bound to (default: 127.0.0.1, this machine alone); with another one, "
    "everybody who reaches it can use the page"
)
_SOURCE_HELP = "source pictures, as glob patterns in quotes; each is put on each target"
_TARGET_HELP = "photos and videos to change, as glob patterns in quotes"
_OUTPUT_HELP = (
    "name of each output, for instance 'out/{source_name}-{target_name}{target_extension}'; "
    f"known: {' '.join(f'{{{name}}}' for name in PLACEHOLDERS)}; the index counts from 0"
)
_PICTURE_HELP = "also write source, target and result side by side as this picture"


def _add_flag(section: Any, name: str, field: FieldInfo) -> None:
    """Add the flag of one field; values stay as typed, so that Settings judges them."""
    choice, takes = option(field), values_of(field)
    flags = [f"--{name.replace('_', '-')}"]
    if choice.short:
        flags.insert(0, f"-{choice.short}")
    details: dict[str, Any] = {"dest": name, "help": help_text(name, field).replace("%", "%%")}
    if takes.kind is int:
        details["type"] = _number
    if takes.count != 1:
        details["nargs"] = takes.count or "+"
    if takes.kind is bool:
        section.add_argument(*flags, **details, action=argparse.BooleanOptionalAction)
        return
    if takes.kind is Path:
        details["metavar"] = "FILE"
    elif takes.kind is ByteSize:
        details["metavar"] = "SIZE"
    elif takes.choices or choice.task:
        details["metavar"] = "NAME" if takes.kind is str else "N"
    else:
        details["metavar"] = "N"
    if name == "report_path":
        flags.insert(0, "--report")
        details |= {"nargs": "?", "const": BESIDE}
        details["help"] += "; without FILE: beside each output, as OUTPUT.json"
    section.add_argument(*flags, **details)


def help_text(name: str, field: FieldInfo) -> str:
    """Return a field's description with its choices or range, and its default.

    >>> help_text("face_mask_blur", Settings.model_fields["face_mask_blur"])
    "softness of the box mask's edge (0 to 1, default: 0.3)"
    """
    takes, task = values_of(field), option(field).task
    facts = []
    choices = cards_of(task) if task else takes.choices
    if choices:
        facts.append(f"one of: {', '.join(map(str, choices))}")
    elif task:
        facts.append("none is installed")
    if takes.low is not None and takes.high is not None:
        facts.append(f"{'above ' if takes.low_open else ''}{takes.low:g} to {takes.high:g}")
    elif takes.low is not None:
        facts.append(f"{takes.low:g} or more")
    default = field.default
    if isinstance(default, tuple):
        default = " ".join(map(str, default))
    if default not in (None, ""):
        facts.append(f"default: {default}")
    return f"{field.description} ({', '.join(facts)})" if facts else str(field.description)


def _number(word: str) -> int | str:
    """Return `word` as a number if it is one; Settings complains about the rest."""
    try:
        return int(word)
    except ValueError:
        return word


def _port(word: str) -> int:
    if not word.isdecimal() or not 0 < int(word) < 65536:
        raise argparse.ArgumentTypeError(f"a port is a number from 1 to 65535, got {word}")
    return int(word)


# --- what is done ----------------------------------------------------------------------------


def _run_page(asked: argparse.Namespace, terminal: "Terminal") -> int:
    from facefusion_ui.ui import server

    try:
        port = server.find_port(asked.host, asked.port)
    except OutputError as error:
        raise UsageError(str(error), hint=error.hint) from error
    with _registry(asked.settings) as registry:
        terminal.say("The page is being opened ...")
        with server.served(
            registry, asked.settings, host=asked.host, port=port, open_browser=asked.open_browser
        ) as address:
            terminal.say(f"Open {address} in a browser. Ctrl-C ends the program.")
            if not server.is_loopback(asked.host):
                terminal.warn(
                    "Everybody who reaches this machine can use the page.",
                    "Leave --host out to keep it to yourself.",
                )
            with contextlib.suppress(KeyboardInterrupt):
                while True:  # an Event waits deaf to Ctrl-C on Windows
                    time.sleep(1)
            terminal.say("The page is being closed ...")
    return 0


def _run_one(asked: argparse.Namespace, terminal: "Terminal") -> int:
    with _registry(asked.settings) as registry:
        _do_job(asked.settings, registry, terminal, beside=asked.beside)
    return 0


def _run_batch(asked: argparse.Namespace, terminal: "Terminal") -> int:
    jobs = expand_batch(
        asked.settings, asked.source_pattern, asked.target_pattern, asked.output_pattern
    )
    failed = []
    with _registry(asked.settings) as registry:
        for number, settings in enumerate(jobs, start=1):
            terminal.say(f"{number} of {len(jobs)}: {settings.target_path}")
            try:
                _do_job(settings, registry, terminal, beside=asked.beside)
            except FaceFusionError as error:
                terminal.error(error)
                failed.append(settings)
            except Exception as error:  # noqa: BLE001  the other files must not suffer from a fault
                terminal.error(_fault(error))
                failed.append(settings)
    terminal.say(f"{len(jobs) - len(failed)} of {len(jobs)} done.")
    for settings in failed:
        terminal.say(f"failed: {settings.target_path} (for {settings.output_path})")
    return 1 if failed else 0


def _run_demo(asked: argparse.Namespace, terminal: "Terminal") -> int:
    from facefusion_ui.samples import astronaut_path, hopper_path, make_sample_clip

    folder: Path = asked.folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"{folder} cannot be made: {error.strerror}", hint="Choose another --output-path."
        ) from error
    clip = folder / "clip-before.mp4"
    make_sample_clip(clip)
    results = {astronaut_path(): folder / "photo.png", clip: folder / "clip.mp4"}
    with _registry(asked.settings) as registry:
        for target, output in results.items():
            settings = asked.settings.model_copy(
                update={
                    "source_paths": (hopper_path(),),
                    "target_path": target,
                    "output_path": output,
                }
            )
            _do_job(settings, registry, terminal, beside=asked.beside)
    if asked.picture:
        _write_side_by_side([hopper_path(), astronaut_path(), folder / "photo.png"], asked.picture)
        terminal.say(f"Wrote {asked.picture}")
    terminal.say(f"Look at {folder.absolute()}: photo.png, and clip.mp4 with sound.")
    return 0


_DO = {"run": _run_page, "headless-run": _run_one, "batch-run": _run_batch, "demo": _run_demo}


def _registry(settings: Settings) -> Registry:
    return Registry(
        settings.execution_providers,
        settings.execution_device_ids[0],
        emulate_bytes=settings.emulate_vram,
    )


def _do_job(settings: Settings, registry: Registry, terminal: "Terminal", *, beside: bool) -> None:
    """Run one job to its end, telling the terminal.

    Raises:
        FaceFusionError: it failed; nothing was written.
    """
    from facefusion_ui.processor.jobs import run_job  # late: --help need not wait for media

    try:
        with contextlib.closing(run_job(settings, registry)) as events:
            for event in events:
                if isinstance(event, Progress):
                    terminal.progress(event)
                elif isinstance(event, (Warned, SteppedDown)):
                    terminal.warn(event.message, event.hint)
                elif isinstance(event, Done) and beside:
                    path = event.output_path
                    report = event.report.model_dump_json(indent=2).encode()
                    write_whole(path.with_name(f"{path.name}.json"), [report])
    finally:
        terminal.clear()


def expand_batch(
    settings: Settings,
    source_patterns: list[str] | None,
    target_patterns: list[str],
    output_pattern: str,
) -> list[Settings]:
    """Return the settings of each job: every source on every target, in the order of the names.

    Raises:
        InputError: a pattern matches no file.
        SettingsError: the output pattern has an unknown placeholder, or names a file twice.
    """
    targets = _matches(target_patterns)
    sources: list[tuple[Path, ...]] = [(path,) for path in _matches(source_patterns or [])]
    jobs: dict[Path, Settings] = {}
    for index, (source, target) in enumerate(itertools.product(sources or [()], targets)):
        known = {
            "index": str(index),
            "source_name": source[0].stem if source else "",
            "target_name": target.stem,
            "target_extension": target.suffix,
        }
        output = Path(_filled(output_pattern, known))
        if output in jobs:
            raise SettingsError(
                f"Two jobs would write {output}", hint="Add {index} to the output pattern."
            )
        jobs[output] = settings.model_copy(
            update={"source_paths": source, "target_path": target, "output_path": output}
        )
    return list(jobs.values())


def _matches(patterns: list[str]) -> list[Path]:
    """Return the files that the patterns name; a file whose name looks like a pattern is itself."""
    found: list[Path] = []
    for pattern in patterns:
        named = Path(pattern).expanduser()
        paths = [named] if named.is_file() else map(Path, glob.glob(str(named), recursive=True))  # noqa: PTH207  Path.glob takes no absolute pattern
        files = sorted(path for path in paths if path.is_file())
        if not files:
            raise InputError(f"No file matches {pattern}", hint="Check the pattern, and quote it.")
        found += files
    return list(dict.fromkeys(found))


def _filled(pattern: str, values: dict[str, str]) -> str:
    """Put `values` into the pattern's {placeholders}.

    >>> _filled("out/{target_name}.png", {"target_name": "a"})
    'out/a.png'
    """

    def value(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise SettingsError(
                f"{match[0]} is not a placeholder", hint=nearest(match[1], list(values))
            )
        return values[match[1]]

    return re.sub(r"\{([^{}]*)\}", value, pattern)


def _write_side_by_side(paths: list[Path], output: Path) -> None:
    import cv2
    import numpy as np

    from facefusion_ui.media.image import read_picture

    height = 512
    panels = []
    for path in paths:
        frame = read_picture(path).frame
        width = round(frame.shape[1] * height / frame.shape[0])
        panels.append(cv2.resize(frame, (width, height), interpolation=cv2.INTER_AREA))
        panels.append(np.full((height, 12, 3), 255, np.uint8))
    ok, encoded = cv2.imencode(output.suffix, np.hstack(panels[:-1]))
    assert ok
    output.parent.mkdir(parents=True, exist_ok=True)
    write_whole(output, [encoded.tobytes()])


def _fault(error: Exception) -> FaceFusionError:
    log.debug("a fault of the program", exc_info=error)
    return FaceFusionError(
        f"A fault of the program: {type(error).__name__}: {error}",
        hint="Run it again with --log-level debug and report what it says.",
    )


# --- what is told ----------------------------------------------------------------------------


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
def _heard(terminal: Terminal) -> Iterator[None]:
    """Let what our modules log be seen."""
    log.addHandler(terminal)
    try:
        yield
    finally:
        log.removeHandler(terminal)


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
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


def _speak_utf8() -> None:
    """Make any file name printable, also where a console or a pipe has an old encoding."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
