"""Guards against an animation that comes back with other timing, a still, or an empty file."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from clips import count_of
from numpy.typing import NDArray
from PIL import Image

from facefusion_ui.errors import OutputError
from facefusion_ui.media.clip import open_reader, open_writer, output_suffix
from facefusion_ui.media.info import MediaInfo
from facefusion_ui.media.probe import probe
from facefusion_ui.settings import VideoEncoder

DURATIONS = (100, 200, 100, 50, 150)
ANIMATIONS = ["gif", "webp", "png"]


def save_animation(path: Path, *, clear: bool = False, loop: int | None = 3) -> Path:
    """Five frames of rising red; with `clear`, a see-through corner."""
    frames = []
    for index in range(5):
        pixels = np.zeros((48, 64, 4), np.uint8)
        pixels[..., 0] = 40 * index + 20
        pixels[..., 1] = 60
        pixels[..., 3] = 255
        if clear:
            pixels[:20, :20, 3] = 0
        frames.append(Image.fromarray(pixels if clear else pixels[..., :3]))
    options = {"disposal": 2} if path.suffix == ".gif" else {}
    if loop is not None:
        options["loop"] = loop
    frames[0].save(
        path, save_all=True, append_images=frames[1:], duration=list(DURATIONS), **options
    )
    return path


def copy_clip(
    path: Path,
    output: Path,
    *,
    start: int | None = None,
    end: int | None = None,
    fps: Fraction | None = None,
    output_wh: tuple[int, int] | None = None,
) -> tuple[MediaInfo, list[str]]:
    info = probe(path)
    reader = open_reader(info, output, start=start, end=end, fps=fps)
    writer = open_writer(
        output,
        info,
        size_wh=reader.size_wh,
        fps=reader.fps,
        encoder="libx264",
        quality=95,
        preset="veryfast",
        start=start,
        end=end,
        output_wh=output_wh,
    )
    count = 0
    with reader, writer:
        for frame in reader:
            writer.write(frame)
            count += 1
    assert count == reader.total
    return probe(output), [notice.message for notice in reader.warnings + writer.warnings]


def reds(path: Path) -> list[int]:
    """Return the red of each frame, put to the step it was made of."""
    info = probe(path)
    with open_reader(info, Path("x.gif" if info.kind == "animation" else "x.mp4")) as reader:
        return [round((float(frame[40, 50, 2]) - 20) / 40) for frame in reader]


@pytest.mark.parametrize("source", ANIMATIONS)
@pytest.mark.parametrize("suffix", ANIMATIONS)
def test_each_frame_keeps_its_time_and_the_loop_its_count(
    tmp_path: Path, source: str, suffix: str
) -> None:
    path = save_animation(tmp_path / f"in.{source}")
    info, warnings = copy_clip(path, tmp_path / f"out.{suffix}")
    assert (info.kind, info.durations_ms, info.loop) == ("animation", DURATIONS, 3)
    assert reds(tmp_path / f"out.{suffix}") == [0, 1, 2, 3, 4]
    assert warnings == []
    with Image.open(tmp_path / f"out.{suffix}") as image:
        red, green, blue = np.asarray(image.convert("RGB"))[40, 50].astype(int)
    assert abs(red - 20) < 10
    assert abs(green - 60) < 10
    assert blue < 10


@pytest.mark.parametrize("source", ANIMATIONS)
def test_an_animation_becomes_a_video_of_the_same_pace(tmp_path: Path, source: str) -> None:
    path = save_animation(tmp_path / f"in.{source}")
    info, warnings = copy_clip(path, tmp_path / "out.mp4")
    assert (info.frames, info.fps, warnings) == (12, 20, [])
    assert reds(tmp_path / "out.mp4") == [0, 0, 1, 1, 1, 1, 2, 2, 3, 4, 4, 4]


@pytest.mark.parametrize("source", ANIMATIONS)
@pytest.mark.parametrize("suffix", ANIMATIONS)
def test_see_through_places_stay(tmp_path: Path, source: str, suffix: str) -> None:
    path = save_animation(tmp_path / f"in.{source}", clear=True)
    info, warnings = copy_clip(path, tmp_path / f"out.{suffix}")
    assert info.has_alpha
    assert warnings == []
    with Image.open(tmp_path / f"out.{suffix}") as image:
        for index in range(5):
            image.seek(index)
            alpha = np.asarray(image.convert("RGBA"))[..., 3]
            assert alpha[5, 5] == 0
            assert alpha[40, 50] == 255


def test_in_a_video_see_through_places_become_black_and_it_is_said(tmp_path: Path) -> None:
    path = save_animation(tmp_path / "in.webp", clear=True)
    _, warnings = copy_clip(path, tmp_path / "out.mp4")
    assert len(warnings) == 1
    assert "black" in warnings[0]
    with open_reader(probe(tmp_path / "out.mp4"), Path("x.mp4")) as reader:
        for frame in reader:
            assert frame[5, 5].max() < 12


def test_a_trim_of_an_animation_counts_ticks_on_every_output(tmp_path: Path) -> None:
    path = save_animation(tmp_path / "in.gif")
    copy_clip(path, tmp_path / "out.mp4", start=2, end=8)
    assert reds(tmp_path / "out.mp4") == [1, 1, 1, 1, 2, 2]
    info, _ = copy_clip(path, tmp_path / "out.webp", start=2, end=8)
    assert info.durations_ms == (200, 100)
    assert reds(tmp_path / "out.webp") == [1, 2]


def test_another_rate_keeps_the_pace(tmp_path: Path) -> None:
    path = save_animation(tmp_path / "in.gif")
    info, _ = copy_clip(path, tmp_path / "out.mp4", fps=Fraction(40))
    assert (info.frames, info.fps) == (24, 40)
    info, _ = copy_clip(path, tmp_path / "out.webp", fps=Fraction(10))
    assert sum(info.durations_ms) == sum(DURATIONS)


@pytest.mark.parametrize("suffix", ["gif", "webp"])
def test_a_video_becomes_an_animation(counter: Path, tmp_path: Path, suffix: str) -> None:
    info, warnings = copy_clip(counter, tmp_path / f"out.{suffix}", start=10, end=30)
    assert (info.fps, info.loop, warnings) == (25, 0, [])
    assert sum(info.durations_ms) == 800
    with open_reader(info, Path("x.mp4")) as reader:  # WebP joins frames that look the same
        got = np.array([count_of(frame) for frame in reader])
    assert np.abs(got - np.arange(10, 30)).max() <= 1


def test_the_sound_an_animation_cannot_hold_is_named(clip: Path, tmp_path: Path) -> None:
    info, warnings = copy_clip(clip, tmp_path / "out.gif", end=5, output_wh=(80, 60))
    assert info.size_wh == (80, 60)
    assert ["sound" in message for message in warnings] == [True]


def test_odd_rates_add_up_in_a_gif(counter: Path, tmp_path: Path) -> None:
    info, _ = copy_clip(counter, tmp_path / "out.gif", fps=Fraction(30000, 1001))
    assert abs(sum(info.durations_ms) - 3000) <= 40


def test_a_gif_is_never_faster_than_browsers_play(counter: Path, tmp_path: Path) -> None:
    info, _ = copy_clip(counter, tmp_path / "out.gif", fps=Fraction(100), end=10)
    assert min(info.durations_ms) >= 20


def test_a_gif_that_says_0_ms_plays_as_in_a_browser(tmp_path: Path) -> None:
    frames = [Image.new("RGB", (30, 20), (80 * i, 0, 0)) for i in range(3)]
    frames[0].save(tmp_path / "in.gif", save_all=True, append_images=frames[1:], duration=0)
    assert probe(tmp_path / "in.gif").durations_ms == (100, 100, 100)


def test_without_a_loop_it_plays_once(tmp_path: Path) -> None:
    path = save_animation(tmp_path / "in.gif", loop=None)
    info, _ = copy_clip(path, tmp_path / "out.gif")
    assert info.loop is None


def test_an_output_nobody_named_gets_an_ending_that_works(counter: Path, tmp_path: Path) -> None:
    def ending(path: Path, encoder: VideoEncoder = "libx264") -> str:
        return output_suffix(probe(path), encoder)

    for name, expected in (("a.mp4", ".mp4"), ("a.mkv", ".mkv"), ("a.webm", ".mp4")):
        path = tmp_path / name
        path.write_bytes(counter.read_bytes())
        assert ending(path) == expected
    assert ending(tmp_path / "a.webm", "libvpx-vp9") == ".webm"
    assert ending(save_animation(tmp_path / "a.gif")) == ".gif"
    Image.new("RGB", (3, 3)).save(tmp_path / "still.gif")
    assert ending(tmp_path / "still.gif") == ".png"
    Image.new("RGB", (3, 3)).save(tmp_path / "still.webp")
    assert ending(tmp_path / "still.webp") == ".webp"


def test_a_film_is_too_long_for_an_animation(clip: Path, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="memory") as caught:
        copy_clip(clip, tmp_path / "out.gif", output_wh=(8000, 6000))
    assert ".mp4" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_a_larger_frame_gets_a_larger_alpha(tmp_path: Path) -> None:
    path = save_animation(tmp_path / "in.webp", clear=True)
    info = probe(path)
    output = tmp_path / "out.webp"
    reader = open_reader(info, output)
    writer = open_writer(
        output, info, size_wh=(128, 96), fps=reader.fps, encoder="libx264", quality=90,
        preset="fast",
    )  # fmt: skip
    with reader, writer:
        for frame in reader:
            large: NDArray[np.uint8] = frame.repeat(2, axis=0).repeat(2, axis=1)
            writer.write(large)
    with Image.open(output) as image:
        alpha = np.asarray(image.convert("RGBA"))[..., 3]
    assert (alpha[10, 10], alpha[80, 100]) == (0, 255)


def test_a_job_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    path = save_animation(tmp_path / "in" / "in.gif")
    output = tmp_path / "out.gif"
    info = probe(path)
    reader = open_reader(info, output)
    writer = open_writer(
        output, info, size_wh=reader.size_wh, fps=reader.fps, encoder="libx264", quality=90,
        preset="fast",
    )  # fmt: skip

    def job() -> None:
        with reader, writer:
            for frame in reader:
                writer.write(frame)
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        job()
    assert list(tmp_path.iterdir()) == [tmp_path / "in"]
