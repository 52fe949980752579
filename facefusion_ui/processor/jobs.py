"""One job: settings in, events out, and an output file that is whole or not there.

A job is a generator. Closing it cancels: the frame in hand is finished, temporary files and child
processes go, the final name is left as it was.
"""

import logging
from collections.abc import Generator, Iterator
from fractions import Fraction
from pathlib import Path

from pydantic import ByteSize, TypeAdapter

from facefusion_ui.arrays import Frame
from facefusion_ui.errors import NoFaceError, SettingsError
from facefusion_ui.events import Done, Event, FrameReady, Progress
from facefusion_ui.faces import Source
from facefusion_ui.media.clip import Reader, open_reader, open_writer, output_suffix
from facefusion_ui.media.files import check_output, write_whole
from facefusion_ui.media.image import read_picture, write_picture
from facefusion_ui.media.info import MediaInfo
from facefusion_ui.media.probe import probe
from facefusion_ui.processor.frame import Recipe
from facefusion_ui.processor.record import Record
from facefusion_ui.processor.source import SEARCH_HINT, find_reference, read_source
from facefusion_ui.registry.registry import Registry
from facefusion_ui.settings import Settings

log = logging.getLogger(__name__)


def run_job(settings: Settings, registry: Registry) -> Generator[Event, None, None]:
    """Swap what `settings` say and write the output; yield what happens.

    Raises:
        FaceFusionError: the job cannot be done; its message and hint are for the user, and no
            output was written.
    """
    if settings.target_path is None:
        raise SettingsError("There is no target", hint="Give a photo or video: --target-path.")
    info = probe(settings.target_path)
    output_path = _output_path(settings, info)
    record = Record(settings, registry)
    recipe = Recipe(settings, record)
    source = None
    if recipe.swapper:
        source = yield from read_source(settings, recipe.swapper, recipe.analyser, record)
    if info.kind == "image":
        yield from _run_photo(settings, recipe, record, source, info, output_path)
    else:
        yield from _run_clip(settings, recipe, record, source, info, output_path, registry)
    if registry.card_trouble:
        yield from record.warn(
            f"The models ran on the processor: {registry.card_trouble}.",
            hint=registry.card_trouble.hint,
        )
    report = record.report(output_path)
    if settings.report_path:
        write_whole(settings.report_path, [report.model_dump_json(indent=2).encode()])
    log.info("wrote %s in %.1f s", output_path, report.total_seconds)
    yield Done(output_path, report)


def _output_path(settings: Settings, info: MediaInfo) -> Path:
    if settings.output_path is None:
        raise SettingsError("There is no output path", hint="Say where to: --output-path.")
    path = settings.output_path
    if path.is_dir():
        suffix = output_suffix(info, settings.output_video_encoder)
        path = path / f"{info.path.stem}-swapped{suffix}"
    return check_output(path, [info.path, *settings.source_paths], kind=info.kind)


def _run_photo(
    settings: Settings,
    recipe: Recipe,
    record: Record,
    source: Source | None,
    info: MediaInfo,
    output_path: Path,
) -> Iterator[Event]:
    with record.stage("read"):
        picture = read_picture(info.path)
    reference = None
    if settings.face_selector_mode == "reference":
        reference = find_reference(settings, recipe.analyser, picture.frame)
    frame = recipe.apply(picture.frame, source, reference)
    yield from record.steps_down()
    if recipe.works_on_faces:
        _check_found(settings, record, info)
    with record.stage("write"):
        losses = write_picture(picture, frame, output_path, settings.output_image_quality)
    for notice in (*picture.notices, *losses):
        yield from record.warn(*notice)
    yield FrameReady(0, frame)
    yield Progress(done=1, total=1, fps=1 / record.elapsed_s, left_s=0.0)


def _run_clip(
    settings: Settings,
    recipe: Recipe,
    record: Record,
    source: Source | None,
    info: MediaInfo,
    output_path: Path,
    registry: Registry,
) -> Iterator[Event]:
    reference = None
    if settings.face_selector_mode == "reference":
        number = settings.reference_frame_number
        with open_reader(info, output_path, start=number, end=number + 1) as reader:
            reference = find_reference(settings, recipe.analyser, next(iter(reader)))
    start, end = settings.trim_frame_start, settings.trim_frame_end
    width, height = (side * recipe.scale for side in info.size_wh)
    scale = settings.output_video_scale
    with (
        open_reader(
            info, output_path, start=start, end=end, fps=exact_rate(settings.output_video_fps)
        ) as reader,
        open_writer(
            output_path,
            info,
            size_wh=(width, height),
            fps=reader.fps,
            encoder=settings.output_video_encoder,
            quality=settings.output_video_quality,
            preset=settings.output_video_preset,
            start=start,
            end=end,
            output_wh=(max(1, round(width * scale)), max(1, round(height * scale))),
        ) as writer,
    ):
        for notice in writer.warnings:
            yield from record.warn(*notice)
        start_s = record.elapsed_s
        hog_bytes, hog_frame = _hog(settings)
        for index, frame in enumerate(_timed(reader, record)):
            if index == hog_frame:
                registry.take_away(hog_bytes)
            frame = recipe.apply(frame, source, reference)
            yield from record.steps_down()
            with record.stage("write"):
                writer.write(frame)
            yield FrameReady(index, frame)
            yield _progress(index + 1, max(reader.total, index + 1), record.elapsed_s - start_s)
        for notice in reader.warnings:
            yield from record.warn(*notice)
        if recipe.works_on_faces:
            _check_found(settings, record, info)
    if recipe.works_on_faces and record.frames_without_face:
        yield from record.warn(
            f"{record.frames_without_face} of {record.frames} frames show no face to swap "
            "and are unchanged.",
            hint="Lower --face-detector-score if faces there were missed.",
        )


def _hog(settings: Settings) -> tuple[int, int | None]:
    """Return how many bytes another program takes, and at which frame; None: never."""
    if settings.emulate_hog is None:
        return 0, None
    size, _, frame = settings.emulate_hog.partition("@frame:")
    return TypeAdapter(ByteSize).validate_python(size), int(frame)


def exact_rate(fps: float | None) -> Fraction | None:
    """Return the rate that is meant: 29.97 is 30000/1001 on any clip.

    >>> exact_rate(23.976), exact_rate(12.5)
    (Fraction(24000, 1001), Fraction(25, 2))
    """
    if fps is None:
        return None
    broadcast = Fraction(round(fps) * 1000, 1001)
    if abs(fps - broadcast) < 0.005:
        return broadcast
    return Fraction(fps).limit_denominator(1001)


def _timed(reader: Reader, record: Record) -> Iterator[Frame]:
    frames = iter(reader)
    while True:
        with record.stage("read"):
            frame = next(frames, None)
        if frame is None:
            return
        yield frame


def _progress(done: int, total: int, spent_s: float) -> Progress:
    fps = done / max(spent_s, 1e-6)
    return Progress(done=done, total=total, fps=fps, left_s=(total - done) / fps)


def _check_found(settings: Settings, record: Record, info: MediaInfo) -> None:
    if record.faces_swapped == 0:
        if settings.face_selector_mode == "reference":
            raise NoFaceError(
                f"The reference person was not found in the target {info.path.name}",
                hint="Raise --reference-face-distance, or choose another reference face.",
            )
        raise NoFaceError(f"No face was found in the target {info.path.name}", hint=SEARCH_HINT)
