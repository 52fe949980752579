"""Guards against lost, doubled or shifted frames, drifting sound, and a silently shorter result."""

import tracemalloc
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from clips import COUNTER, Make, ffmpeg, numbers

from facefusion_ui.errors import FfmpegError, InputError, SettingsError
from facefusion_ui.media.ffmpeg import Child, find_ffmpeg
from facefusion_ui.media.probe import probe
from facefusion_ui.media.video import FrameReader
from facefusion_ui.media.video_writer import FrameWriter


def copy_clip(path: Path, output: Path, **options: object) -> list[str]:
    """Read `path` and write every frame to `output`; return the warnings."""
    info = probe(path)
    with (
        FrameReader(info, **options) as reader,  # type: ignore[arg-type]
        FrameWriter(
            output,
            info,
            size_wh=reader.size_wh,
            fps=reader.fps,
            **{key: value for key, value in options.items() if key in ("start", "end")},  # type: ignore[arg-type]
        ) as writer,
    ):
        for frame in reader:
            writer.write(frame)
    return [notice.message for notice in reader.warnings + writer.warnings]


@pytest.mark.parametrize(
    ("name", "codec"),
    [
        ("c.mp4", ["-c:v", "libx264", "-qp", "0", "-bf", "3"]),
        ("c.mkv", ["-c:v", "libx264", "-qp", "0"]),
        ("c.webm", ["-c:v", "libvpx-vp9", "-lossless", "1"]),
        ("c.ts", ["-c:v", "libx264", "-qp", "0", "-bf", "2"]),
        ("c.avi", ["-c:v", "mpeg4", "-q:v", "1"]),
        ("c.mov", ["-c:v", "prores", "-q:v", "1"]),
        ("c.flv", ["-c:v", "libx264", "-qp", "0"]),
        ("c.h264", ["-c:v", "libx264", "-qp", "0", "-bf", "2"]),
    ],
)
def test_every_frame_comes_once_and_in_order(
    counter: Path, make: Make, name: str, codec: list[str]
) -> None:
    path = make(name, "-i", counter, *codec)
    assert numbers(path) == list(range(75))


@pytest.mark.parametrize("suffix", ["mp4", "mkv", "webm", "mov"])
def test_every_frame_that_is_written_is_in_the_file(
    counter: Path, tmp_path: Path, suffix: str
) -> None:
    info = probe(counter)
    output = tmp_path / f"out.{suffix}"
    encoder = "libvpx-vp9" if suffix == "webm" else "libx264"
    with (
        FrameReader(info) as reader,
        FrameWriter(output, info, size_wh=(64, 64), fps=reader.fps, encoder=encoder) as writer,
    ):
        for frame in reader:
            writer.write(frame)
    assert numbers(output) == list(range(75))


def test_no_frame_is_lost_where_the_picture_starts_between_two_ticks(
    clip: Path, make: Make, tmp_path: Path
) -> None:
    path = make("early_sound.ts", "-i", clip, "-c", "copy")
    assert probe(path).start_s > 0
    assert copy_clip(path, tmp_path / "out.mp4") == []
    assert probe(tmp_path / "out.mp4").frames == 75


def test_frames_that_repeat_are_all_kept(make: Make, tmp_path: Path) -> None:
    source = f"nullsrc=s=64x64:r=25:d=3,{COUNTER},tpad=stop_mode=clone:stop_duration=0.4"
    path = make("repeats.mp4", "-f", "lavfi", "-i", source, "-qp", "0", "-pix_fmt", "yuv420p")
    copy_clip(path, tmp_path / "out.mp4")
    assert numbers(tmp_path / "out.mp4") == [*range(75), *[74] * 10]


def test_a_clip_beyond_ten_thousand_frames_keeps_them_all(make: Make, tmp_path: Path) -> None:
    source = "color=gray:s=32x32:r=60:d=170"
    path = make("long.mp4", "-f", "lavfi", "-i", source, "-pix_fmt", "yuv420p")
    copy_clip(path, tmp_path / "out.mp4")
    assert probe(tmp_path / "out.mp4").frames == 10_200


def test_one_frame_is_a_clip(counter: Path, make: Make, tmp_path: Path) -> None:
    path = make("one.mp4", "-i", counter, "-frames:v", "1")
    copy_clip(path, tmp_path / "out.mp4")
    assert probe(tmp_path / "out.mp4").frames == 1


@pytest.mark.parametrize("name", ["c.mp4", "c.mkv", "c.webm", "c.ts", "c.avi"])
@pytest.mark.parametrize(("start", "end"), [(0, 10), (1, 2), (37, 60), (74, None), (30, 500)])
def test_a_trim_is_exact_to_the_frame(
    counter: Path, make: Make, name: str, start: int, end: int | None
) -> None:
    codec = {
        "c.webm": ["-c:v", "libvpx-vp9", "-lossless", "1"],
        "c.avi": ["-c:v", "mpeg4", "-q:v", "1"],
    }
    path = make(name, "-i", counter, *codec.get(name, ["-c:v", "libx264", "-qp", "0", "-bf", "3"]))
    assert numbers(path, start=start, end=end) == list(range(start, min(end or 75, 75)))


