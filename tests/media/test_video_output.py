"""Guards against a result that is called one but is not: wrong colours, no sound, not playable."""

import os
import shutil
import signal
import stat
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import psutil
import pytest
from clips import Make, ffmpeg
from numpy.typing import NDArray

from facefusion_ui.errors import FfmpegError, OutputError, SettingsError
from facefusion_ui.media.ffmpeg import find_ffmpeg
from facefusion_ui.media.files import check_output
from facefusion_ui.media.info import MediaInfo
from facefusion_ui.media.probe import probe
from facefusion_ui.media.video import FrameReader
from facefusion_ui.media.video_writer import FrameWriter

COLOURS = "smptebars=s=160x120:r=25:d=0.4"


def copy_clip(path: Path, output: Path, **options: object) -> tuple[MediaInfo, list[str]]:
    info = probe(path)
    with (
        FrameReader(info) as reader,
        FrameWriter(
            output,
            info,
            size_wh=reader.size_wh,
            fps=reader.fps,
            **{"quality": 95, **options},  # type: ignore[arg-type]
        ) as writer,
    ):
        for frame in reader:
            writer.write(frame)
    return probe(output), [notice.message for notice in reader.warnings + writer.warnings]


def first_frame(path: Path) -> NDArray[np.uint8]:
    with FrameReader(probe(path)) as reader:
        return next(iter(reader))


def as_shown(path: Path) -> NDArray[np.uint8]:
    """Decode the first frame by ffmpeg's own defaults: (H, W, 3) uint8, RGB."""
    info = probe(path)
    raw = ffmpeg("-i", path, "-frames:v", "1", "-f", "rawvideo", "-pix_fmt", "rgb24", "pipe:")
    return np.frombuffer(raw, np.uint8).reshape(info.size_wh[1], info.size_wh[0], 3)


@pytest.mark.parametrize("matrix", [None, "bt709", "smpte170m", "bt470bg", "bt2020nc"])
@pytest.mark.parametrize("wide", ["tv", "pc"])
def test_colours_and_their_tags_come_back(
    make: Make, tmp_path: Path, matrix: str | None, wide: str
) -> None:
    space = {"bt709": "bt709", "bt2020nc": "bt2020"}.get(matrix or "", "bt601")
    picture = f"scale=out_color_matrix={space}:out_range={wide},format=yuv420p"
    tags = f"setparams=range={wide}:colorspace={matrix or 'unknown'}"
    path = make(
        f"{matrix}{wide}.mp4", "-f", "lavfi", "-i", COLOURS, "-vf", f"{picture},{tags}", "-crf", "5"
    )
    info, warnings = copy_clip(path, tmp_path / "out.mp4")
    assert not warnings
    assert info.colour.matrix == matrix
    assert (info.colour.range or "tv") == wide
    was, now = as_shown(path).astype(int), as_shown(tmp_path / "out.mp4").astype(int)
    flat = [(10 + 23 * bar, 20) for bar in range(7)]
    for x, y in flat:
        assert np.abs(was[y, x] - now[y, x]).max() <= 4, (x, was[y, x], now[y, x])


def test_frames_are_bgr(make: Make, tmp_path: Path) -> None:
    path = make("red.mp4", "-f", "lavfi", "-i", "color=red:s=64x64:d=0.2", "-pix_fmt", "yuv420p")
    blue, green, red = first_frame(path)[32, 32]
    assert red > 240
    assert max(blue, green) < 15
    copy_clip(path, tmp_path / "out.mp4")
    assert as_shown(tmp_path / "out.mp4")[32, 32, 0] > 240


@pytest.mark.parametrize(
    ("transfer", "matrix"), [("arib-std-b67", "bt2020nc"), ("smpte2084", "bt2020nc")]
)
def test_hdr_becomes_sdr_that_looks_the_same(
    make: Make, tmp_path: Path, transfer: str, matrix: str
) -> None:
    sdr_tags = "setparams=range=tv:color_primaries=bt709:color_trc=bt709:colorspace=bt709"
    hdr = (
        f"scale=out_color_matrix=bt709:out_range=tv,format=yuv444p,{sdr_tags},"
        f"zscale=p=bt2020:t={transfer}:m={matrix}:r=tv:npl=203,format=yuv420p10le"
    )
    encode = ("-c:v", "libx265", "-tag:v", "hvc1", "-crf", "5")
    path = make(
        f"{transfer}.mp4", "-f", "lavfi", "-i", COLOURS, "-vf", hdr, *encode,
        "-x265-params", "log-level=error",
    )  # fmt: skip
    assert probe(path).hdr
    info, warnings = copy_clip(path, tmp_path / "out.mp4")
    assert ["HDR" in message for message in warnings] == [True]
    assert not info.hdr
    assert (info.colour.matrix, info.colour.transfer, info.colour.primaries) == ("bt709",) * 3
    sdr = make("sdr.mp4", "-f", "lavfi", "-i", COLOURS, "-pix_fmt", "yuv444p", "-crf", "5")
    was, now = as_shown(sdr).astype(int), as_shown(tmp_path / "out.mp4").astype(int)
    for x in range(10, 160, 23):
        assert np.abs(was[20, x] - now[20, x]).max() < 25, (was[20, x], now[20, x])


