"""What the page does: plain functions and generators, values in, values out.

Here alone BGR becomes RGB, and our errors become messages with their hint. Closing the tab, or
Stop, closes the generator of a job: it ends within a frame and leaves nothing behind.
"""

import html
import logging
import tempfile
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args
from urllib.parse import quote

import cv2
import numpy as np
from numpy.typing import NDArray

from facefusion_ui.arrays import Frame
from facefusion_ui.errors import FaceFusionError, InputError
from facefusion_ui.events import Done, Event, FrameReady, Progress
from facefusion_ui.media.clip import open_reader, output_suffix
from facefusion_ui.media.image import read_picture
from facefusion_ui.media.info import MediaInfo
from facefusion_ui.media.probe import probe
from facefusion_ui.notices import SteppedDown, SteppedUp, Warned, told_bytes
from facefusion_ui.presets import load_preset, preset_names
from facefusion_ui.processor.jobs import run_job
from facefusion_ui.registry.registry import Registry
from facefusion_ui.settings import Processor, Settings, make_settings, option
from facefusion_ui.ui import texts
from facefusion_ui.ui.controls import read_control, shown_fields

Picture = NDArray[np.uint8]
"""(H, W, 3) uint8, RGB: what the browser shows."""

REFRESH_S = 0.25  # between two looks at a running job
IDLE_S = 600.0  # without a job: then the card is given back
LOOK_S = 10.0  # how often idleness is looked at
LIVE_PX = 720  # long edge of the newest frame while a job runs
THUMB_PX = 480
BROWSER_PICTURES = (".jpg", ".jpeg", ".png", ".webp", ".avif", ".bmp", ".gif", ".apng")
BROWSER_VIDEOS = (".mp4", ".m4v", ".webm")

EMPTY = f"<div class='empty'>{texts.EMPTY}</div>"

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class View:
    """What the result side shows.

    Attributes:
        status: one line of HTML.
        live: the newest frame of a running job.
        pair: before and after, as pictures or as files.
        player: HTML that plays a video or an animation, or holds the place of a result.
        files: what can be downloaded.
        messages: HTML, warnings and errors.
        running: a job is under way.
    """

    status: str = ""
    live: Picture | None = None
    pair: tuple[Picture | str, Picture | str] | None = None
    player: str = EMPTY
    files: tuple[str, ...] = ()
    messages: str = ""
    running: bool = False


class Desk:
    """The models and the one job that may use them at a time.

    Attributes:
        registry: lends the models.
        defaults: options that are not on the page are taken from it.
        preset: the one that `defaults` were made with.
    """

    def __init__(
        self,
        registry: Registry,
        folder: Path,
        defaults: Settings | None = None,
        preset: str | None = None,
    ) -> None:
        self.registry = registry
        self.defaults = defaults or make_settings({})
        self.preset = preset
        self._folder = folder
        self._turn = threading.Lock()
        self._closing = threading.Event()
        self._used_s = time.monotonic()

    def new_folder(self) -> Path:
        """Make a folder for one result, with a name nobody can guess."""
        return Path(tempfile.mkdtemp(dir=self._folder))

    def events(self, settings: Settings) -> Generator[Event, None, None]:
        """Run a job when it is its turn; ends early when the page is closed."""
        with self._turn, closing(run_job(settings, self.registry)) as events:
            for event in events:
                self._used_s = time.monotonic()
                yield event
                if self._closing.is_set():
                    return

    def machine_options(self, preset: str | None) -> dict[str, Any]:
        """Return the options that are not on the page, by `preset` or the program's start.

        Raises:
            SettingsError: there is no such preset.
        """
        names = [n for n, f in Settings.model_fields.items() if option(f).group == "machine"]
        options = {name: getattr(self.defaults, name) for name in names}
        if preset and preset != self.preset:
            options |= {n: v for n, v in load_preset(preset).items() if n in names}
        return options

    def release(self) -> bool:
        """Close all models, unless a job has them; say whether they are closed."""
        if not self._turn.acquire(blocking=False):
            return False
        try:
            self.registry.release_all()
        finally:
            self._turn.release()
        return True

    def release_when_idle(self, idle_s: float = IDLE_S) -> None:
        """Close all models whenever no job has run for `idle_s`, until the page is closed."""
        while not self._closing.wait(min(idle_s, LOOK_S)):
            if self.registry.status() and time.monotonic() - self._used_s > idle_s:
                self.release()

    def close(self, patience_s: float = 10.0) -> None:
        """End the job in hand, and wait until it has cleaned up."""
        self._closing.set()
        if self._turn.acquire(timeout=patience_s):
            self._turn.release()