def test_a_trim_that_leaves_nothing_is_refused_with_the_length(counter: Path) -> None:
    for start, end in ((75, None), (10, 10), (20, 5)):
        with pytest.raises(SettingsError, match="75 frames"):
            FrameReader(probe(counter), start=start, end=end)


@pytest.mark.parametrize(("fps", "count"), [(Fraction(50), 150), (Fraction(10), 30)])
def test_another_rate_keeps_the_pace(counter: Path, fps: Fraction, count: int) -> None:
    got = numbers(counter, fps=fps)
    assert abs(len(got) - count) <= 1
    expected = np.arange(len(got)) * 25 / float(fps)
    assert np.abs(np.array(got) - expected).max() <= 1.5


def test_an_uneven_clip_becomes_steady_with_every_frame_at_its_time(
    counter: Path, make: Make, tmp_path: Path
) -> None:
    uneven = ("-vf", "select='if(lt(t,1.5),1,not(mod(n,5)))'", "-fps_mode", "vfr", "-qp", "0")
    path = make("uneven.mp4", "-i", counter, *uneven)
    info = probe(path)
    assert info.variable_rate
    assert info.fps == 25
    held = [*range(38), *[index // 5 * 5 for index in range(40, 75)]]
    held[38:38] = [37, 37]
    assert numbers(path) == held[: info.frames]
    copy_clip(path, tmp_path / "out.mp4")
    assert numbers(tmp_path / "out.mp4") == held[: info.frames]


def test_a_last_frame_that_is_held_long_is_held_as_long(counter: Path, make: Make) -> None:
    slides = "select='eq(n,0)+eq(n,10)+eq(n,25)'"
    hold = "setts=duration='if(eq(N\\,2)\\,2/TB\\,DURATION)'"
    options = ("-vf", slides, "-fps_mode", "vfr", "-bsf:v", hold, "-qp", "0", "-bf", "0")
    path = make("slides.mp4", "-i", counter, *options)
    info = probe(path)
    assert info.fps is not None
    assert abs(info.frames / info.fps - 3) <= 1 / info.fps
    got = numbers(path)
    assert len(got) == info.frames
    assert set(got) == {0, 10, 25}


@pytest.mark.parametrize("late_s", [0.5, 0.113])
def test_sound_stays_with_the_picture_when_one_starts_later(
    make: Make, tmp_path: Path, late_s: float
) -> None:
    for late in ("picture", "sound"):
        path = make(f"late{late}{late_s}.mp4", *flash_and_beep(late, late_s))
        copy_clip(path, tmp_path / "out.mp4")
        assert abs(flash_s(path) - beep_s(path)) < 0.04
        assert abs(flash_s(tmp_path / "out.mp4") - beep_s(tmp_path / "out.mp4")) < 0.04
        assert abs(probe(tmp_path / "out.mp4").start_s - probe(path).start_s) < 0.002


@pytest.mark.parametrize("suffix", ["mp4", "mkv"])
def test_a_trim_cuts_the_sound_where_it_cuts_the_picture(
    make: Make, tmp_path: Path, suffix: str
) -> None:
    path = make(f"sync.{suffix}", *flash_and_beep("sound", 0))
    output = tmp_path / f"out.{suffix}"
    copy_clip(path, output, start=20, end=70)
    assert abs(flash_s(output) - 1.2) < 0.02  # the flash is at 2.0, frame 50
    assert abs(beep_s(output) - 1.2) < 0.04
    assert abs(sound_seconds(output) - 2.0) < 0.06


def test_the_picture_of_an_ntsc_minute_ends_with_its_sound(make: Make, tmp_path: Path) -> None:
    source = "testsrc2=s=32x32:r=30000/1001:d=60"
    sound = ("-f", "lavfi", "-i", "sine=d=60", "-pix_fmt", "yuv420p")
    path = make("minute.mp4", "-f", "lavfi", "-i", source, *sound)
    copy_clip(path, tmp_path / "out.mp4")
    info = probe(tmp_path / "out.mp4")
    assert info.fps == Fraction(30000, 1001)
    assert abs(info.frames / info.fps - Fraction(probe(path).frames, 1) / info.fps) == 0
    assert abs(sound_seconds(tmp_path / "out.mp4") - float(info.frames / info.fps)) < 0.06


def test_a_cut_clip_gives_its_readable_part_and_the_numbers(
    counter: Path, make: Make, tmp_path: Path
) -> None:
    fast = make("fastcount.mp4", "-i", counter, "-c:v", "libx264", "-movflags", "+faststart")
    path = tmp_path / "cut.mp4"
    path.write_bytes(fast.read_bytes()[: fast.stat().st_size * 8 // 10])
    messages = copy_clip(path, tmp_path / "out.mp4")
    count = probe(tmp_path / "out.mp4").frames
    assert 0 < count < 75
    assert messages == [
        f"Only {count} of 75 frames of cut.mp4 could be read; the output ends there."
    ]


def test_a_damaged_clip_keeps_its_length_and_says_so(
    clip: Path, make: Make, tmp_path: Path
) -> None:
    whole = bytearray(
        make("fast.mp4", "-i", clip, "-c", "copy", "-movflags", "+faststart").read_bytes()
    )
    middle = len(whole) // 2
    whole[middle : middle + 1500] = bytes(1500)
    path = tmp_path / "hole.mp4"
    path.write_bytes(whole)
    messages = copy_clip(path, tmp_path / "out.mp4")
    assert probe(tmp_path / "out.mp4").frames == 75
    assert len(messages) == 1
    assert "damaged" in messages[0]


def test_thousands_of_complaints_do_not_stall_the_reading(make: Make, tmp_path: Path) -> None:
    noise = "testsrc2=s=64x64:r=25:d=40"
    path = make(
        "noisy.ts", "-f", "lavfi", "-i", noise, "-c:v", "mpeg2video", "-q:v", "2", "-g", "5"
    )
    data = bytearray(path.read_bytes())
    rng = np.random.default_rng(0)
    for packet in range(188 * 20, len(data) - 188, 188):
        data[packet + 60 : packet + 90] = rng.bytes(30)
    damaged = tmp_path / "damaged.ts"
    damaged.write_bytes(data)
    with FrameReader(probe(damaged), stall_s=5) as reader:
        count = sum(1 for _ in reader)
        assert reader._child is not None
        assert reader._child.message_count * 60 > 65_536  # more than a pipe holds
    assert count > 100
    assert "damaged" in reader.warnings[0].message


def test_a_clip_of_which_nothing_can_be_read_is_an_error(
    clip: Path, make: Make, tmp_path: Path
) -> None:
    whole = bytearray(
        make("fast.mp4", "-i", clip, "-c", "copy", "-movflags", "+faststart").read_bytes()
    )
    start = whole.index(b"mdat") + 4
    whole[start:] = bytes(len(whole) - start)
    path = tmp_path / "nothing.mp4"
    path.write_bytes(whole)
    with pytest.raises(InputError, match=r"damaged|no frame"), FrameReader(probe(path)) as reader:
        list(reader)


def test_a_run_that_gives_nothing_is_stopped(tmp_path: Path) -> None:
    program = str(find_ffmpeg().path)
    endless = ["-f", "rawvideo", "-s", "8x8", "-pix_fmt", "bgr24", "-i", "pipe:", "-f", "null", "-"]
    with (
        pytest.raises(FfmpegError, match="did nothing"),
        Child([program, "-loglevel", "error", *endless], stall_s=0.5) as child,
    ):
        child.read_into(memoryview(bytearray(100)))


def test_memory_does_not_follow_the_length(make: Make, tmp_path: Path) -> None:
    source = "color=gray:s=320x240:r=60:d=20"
    path = make("big.mp4", "-f", "lavfi", "-i", source, "-pix_fmt", "yuv420p")
    info = probe(path)
    with (
        FrameReader(info) as reader,
        FrameWriter(tmp_path / "out.mp4", info, size_wh=reader.size_wh, fps=reader.fps) as writer,
    ):
        tracemalloc.start()
        for frame in reader:
            writer.write(frame)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 10 * 320 * 240 * 3  # of 1,200 frames


def flash_and_beep(late: str, late_s: float) -> list[str]:
    """Three seconds with a white flash and a beep at 2.0 s; one of the streams starts later."""
    picture = (
        "color=black:s=64x64:r=25:d=3,"
        "drawbox=color=white:t=fill:enable='between(t,1.999,2.199)',format=yuv420p"
    )
    sound = "sine=1000:r=48000:d=3,volume=0:enable='not(between(t,2,2.2))'"
    arguments = ["-f", "lavfi", "-i", picture, "-f", "lavfi", "-i", sound]
    trimmed = f"[0:v]trim=start={late_s}[v]" if late == "picture" else "[0:v]null[v]"
    trimmed += f";[1:a]atrim=start={late_s}[a]" if late == "sound" else ";[1:a]anull[a]"
    codecs = ["-c:v", "libx264", "-c:a", "aac", "-enc_time_base:v", "1:12800"]
    return [*arguments, "-filter_complex", trimmed, "-map", "[v]", "-map", "[a]", *codecs]


def flash_s(path: Path) -> float:
    raw = ffmpeg(
        "-i", path, "-map", "0:v", "-vf", "fps=1000:start_time=0,scale=1:1,format=gray",
        "-f", "rawvideo", "pipe:",
    )  # fmt: skip
    return float(np.argmax(np.frombuffer(raw, np.uint8) > 128)) / 1000


def beep_s(path: Path) -> float:
    samples = sound(path)
    return float(np.argmax(np.abs(samples) > 1000)) / 48000


def sound_seconds(path: Path) -> float:
    return len(sound(path)) / 48000


def sound(path: Path) -> np.ndarray:
    raw = ffmpeg(
        "-i", path, "-map", "0:a", "-af", "aresample=48000:async=1:first_pts=0", "-ac", "1",
        "-f", "s16le", "pipe:",
    )  # fmt: skip
    return np.frombuffer(raw, np.int16).astype(np.int32)