def test_transparent_places_become_black_and_it_is_said(make: Make, tmp_path: Path) -> None:
    half = "format=yuva420p,geq=lum=200:cb=128:cr=128:a='if(lt(X,W/2),0,255)'"
    source = ("-f", "lavfi", "-i", "color=gray:s=64x64:d=0.4", "-vf")
    vp9 = ("-c:v", "libvpx-vp9", "-auto-alt-ref", "0")
    for name, options in (
        ("half.webm", (half, *vp9)),
        ("half8.webm", (half, "-c:v", "libvpx", "-auto-alt-ref", "0")),
        ("half.mov", (f"{half},format=argb", "-c:v", "qtrle")),
    ):
        path = make(name, *source, *options)
        _, warnings = copy_clip(path, tmp_path / "out.mp4")
        assert any("transparent" in message and "black" in message for message in warnings)
        shown = as_shown(tmp_path / "out.mp4")
        assert shown[32, 10].max() < 8
        assert shown[32, 54].min() > 180


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_a_turned_clip_comes_out_upright(
    clip: Path, make: Make, tmp_path: Path, degrees: int
) -> None:
    path = make(f"turned{degrees}.mp4", "-display_rotation", str(degrees), "-i", clip, "-c", "copy")
    info, _ = copy_clip(path, tmp_path / "out.mp4")
    assert info.rotation == 0
    expected = np.rot90(first_frame(clip), degrees // 90)
    got = first_frame(tmp_path / "out.mp4")
    assert got.shape == expected.shape
    assert np.abs(got.astype(int) - expected).mean() < 8


@pytest.mark.parametrize("size", ["161x121", "322x17", "160x121"])
def test_odd_sizes_are_padded_and_it_is_said(make: Make, tmp_path: Path, size: str) -> None:
    vp9 = ("-c:v", "libvpx-vp9", "-pix_fmt", "yuv420p")
    path = make(f"{size}.webm", "-f", "lavfi", "-i", f"testsrc=s={size}:d=0.4", *vp9)
    info, warnings = copy_clip(path, tmp_path / "out.mp4")
    width, height = (int(side) for side in size.split("x"))
    assert info.size_wh == (width + width % 2, height + height % 2)
    assert any("even sides" in message for message in warnings)
    was, now = first_frame(path), first_frame(tmp_path / "out.mp4")
    assert np.abs(now[:height, :width].astype(int) - was).mean() < 8
    info, warnings = copy_clip(path, tmp_path / "out.webm", encoder="libvpx-vp9")
    assert (info.size_wh, warnings) == ((width, height), [])


def test_pixels_that_are_not_square_stay_so(clip: Path, make: Make, tmp_path: Path) -> None:
    path = make("wide.mp4", "-i", clip, "-vf", "setsar=4/3", "-t", "0.4")
    info, _ = copy_clip(path, tmp_path / "out.mp4")
    assert info.sample_aspect == Fraction(4, 3)


@pytest.mark.parametrize("codec", [("-c:v", "mpeg4"), ("-c:v", "libx264", "-pix_fmt", "yuv444p")])
def test_whatever_comes_in_a_browser_plays_what_goes_out(
    clip: Path, make: Make, tmp_path: Path, codec: tuple[str, ...]
) -> None:
    path = make(f"{codec[1]}.mp4", "-i", clip, "-t", "0.4", *codec)
    copy_clip(path, tmp_path / "out.mp4")
    with av.open(str(tmp_path / "out.mp4")) as container:
        context = container.streams.video[0].codec_context
        assert (context.name, context.pix_fmt) == ("h264", "yuv420p")
    data = (tmp_path / "out.mp4").read_bytes()
    assert data.index(b"moov") < data.index(b"mdat")


def test_size_can_change_between_the_frames_and_the_file(clip: Path, tmp_path: Path) -> None:
    info = probe(clip)
    big = np.full((240, 320, 3), 90, np.uint8)
    output = tmp_path / "out.mp4"
    with FrameWriter(
        output, info, size_wh=(320, 240), fps=Fraction(25), output_wh=(81, 61)
    ) as writer:
        writer.write(big)
    assert probe(output).size_wh == (82, 62)


def test_a_frame_of_another_size_is_a_mistake(clip: Path, tmp_path: Path) -> None:
    with (
        pytest.raises(ValueError, match="frame must be"),
        FrameWriter(
            tmp_path / "out.mp4", probe(clip), size_wh=(160, 120), fps=Fraction(25)
        ) as writer,
    ):
        writer.write(np.zeros((60, 80, 3), np.uint8))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("suffix", "encoder", "codec"),
    [
        ("mp4", "libx264", "h264"),
        ("mp4", "libx265", "hevc"),
        ("mov", "libx264", "h264"),
        ("mkv", "libx265", "hevc"),
        ("mkv", "libvpx-vp9", "vp9"),
        ("webm", "libvpx-vp9", "vp9"),
        ("m4v", "libx264", "h264"),
    ],
)
def test_each_container_takes_its_encoders(
    clip: Path, make: Make, tmp_path: Path, suffix: str, encoder: str, codec: str
) -> None:
    short = make("short.mp4", "-i", clip, "-t", "0.4", "-c", "copy")
    info, warnings = copy_clip(short, tmp_path / f"out.{suffix}", encoder=encoder)
    assert (info.codec, warnings) == (codec, [])
    assert len(info.tracks) == 1