def swap(
    desk: Desk,
    sources: list[str] | None,
    target: str | None,
    values: Mapping[str, Any],
    preset: str | None = None,
) -> Generator[View, None, None]:
    """Run one job; every view replaces the one before.

    Args:
        sources: paths of the pictures of the person.
        target: path of the photo or clip.
        values: of the controls, by field name.
        preset: whose options are taken where the page has no control.
    """
    view = View(status=status_html(texts.STARTING), running=True)
    yield view
    notes: list[str] = []
    folder = desk.new_folder()
    try:
        settings = _settings(sources, target, {**desk.machine_options(preset), **values}, folder)
        shown_s = 0.0
        frame: Frame | None = None
        with closing(desk.events(settings)) as events:
            for event in events:
                if isinstance(event, (Warned, SteppedDown)):
                    notes.append(note_html("warning", event.message, event.hint))
                    view = replace(view, messages="".join(notes))
                    yield view
                elif isinstance(event, SteppedUp):
                    notes.append(note_html("note", event.message, ""))
                    view = replace(view, messages="".join(notes))
                    yield view
                elif isinstance(event, FrameReady):
                    frame = event.frame
                elif isinstance(event, Done):
                    yield _result(view, settings, event, frame)
                elif time.monotonic() - shown_s > REFRESH_S:
                    shown_s = time.monotonic()
                    live = None if frame is None else to_rgb(shrunk(frame, LIVE_PX))
                    view = replace(view, status=progress_html(event), live=live)
                    yield view
    except FaceFusionError as error:
        notes.append(note_html("error", str(error), error.hint))
        yield View(messages="".join(notes))
    except Exception as error:
        log.exception("a job failed by a fault of the program")
        fault = texts.FAULT.format(f"{type(error).__name__}: {error}")
        notes.append(note_html("error", fault, texts.FAULT_HINT))
        yield View(messages="".join(notes))
    finally:
        with suppress(OSError):  # it holds a result
            folder.rmdir()


def show_sources(paths: list[str] | None) -> tuple[list[Picture], str]:
    """Return thumbnails of the source pictures, and what is wrong with any of them, as HTML."""
    if not paths:
        return [], texts.SOURCE_HELP
    pictures, notes = [], []
    for path in paths:
        try:
            pictures.append(to_rgb(shrunk(read_picture(Path(path)).frame, THUMB_PX)))
        except FaceFusionError as error:
            notes.append(note_html("error", str(error), error.hint))
    return pictures, "".join(notes)


def show_target(path: str | None) -> tuple[Picture | None, str]:
    """Return the target's first frame, and what it is or what is wrong with it, as HTML."""
    if not path:
        return None, texts.TARGET_HELP
    try:
        info = probe(Path(path))
        frame = to_rgb(shrunk(_first_frame(info), THUMB_PX))
    except FaceFusionError as error:
        return None, note_html("error", str(error), error.hint)
    return frame, html.escape(facts(info))


def facts(info: MediaInfo) -> str:
    """Tell what a file is, in one line."""
    width, height = info.size_wh
    if info.fps is None:
        return f"{width} × {height}"
    seconds = info.frames / info.fps
    return (
        f"{width} × {height}, {info.frames} frames, {float(info.fps):.4g} fps, "
        f"{float(seconds):.3g} s"
    )


def to_rgb(frame: Frame) -> Picture:
    """Return (H, W, 3) BGR as RGB."""
    return np.ascontiguousarray(frame[..., ::-1])


