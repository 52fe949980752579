"""One job: settings in, events out, and an output file that is whole or not there.

A job is a generator. Closing it cancels: the frame in hand is finished, temporary files and child
processes go, the final name is left as it was.
"""

import logging
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, count, islice
from pathlib import Path

from pydantic import ByteSize, TypeAdapter

from facefusion_ui.arrays import Frame
from facefusion_ui.errors import NoFaceError, SettingsError
from facefusion_ui.events import Done, Event, FrameReady, Progress
from facefusion_ui.media.clip import Reader, Writer, open_reader, open_writer, output_suffix
from facefusion_ui.media.files import check_output, write_whole
from facefusion_ui.media.image import read_picture, write_picture
from facefusion_ui.media.info import MediaInfo
from facefusion_ui.media.probe import probe
from facefusion_ui.notices import Warned
from facefusion_ui.plans import Plan
from facefusion_ui.processor.choice import settle
from facefusion_ui.processor.frame import Recipe
from facefusion_ui.processor.record import Record
from facefusion_ui.processor.source import SEARCH_HINT, find_reference, read_source
from facefusion_ui.registry.registry import Registry
from facefusion_ui.settings import Settings

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Job:
    """One job's own things."""

    settings: Settings
    registry: Registry
    record: Record
    recipe: Recipe
    info: MediaInfo

    def plan(self) -> Plan:
        """Plan the next frames."""
        width, height = self.info.size_wh
        return self.record.make_plan(
            self.recipe.works(self.info.size_wh),
            frame_bytes=3 * width * height * self.recipe.scale**2,
            frames=self.info.frames,
        )


def run_job(settings: Settings, registry: Registry) -> Generator[Event, None, None]:
    """Swap what `settings` say and write the output; yield what happens.

    Raises:
        FaceFusionError: the job cannot be done; its message and hint are for the user, and no
            output was written.
    """
    job = prepare(settings, registry)
    settings, record, recipe = job.settings, job.record, job.recipe
    output_path = _output_path(settings, job.info)
    job.plan()
    for model in recipe.models():
        if registry.converts(model):
            told = f"{model.name} is converted to ONNX first, once: this takes up to a minute."
            yield from record.warn(Warned(told, hint="The next job begins at once."))
    if recipe.swapper:
        recipe.source = yield from read_source(settings, recipe.swapper, recipe.analyser, record)
    run = _run_photo if job.info.kind == "image" else _run_clip
    yield from run(job, output_path)
    if registry.card_trouble:
        trouble = f"The models ran on the processor: {registry.card_trouble}."
        yield from record.warn(Warned(trouble, hint=registry.card_trouble.hint))
    report = record.report(output_path)
    if settings.report_path:
        write_whole(settings.report_path, [report.model_dump_json(indent=2).encode()])
    log.info("wrote %s in %.1f s", output_path, report.total_seconds)
    yield Done(output_path, report)


def prepare(settings: Settings, registry: Registry) -> Job:
    """Look at the target and choose the models; nothing is run yet.

    Raises:
        FaceFusionError: the settings or the target will not do, or a model is not installed.
    """
    if settings.target_path is None:
        raise SettingsError("There is no target", hint="Give a photo or video: --target-path.")
    info = probe(settings.target_path)
    settled, choices = settle(settings, registry)

    def with_precision(*, half: bool) -> Job:
        record = Record(settled, registry, choices)
        return Job(settled, registry, record, Recipe(settled, record, half=half), info)

    half = settings.execution_precision == "half"
    if settings.execution_precision == "auto" and registry.runs_half_well:
        half = with_precision(half=False).plan().order == "stage"  # they do not fit together
    job = with_precision(half=half)
    for model in job.recipe.models():
        if model.weights:
            registry.store.locate(model)
    return job


def _output_path(settings: Settings, info: MediaInfo) -> Path:
    if settings.output_path is None:
        raise SettingsError("There is no output path", hint="Say where to: --output-path.")
    path = settings.output_path
    if path.is_dir():
        suffix = output_suffix(info, settings.output_video_encoder)
        path = path / f"{info.path.stem}-swapped{suffix}"
    return check_output(path, [info.path, *settings.source_paths], kind=info.kind)