def test_an_encoder_that_does_not_fit_the_container_is_refused(clip: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"\.webm does not hold libx264") as caught:
        copy_clip(clip, tmp_path / "out.webm", encoder="libx264")
    assert "libvpx-vp9" in caught.value.hint


def test_more_quality_is_more_bytes(clip: Path, tmp_path: Path) -> None:
    for encoder, suffix in (("libx264", "mp4"), ("libvpx-vp9", "webm")):
        sizes = []
        for quality in (20, 60, 100):
            output = tmp_path / f"{quality}.{suffix}"
            copy_clip(clip, output, encoder=encoder, quality=quality)
            sizes.append(output.stat().st_size)
        assert sizes == sorted(sizes)


def test_an_encoder_without_its_card_is_told_before_the_first_frame(
    clip: Path, tmp_path: Path
) -> None:
    if psutil.LINUX and Path("/dev/nvidia0").exists():
        pytest.skip("this machine has a card")
    with pytest.raises(FfmpegError, match="h264_nvenc") as caught:
        copy_clip(clip, tmp_path / "out.mp4", encoder="h264_nvenc")
    assert caught.value.hint
    assert list(tmp_path.iterdir()) == []


def stub(folder: Path, script: str) -> Path:
    path = folder / "ffmpeg"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


needs_sh = pytest.mark.skipif(sys.platform == "win32", reason="the stub is a shell script")


@needs_sh
def test_a_broken_ffmpeg_on_the_path_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("IMAGEIO_FFMPEG_EXE", raising=False)
    for script in ("exit 1", "echo 'ffmpeg version 4.4.1-x'", "echo hello"):
        broken = stub(tmp_path, script)
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
        assert find_ffmpeg().path != broken


@needs_sh
def test_a_working_ffmpeg_on_the_path_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("IMAGEIO_FFMPEG_EXE", raising=False)
    own = stub(tmp_path, f'exec "{find_ffmpeg().path}" "$@"')
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_ffmpeg().path == own


@needs_sh
def test_a_named_ffmpeg_that_does_not_run_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for named in (stub(tmp_path, "exit 1"), tmp_path / "gone"):
        monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(named))
        with pytest.raises(FfmpegError, match="IMAGEIO_FFMPEG_EXE"):
            find_ffmpeg()


@needs_sh
def test_an_ffmpeg_without_the_encoder_is_told_with_its_last_words(
    clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = (
        'case "$*" in *libx264*) echo "Unknown encoder \'libx264\'" >&2; exit 8;; esac\n'
        f'exec "{find_ffmpeg().path}" "$@"'
    )
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(stub(tmp_path, script)))
    (tmp_path / "out").mkdir()
    with pytest.raises(FfmpegError, match="Unknown encoder"):
        copy_clip(clip, tmp_path / "out" / "out.mp4")
    assert list((tmp_path / "out").iterdir()) == []


def children() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if "ffmpeg" in child.name()]


def test_an_ffmpeg_that_dies_midway_is_an_error_and_leaves_nothing(
    clip: Path, tmp_path: Path
) -> None:
    def job() -> None:
        frame = np.zeros((120, 160, 3), np.uint8)
        size = frame.shape[1::-1]
        with FrameWriter(tmp_path / "out.mp4", probe(clip), size_wh=size, fps=Fraction(25)) as out:
            for index in range(500):
                out.write(frame)
                if index == 50:
                    for child in children():
                        child.kill()
                        child.wait(10)

    with pytest.raises(FfmpegError):
        job()
    assert list(tmp_path.iterdir()) == []
    assert not children()


