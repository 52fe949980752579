"""Guards clips: frames or sound lost, a stop that leaves children or half files, a clip without a
face that is called a swap."""

import subprocess
from pathlib import Path

import imageio_ffmpeg
import numpy as np
import psutil
import pytest
from PIL import Image

from facefusion_ui.errors import NoFaceError
from facefusion_ui.events import Done, FrameReady, Progress
from facefusion_ui.media.clip import open_reader
from facefusion_ui.media.probe import probe
from facefusion_ui.notices import Warned
from facefusion_ui.processor.frame import Recipe
from facefusion_ui.processor.jobs import run_job
from facefusion_ui.processor.record import Record
from facefusion_ui.processor.source import read_source
from facefusion_ui.settings import make_settings


def ffmpeg(*arguments: str | Path) -> None:
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-y", *map(str, arguments)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)


def make_clip(path: Path, *portraits: Path, frames: int = 8, shown: str = "1") -> Path:
    """Write a clip with sound: `portraits` side by side, moving, seen while `shown` holds."""
    inputs = [part for portrait in portraits for part in ("-loop", "1", "-i", portrait)]
    size = f"{320 * len(portraits)}x320"
    overlays = "".join(
        f"[{index}:v]crop=512:512:0:0,scale=320:320[p{index}];" for index in range(len(portraits))
    )
    last = f"{len(portraits)}:v"
    for index in range(len(portraits)):
        overlays += f"[{last}][p{index}]overlay=x={320 * index}+n:enable='{shown}'[o{index}];"
        last = f"o{index}"
    ffmpeg(
        *inputs,
        *("-f", "lavfi", "-i", f"color=gray:s={size}:r=25"),
        *("-f", "lavfi", "-i", "sine=440:r=48000"),
        *("-filter_complex", overlays.rstrip(";")),
        *("-map", f"[{last}]", "-map", f"{len(portraits) + 1}:a", "-frames:v", frames),
        *("-shortest", "-pix_fmt", "yuv420p", "-crf", "10", "-t", frames / 25),
        path,
    )
    return path


def frames_of(path: Path) -> np.ndarray:
    with open_reader(probe(path), path) as reader:
        return np.stack(list(reader))


@pytest.fixture(scope="module")
def clip(tmp_path_factory, astronaut_path) -> Path:
    return make_clip(tmp_path_factory.mktemp("clip") / "clip.mp4", astronaut_path)


def job(registry, **settings):
    return run_job(make_settings(settings), registry)


def test_every_frame_is_swapped_and_the_sound_goes_along(
    registry, tmp_path, clip, hopper_path
) -> None:
    out = tmp_path / "out.mp4"
    events = list(job(registry, source_paths=[hopper_path], target_path=clip, output_path=out))
    report = events[-1].report
    assert (report.frames, report.faces_swapped, report.frames_without_face) == (8, 8, 0)
    assert [event.index for event in events if isinstance(event, FrameReady)] == list(range(8))
    assert [track.codec for track in probe(out).tracks] == ["aac"]
    before, after = frames_of(clip).astype(int), frames_of(out).astype(int)
    assert before.shape == after.shape
    change = np.abs(after - before).mean(axis=-1)
    assert change[:, 45:105, 120:165].mean() > 3 * change[:, 160:].mean()  # the face, and far below


def test_progress_counts_to_the_end_and_tells_the_time_left(
    registry, tmp_path, clip, hopper_path
) -> None:
    events = list(
        job(
            registry,
            source_paths=[hopper_path],
            target_path=clip,
            output_path=tmp_path / "out.mp4",
            trim_frame_start=2,
            trim_frame_end=6,
        )
    )
    progress = [event for event in events if isinstance(event, Progress)]
    assert [(event.done, event.total) for event in progress] == [(n, 4) for n in range(1, 5)]
    assert progress[-1].left_s == 0
    assert all(event.fps > 0 for event in progress)
    assert len(frames_of(tmp_path / "out.mp4")) == 4


def test_frames_without_a_face_pass_through_and_are_counted(
    registry, tmp_path, astronaut_path, hopper_path
) -> None:
    clip = make_clip(tmp_path / "clip.mp4", astronaut_path, shown="between(n,3,5)")
    out = tmp_path / "out.mp4"
    events = list(job(registry, source_paths=[hopper_path], target_path=clip, output_path=out))
    said = [event.message for event in events if isinstance(event, Warned)]
    assert said == ["5 of 8 frames show no face to swap and are unchanged."]
    before, after = frames_of(clip).astype(int), frames_of(out).astype(int)
    assert np.abs(after[[0, 1, 7]] - before[[0, 1, 7]]).mean() < 1