def _run_photo(job: Job, output_path: Path) -> Iterator[Event]:
    settings, record, recipe = job.settings, job.record, job.recipe
    with record.stage("read"):
        picture = read_picture(job.info.path)
    if settings.face_selector_mode == "reference":
        recipe.reference = find_reference(settings, recipe.analyser, record, picture.frame)
    chunk = recipe.take([picture.frame])
    for _ in recipe.work(chunk):
        yield from record.steps()
    (frame,) = recipe.finish(chunk)
    _check_found(job)
    with record.stage("write"):
        losses = write_picture(picture, frame, output_path, settings.output_image_quality)
    yield from record.warn(*picture.notices, *losses)
    yield FrameReady(0, frame)
    yield Progress(done=1, total=1, fps=1 / record.elapsed_s, left_s=0.0)


def _run_clip(job: Job, output_path: Path) -> Iterator[Event]:
    settings, record, recipe, info = job.settings, job.record, job.recipe, job.info
    if settings.face_selector_mode == "reference":
        number = settings.reference_frame_number
        with open_reader(info, output_path, start=number, end=number + 1) as reader:
            frame = next(iter(reader))
        recipe.reference = find_reference(settings, recipe.analyser, record, frame)
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
        yield from record.warn(*writer.warnings)
        yield from _swap_frames(job, reader, writer)
        yield from record.warn(*reader.warnings)
        _check_found(job)
    if recipe.works_on_faces and record.frames_without_face:
        without = (
            f"{record.frames_without_face} of {record.frames} frames show no face to swap "
            "and are unchanged."
        )
        hint = "Lower --face-detector-score if faces there were missed."
        yield from record.warn(Warned(without, hint))


def _swap_frames(job: Job, reader: Reader, writer: Writer) -> Iterator[Event]:
    """Pass the clip's frames through the recipe, a chunk at a time, and write them."""
    record, start_s = job.record, job.record.elapsed_s
    frames = _frames(job, reader)
    for first in frames:
        plan = job.plan()
        pack = job.settings.temp_frame_format if plan.chunk_frames > 1 else "bmp"
        chunk = job.recipe.take(chain([first], islice(frames, plan.chunk_frames - 1)), pack)
        total = max(reader.total, record.frames + len(chunk.repeats))
        for share in job.recipe.work(chunk):
            yield from record.steps()
            if plan.chunk_frames > 1:
                reached = record.frames + share * len(chunk.repeats)
                yield _progress(reached, total, record.elapsed_s - start_s)
        for frame in job.recipe.finish(chunk):
            with record.stage("write"):
                writer.write(frame)
            index = record.frames - 1
            yield FrameReady(index, frame)
            yield _progress(record.frames, total, record.elapsed_s - start_s)


def _frames(job: Job, reader: Reader) -> Iterator[Frame]:
    """Read the clip; at its frame, the emulated hog takes memory or gives it back."""
    taken_bytes, takes, gives = _hog(job.settings)
    frames = iter(reader)
    for index in count():
        with job.record.stage("read"):
            frame = next(frames, None)
        if frame is None:
            return
        if index == takes:
            job.registry.take_away(taken_bytes)
        if index == gives:
            job.registry.give_back()
        yield frame


def _hog(settings: Settings) -> tuple[int, int | None, int | None]:
    """Return how many bytes another program takes, at which frame, and when it gives them back."""
    if settings.emulate_hog is None:
        return 0, None, None
    size, _, frames = settings.emulate_hog.partition("@frame:")
    takes, _, gives = frames.partition("-")
    size_bytes = TypeAdapter(ByteSize).validate_python(size)
    return size_bytes, int(takes), int(gives) if gives else None


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


def _progress(done: float, total: int, spent_s: float) -> Progress:
    """Return how far the clip is; frames of a chunk that are half worked on count as half."""
    fps = done / max(spent_s, 1e-6)
    return Progress(done=int(done), total=total, fps=fps, left_s=(total - done) / max(fps, 1e-6))


def _check_found(job: Job) -> None:
    if not job.recipe.works_on_faces or job.record.faces_swapped:
        return
    name = job.info.path.name
    if job.settings.face_selector_mode == "reference":
        raise NoFaceError(
            f"The reference person was not found in the target {name}",
            hint="Raise --reference-face-distance, or choose another reference face.",
        )
    raise NoFaceError(f"No face was found in the target {name}", hint=SEARCH_HINT)