@pytest.mark.parametrize("error", [KeyboardInterrupt, GeneratorExit, RuntimeError])
def test_a_job_that_breaks_off_leaves_no_file_and_no_process(
    clip: Path, tmp_path: Path, error: type[BaseException]
) -> None:
    info = probe(clip)
    before = tmp_path / "out.mp4"
    before.write_bytes(b"an older result")

    def job() -> None:
        with (
            FrameReader(info) as reader,
            FrameWriter(before, info, size_wh=(160, 120), fps=reader.fps) as writer,
        ):
            for index, frame in enumerate(reader):
                writer.write(frame)
                if index == 10:
                    raise error

    with pytest.raises(error):
        job()
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"an older result"]
    assert not children()


def test_a_finished_output_replaces_an_older_one(clip: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.mp4"
    output.write_bytes(b"an older result")
    copy_clip(clip, output)
    assert probe(output).frames == 75
    assert list(tmp_path.iterdir()) == [output]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_killed_job_takes_its_children_along_and_leaves_no_result(
    clip: Path, tmp_path: Path
) -> None:
    script = (
        "import sys, time\nfrom pathlib import Path\n"
        "from facefusion_ui.media.probe import probe\n"
        "from facefusion_ui.media.video import FrameReader\n"
        "from facefusion_ui.media.video_writer import FrameWriter\n"
        "info = probe(Path(sys.argv[1]))\n"
        "with FrameReader(info) as reader, FrameWriter(Path(sys.argv[2]), info,"
        " size_wh=(160, 120), fps=reader.fps) as writer:\n"
        "    for frame in reader:\n        writer.write(frame)\n"
        "        print('one', flush=True)\n        time.sleep(0.5)\n"
    )
    output = tmp_path / "out.mp4"
    with subprocess.Popen(
        [sys.executable, "-c", script, clip, output], stdout=subprocess.PIPE
    ) as job:
        assert job.stdout is not None
        job.stdout.readline()
        family = psutil.Process(job.pid).children(recursive=True)
        assert len(family) >= 2
        job.send_signal(signal.SIGKILL)
    gone, alive = psutil.wait_procs(family, timeout=20)
    assert gone
    assert not alive
    assert not output.exists()
    leftovers = list(tmp_path.iterdir())
    assert leftovers
    check_output(output, [clip], kind="video")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mounts a small disk")
def test_a_full_disk_is_one_clear_error_and_leaves_nothing(make: Make, tmp_path: Path) -> None:
    if not shutil.which("unshare"):
        pytest.skip("no unshare")
    noise = ("-f", "lavfi", "-i", "nullsrc=s=320x240:r=25:d=4,geq=random(1)*255:128:128")
    path = make("noise.mp4", *noise, "-c:v", "libx264", "-preset", "ultrafast", "-crf", "30")
    disk = tmp_path / "disk"
    disk.mkdir()
    script = (
        "import sys\nfrom pathlib import Path\n"
        "from facefusion_ui.errors import OutputError\n"
        "from facefusion_ui.media.probe import probe\n"
        "from facefusion_ui.media.video import FrameReader\n"
        "from facefusion_ui.media.video_writer import FrameWriter\n"
        "info = probe(Path(sys.argv[1]))\ndisk = Path(sys.argv[2])\n"
        "try:\n"
        "    with FrameReader(info) as reader, FrameWriter(disk / 'out.mp4', info,"
        " size_wh=reader.size_wh, fps=reader.fps, quality=100) as writer:\n"
        "        for frame in reader:\n            writer.write(frame)\n"
        "except OutputError as error:\n"
        "    print('told:', error, error.hint)\n"
        "print('left:', [p.name for p in disk.iterdir()])\n"
    )
    mount = 'mount -t tmpfs -o size=1m tmpfs "$2" && exec "$0" -c "$3" "$1" "$2"'
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", mount, sys.executable, path, disk, script],
        capture_output=True,
        text=True,
        check=False,
    )
    if "told" not in done.stdout and ("unshare" in done.stderr or "mount" in done.stderr):
        pytest.skip(f"cannot mount here: {done.stderr}")
    assert "told: no space is left" in done.stdout, done.stdout + done.stderr
    assert "left: []" in done.stdout


def test_a_disk_too_small_is_told_before_the_first_frame(clip: Path, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="MB free"):
        FrameWriter(tmp_path / "out.mp4", probe(clip), size_wh=(10**6, 10**7), fps=Fraction(25))