def test_a_clip_without_any_face_is_no_swap_and_leaves_nothing(
    registry, tmp_path, astronaut_path, hopper_path
) -> None:
    clip = make_clip(tmp_path / "wall.mp4", astronaut_path, shown="0")
    out = tmp_path / "out" / "out.mp4"
    with pytest.raises(NoFaceError, match=r"target wall\.mp4"):
        list(job(registry, source_paths=[hopper_path], target_path=clip, output_path=out))
    assert list(out.parent.iterdir()) == []


def test_closing_a_job_stops_it_and_leaves_no_file_and_no_process(
    registry, tmp_path, clip, hopper_path
) -> None:
    out = tmp_path / "out" / "out.mp4"
    running = job(registry, source_paths=[hopper_path], target_path=clip, output_path=out)
    assert next(event for event in running if isinstance(event, FrameReady)).index == 0
    assert psutil.Process().children(recursive=True)
    running.close()
    assert list(out.parent.iterdir()) == []
    assert psutil.Process().children(recursive=True) == []


def test_a_result_that_was_there_survives_a_stopped_job(
    registry, tmp_path, clip, hopper_path
) -> None:
    out = tmp_path / "out.mp4"
    out.write_bytes(b"yesterday's")
    running = job(registry, source_paths=[hopper_path], target_path=clip, output_path=out)
    next(event for event in running if isinstance(event, FrameReady))
    running.close()
    assert out.read_bytes() == b"yesterday's"


def test_the_reference_person_is_followed_through_a_clip(
    registry, tmp_path, astronaut_path, hopper_path, crowd_path
) -> None:
    clip = make_clip(tmp_path / "couple.mp4", astronaut_path, hopper_path, frames=3)
    events = list(
        job(
            registry,
            source_paths=[crowd_path],
            target_path=clip,
            output_path=tmp_path / "out.mp4",
            face_selector_mode="reference",
            face_selector_order="left-right",
            reference_face_position=1,
            reference_frame_number=2,
        )
    )
    assert events[-1].report.faces_swapped == 3
    change = np.abs(frames_of(tmp_path / "out.mp4").astype(int) - frames_of(clip)).mean(axis=-1)
    assert change[:, :, 320:].max() > 60
    assert np.percentile(change[:, :, :320], 99) < 12


def test_a_reference_frame_without_that_person_is_said(
    registry, tmp_path, clip, hopper_path
) -> None:
    with pytest.raises(NoFaceError, match="Frame 3 of the target shows 1 face"):
        list(
            job(
                registry,
                source_paths=[hopper_path],
                target_path=clip,
                output_path=tmp_path / "out.mp4",
                face_selector_mode="reference",
                reference_face_position=2,
                reference_frame_number=3,
            )
        )


def test_an_animation_keeps_its_frames_and_their_timing(
    registry, tmp_path, astronaut, hopper_path
) -> None:
    pictures = [
        Image.fromarray(np.roll(astronaut[::2, ::2, ::-1], step, axis=1)) for step in (0, 6, 12)
    ]
    target, out = tmp_path / "in.gif", tmp_path / "out.gif"
    pictures[0].save(target, save_all=True, append_images=pictures[1:], duration=[80, 200, 120])
    done = list(job(registry, source_paths=[hopper_path], target_path=target, output_path=out))[-1]
    assert isinstance(done, Done)
    assert done.report.faces_swapped == 3
    assert probe(out).durations_ms == (80, 200, 120)


def test_a_frame_that_repeats_is_not_worked_on_twice(registry, astronaut, hopper_path) -> None:
    settings = make_settings({"source_paths": [hopper_path], "face_swapper_model": "landmark_warp"})
    record = Record(settings, registry)
    recipe = Recipe(settings, record)
    reading = read_source(settings, recipe.swapper, recipe.analyser, record)
    with pytest.raises(StopIteration) as finished:
        next(reading)
    recipe.source = finished.value.value
    chunk = recipe.take([astronaut, astronaut.copy()])
    list(recipe.work(chunk))
    first, again = recipe.finish(chunk)
    (later,) = recipe.finish(recipe.take([astronaut.copy()]))
    assert again is first
    assert later is first
    assert (record.frames, record.faces_swapped) == (3, 3)


def test_memory_does_not_follow_the_length_of_a_clip(registry, tmp_path, clip, hopper_path) -> None:
    long = tmp_path / "long.mp4"
    ffmpeg("-stream_loop", "15", "-i", clip, "-an", "-c", "copy", long)
    settings = make_settings(
        {"source_paths": [hopper_path], "target_path": long, "output_path": tmp_path / "out.mp4"}
    )
    process, used = psutil.Process(), []
    for event in run_job(settings, registry):
        if isinstance(event, FrameReady):
            used.append(process.memory_info().rss)
    assert len(used) == 128
    assert max(used[-30:]) - max(used[10:40]) < 20e6