def shrunk(frame: Frame, long_px: int) -> Frame:
    """Return `frame` with a long edge of at most `long_px`."""
    scale = long_px / max(frame.shape[:2])
    if scale >= 1:
        return frame
    small = cv2.resize(frame, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    return np.asarray(small, np.uint8)


def status_html(text: str) -> str:
    """Return a line of status, read out by screen readers."""
    return f"<div class='status' role='status'>{html.escape(text)}</div>"


def progress_html(progress: Progress) -> str:
    """Return a bar with frames, speed and the time left."""
    total = progress.total
    text = f"Frame {progress.done}{f' of {total}' if total else ''} · {progress.fps:.1f} fps"
    if progress.left_s is not None:
        text += f" · {texts.clock(progress.left_s)} left"
    bar = f"<progress max='{total}' value='{progress.done}'></progress>" if total else ""
    said = f"<span role='status'>{html.escape(text)}</span>"
    return f"<div class='status'>{bar}{said}<small>{texts.KEEP_OPEN}</small></div>"


def preset_controls(name: str) -> dict[str, Any]:
    """Return what the controls become with a preset: its options, else the defaults."""
    chosen = make_settings(load_preset(name))
    fields = {key for known in preset_names() for key in load_preset(known)}
    return {
        field: getattr(chosen, field)
        for basic in (True, False)
        for field in shown_fields(basic=basic)
        if field in fields
    }


def memory_html(desk: Desk) -> str:
    """Return which models are open, where, and what is free."""
    registry = desk.registry
    lines = [
        f"{model.name}: {told_bytes(model.bytes)} "
        f"{texts.ON_CARD if model.on_card else texts.ON_PROCESSOR}, "
        f"{texts.USED.format(texts.clock(model.idle_s))}"
        for model in registry.status()
        if model.bytes
    ]
    free, total = registry.free_bytes, registry.memory.total_bytes
    head = registry.device
    if registry.has_card and free is not None and total is not None:
        head += f": {texts.FREE.format(told_bytes(free), told_bytes(total))}"
        if registry.level != "ok":
            head += f" ({registry.level})"
    elif registry.has_card:
        head += f": {texts.NO_READING}"
    items = "".join(f"<li>{html.escape(line)}</li>" for line in lines)
    return f"<p>{html.escape(head)}</p><ul>{items or f'<li>{texts.NO_MODELS}</li>'}</ul>"


def note_html(kind: str, message: str, hint: str) -> str:
    """Return one message of the panel; file names in it are made harmless."""
    role = "alert" if kind == "error" else "note"
    said = f"<strong>{html.escape(message.rstrip('.'))}.</strong> {html.escape(hint)}"
    return f"<div class='note {kind}' role='{role}'>{said}</div>"


def _settings(
    sources: list[str] | None, target: str | None, values: Mapping[str, Any], folder: Path
) -> Settings:
    if not sources:
        raise InputError(texts.NEEDS_SOURCE, hint=texts.ADD_SOURCE)
    if not target:
        raise InputError(texts.NEEDS_TARGET, hint=texts.ADD_TARGET)
    settings = make_settings({name: read_control(name, value) for name, value in values.items()})
    info = probe(Path(target))
    suffix = output_suffix(info, settings.output_video_encoder)
    if info.kind == "video" and suffix not in BROWSER_VIDEOS:
        suffix = ".webm" if settings.output_video_encoder == "libvpx-vp9" else ".mp4"
    return settings.model_copy(
        update={
            "source_paths": tuple(map(Path, sources)),
            "target_path": Path(target),
            "output_path": folder / f"{info.path.stem}-swapped{suffix}",
            "report_path": folder / "report.json",
        }
    )


def _result(view: View, settings: Settings, done: Done, frame: Frame | None) -> View:
    report, path = done.report, done.output_path
    faces = "1 face" if report.faces_swapped == 1 else f"{report.faces_swapped} faces"
    said = f"Done in {texts.clock(report.total_seconds)}: {faces} swapped"
    if report.frames > 1:
        said += f" in {report.frames} frames, {report.frames / report.total_seconds:.1f} fps"
    chosen = "".join(f" {why}." for why in report.plan.choices) if report.plan else ""
    made = " and ".join(m.name for m in report.models if m.task in get_args(Processor))
    view = replace(
        view,
        status=status_html(f"{said} with {made}, on {report.device}.{chosen}"),
        live=None,
        files=(str(path), str(settings.report_path)),
        running=False,
    )
    target = settings.target_path
    assert target is not None
    assert frame is not None
    if path.suffix in BROWSER_VIDEOS or probe(path).kind == "animation":
        return replace(view, player=player_html(path))
    if {target.suffix.lower(), path.suffix} <= set(BROWSER_PICTURES):
        return replace(view, pair=(str(target), str(path)))
    return replace(view, pair=(to_rgb(read_picture(target).frame), to_rgb(frame)))


def player_html(path: Path) -> str:
    """Return a player of a file in the page's own folder.

    The address is relative, so that it holds behind a proxy as well.
    """
    address = f"gradio_api/file={quote(path.as_posix())}"
    if path.suffix in BROWSER_VIDEOS:
        return f"<video class='player' src='{address}' controls playsinline></video>"
    return f"<img class='player' src='{address}' alt='{html.escape(texts.RESULT)}'>"


def _first_frame(info: MediaInfo) -> Frame:
    if info.kind == "image":
        return read_picture(info.path).frame
    with open_reader(info, info.path.with_suffix(".mp4"), start=0, end=1) as reader:
        return next(iter(reader))
