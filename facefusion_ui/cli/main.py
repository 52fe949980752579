"""A verb per job.

Exit codes: 0 the whole output is there; 1 the job failed; 2 the command was wrong; 130 Ctrl-C.
"""

import argparse
import contextlib
import json
import logging
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from facefusion_ui.cli.batch import expand_batch
from facefusion_ui.cli.flags import UsageError, parse
from facefusion_ui.cli.terminal import Terminal, ended_by_signals, heard, speak_utf8
from facefusion_ui.errors import FaceFusionError, OutputError
from facefusion_ui.events import Done, Progress
from facefusion_ui.media.files import write_whole
from facefusion_ui.notices import SteppedDown, SteppedUp, Warned
from facefusion_ui.registry.costs import PATH as COSTS_PATH
from facefusion_ui.registry.registry import Registry
from facefusion_ui.registry.weights import FOLDER, Store, usual_places
from facefusion_ui.settings import Settings

LEVELS = {"error": "ERROR", "warn": "WARNING", "info": "INFO", "debug": "DEBUG"}

ORDERS = {
    "frame": "frame by frame, each through all models",
    "stage": "model by model, each over {} frames at a time",
}

log = logging.getLogger("facefusion_ui")


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks and return the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    speak_utf8()
    terminal = Terminal()
    try:
        asked = parse(words)
        log.setLevel(LEVELS[asked.settings.log_level])
        with heard(log, terminal), ended_by_signals():
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


def _do(asked: argparse.Namespace, terminal: Terminal) -> int:
    try:
        return _DO[asked.verb](asked, terminal)
    except FaceFusionError:
        raise
    except Exception as error:
        raise _fault(error) from error


def _run_page(asked: argparse.Namespace, terminal: Terminal) -> int:
    from facefusion_ui.ui import server

    try:
        port = server.find_port(asked.host, asked.port)
    except OutputError as error:
        raise UsageError(str(error), hint=error.hint) from error
    with _registry(asked.settings) as registry:
        if asked.port is None and port != server.FIRST_PORT:
            terminal.warn(
                f"Port {server.FIRST_PORT} is taken, so the page is at {port}.",
                "If another copy of this program has it, both share one graphics card.",
            )
        terminal.say("The page is being opened ...")
        with server.served(
            registry,
            asked.settings,
            asked.preset,
            host=asked.host,
            port=port,
            open_browser=asked.open_browser,
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


def _run_one(asked: argparse.Namespace, terminal: Terminal) -> int:
    with _registry(asked.settings) as registry:
        _do_job(asked.settings, registry, terminal, beside=asked.beside)
    return 0


def _run_batch(asked: argparse.Namespace, terminal: Terminal) -> int:
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


def _run_demo(asked: argparse.Namespace, terminal: Terminal) -> int:
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


def _run_plan(asked: argparse.Namespace, terminal: Terminal) -> int:
    from facefusion_ui.processor.jobs import prepare

    with _registry(asked.settings) as registry:
        plan = prepare(asked.settings, registry).plan()
        device = registry.device
    if asked.json:
        print(plan.model_dump_json(indent=2))
        return 0
    print(f"on {device}, {ORDERS[plan.order].format(plan.chunk_frames)}")
    print("\n".join(plan.told()))
    return 0


def _run_models(asked: argparse.Namespace, terminal: Terminal) -> int:
    from facefusion_ui.cli import models

    with _registry(asked.settings) as registry:
        return models.run(asked, terminal, registry)


def _run_doctor(asked: argparse.Namespace, terminal: Terminal) -> int:
    from facefusion_ui.processor.doctor import examine

    findings = examine(_store(asked.settings))
    if asked.json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2, ensure_ascii=False))
    else:
        for finding in findings:
            print(f"{finding.state:8}{finding.name}: {finding.found}")
            if finding.cure:
                print(f"{'':8}cure: {finding.cure}")
    return int(any(finding.state == "trouble" for finding in findings))


_DO = {
    "run": _run_page,
    "headless-run": _run_one,
    "batch-run": _run_batch,
    "demo": _run_demo,
    "plan": _run_plan,
    "models": _run_models,
    "doctor": _run_doctor,
}


def _registry(settings: Settings) -> Registry:
    return Registry(
        settings.execution_providers,
        settings.execution_device_ids[0],
        emulate_bytes=settings.emulate_vram,
        threads=settings.execution_thread_count,
        costs_path=None if settings.emulate_vram else COSTS_PATH,
        store=_store(settings),
    )


def _store(settings: Settings) -> Store:
    return Store(settings.models_path or FOLDER, usual_places(), settings.unverified_models)


def _do_job(settings: Settings, registry: Registry, terminal: Terminal, *, beside: bool) -> None:
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
                elif isinstance(event, SteppedUp):
                    terminal.say(event.message)
                elif isinstance(event, Done) and beside:
                    path = event.output_path
                    report = event.report.model_dump_json(indent=2).encode()
                    write_whole(path.with_name(f"{path.name}.json"), [report])
    finally:
        terminal.clear()


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
