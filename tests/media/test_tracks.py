"""Guards against a result without its sound, and against tracks that vanish without a word."""

import sys
from pathlib import Path

import pytest
from clips import Make, ffmpeg

from facefusion_ui.media.ffmpeg import find_ffmpeg
from facefusion_ui.media.info import MediaInfo
from facefusion_ui.media.probe import probe
from facefusion_ui.media.video import FrameReader
from facefusion_ui.media.video_writer import FrameWriter
from facefusion_ui.settings import VideoEncoder

SUBTITLES = "1\n00:00:00,500 --> 00:00:01,500\nHello\n\n2\n00:00:02,000 --> 00:00:02,500\nBye\n"


def copy_clip(
    path: Path, output: Path, *, encoder: VideoEncoder = "libx264", start: int | None = None
) -> tuple[MediaInfo, list[str]]:
    info = probe(path)
    with (
        FrameReader(info, start=start) as reader,
        FrameWriter(
            output, info, size_wh=reader.size_wh, fps=reader.fps, encoder=encoder, start=start
        ) as writer,
    ):
        for frame in reader:
            writer.write(frame)
    return probe(output), [notice.message for notice in reader.warnings + writer.warnings]


def kinds(info: MediaInfo) -> list[tuple[str, str | None, str | None]]:
    return [(track.kind, track.codec, track.language) for track in info.tracks]


@pytest.fixture(scope="session")
def multi(make: Make, clip: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two sound tracks, a subtitle track and an attached file."""
    folder = tmp_path_factory.mktemp("subtitles")
    (folder / "s.srt").write_text(SUBTITLES)
    (folder / "note.txt").write_text("a note")
    inputs = ("-i", clip, "-f", "lavfi", "-i", "sine=880:d=3", "-i", folder / "s.srt")
    maps = ("-map", "0:v", "-map", "0:a", "-map", "1:a", "-map", "2")
    attach = ("-attach", folder / "note.txt", "-metadata:s:t", "mimetype=text/plain")
    codecs = ("-c:v", "copy", "-c:a", "aac", "-c:s", "srt")
    languages = ("-metadata:s:a:0", "language=eng", "-metadata:s:a:1", "language=fra")
    return make("multi.mkv", *inputs, *maps, *attach, *codecs, *languages)


def test_silent_in_is_silent_out(clip: Path, make: Make, tmp_path: Path) -> None:
    path = make("silent.mp4", "-i", clip, "-an", "-c", "copy")
    info, warnings = copy_clip(path, tmp_path / "out.mp4")
    assert (info.tracks, warnings) == ((), [])


@pytest.mark.parametrize("suffix", ["mp4", "mov", "mkv"])
def test_sound_that_fits_is_copied_bit_by_bit(clip: Path, tmp_path: Path, suffix: str) -> None:
    output = tmp_path / f"out.{suffix}"
    copy_clip(clip, output)
    packets = [
        ffmpeg("-i", path, "-map", "0:a", "-c", "copy", "-f", "adts", "pipe:")
        for path in (clip, output)
    ]
    assert packets[0] == packets[1]


@pytest.mark.parametrize(
    ("codec", "source", "suffix", "becomes"),
    [
        ("aac", "mkv", "webm", "opus"),
        ("libvorbis", "webm", "mp4", "aac"),
        ("libopus", "webm", "mov", "aac"),
        ("pcm_s16le", "mov", "mp4", "aac"),
        ("libopus", "webm", "mp4", "opus"),
        ("flac", "mkv", "mkv", "flac"),
        ("wmav2", "asf", "mkv", "opus"),
        ("pcm_s16le", "avi", "webm", "opus"),
    ],
)
def test_sound_is_converted_only_where_it_does_not_fit(
    clip: Path, make: Make, tmp_path: Path, codec: str, source: str, suffix: str, becomes: str
) -> None:
    picture = ["-c:v", "libvpx"] if source == "webm" else ["-c:v", "mpeg4"]
    path = make(f"{codec}.{source}", "-i", clip, "-t", "1", *picture, "-c:a", codec)
    encoder: VideoEncoder = "libvpx-vp9" if suffix == "webm" else "libx264"
    info, warnings = copy_clip(path, tmp_path / f"out.{suffix}", encoder=encoder)
    assert [track.codec for track in info.tracks] == [becomes]
    assert warnings == []


def test_surround_sound_becomes_opus(make: Make, clip: Path, tmp_path: Path) -> None:
    sides = "aformat=channel_layouts=5.1(side)"
    surround = ("-af", f"pan=5.1(side)|FL=c0|FR=c0|FC=c0|LFE=c0|SL=c0|SR=c0,{sides}")
    path = make("side.mkv", "-i", clip, "-t", "1", "-c:v", "copy", *surround, "-c:a", "aac")
    assert probe(path).tracks[0].channels == 6
    info, warnings = copy_clip(path, tmp_path / "out.webm", encoder="libvpx-vp9")
    assert (info.tracks[0].codec, info.tracks[0].channels, warnings) == ("opus", 6, [])


@pytest.mark.parametrize("start", [None, 10])
def test_all_tracks_stay_in_matroska(multi: Path, tmp_path: Path, start: int | None) -> None:
    info, warnings = copy_clip(multi, tmp_path / "out.mkv", start=start)
    assert kinds(info) == kinds(probe(multi))
    assert warnings == []


def test_what_mp4_cannot_hold_is_named(multi: Path, tmp_path: Path) -> None:
    info, warnings = copy_clip(multi, tmp_path / "out.mp4")
    assert kinds(info) == [
        ("audio", "aac", "eng"),
        ("audio", "aac", "fra"),
        ("subtitle", "mov_text", "und"),
    ]
    assert warnings == ["Not in the output: 1 attachment of multi.mkv."]


def test_subtitles_go_into_webm_as_text(multi: Path, tmp_path: Path) -> None:
    info, _ = copy_clip(multi, tmp_path / "out.webm", encoder="libvpx-vp9")
    assert [track.codec for track in info.tracks] == ["opus", "opus", "webvtt"]
    text = ffmpeg("-i", tmp_path / "out.webm", "-map", "0:s", "-f", "srt", "pipe:").decode()
    assert "00:00:02,000" in text
    assert "Bye" in text


@pytest.mark.parametrize("seconds", ["1", "5"])
def test_sound_shorter_or_longer_than_the_picture_keeps_its_length(
    clip: Path, make: Make, tmp_path: Path, seconds: str
) -> None:
    sound = ("-f", "lavfi", "-i", f"sine=d={seconds}", "-map", "0:v", "-map", "1:a")
    path = make(f"sound{seconds}.mp4", "-i", clip, *sound, "-c:v", "copy", "-c:a", "aac")
    info, warnings = copy_clip(path, tmp_path / "out.mp4")
    assert (info.frames, warnings) == (75, [])
    raw = ffmpeg("-i", tmp_path / "out.mp4", "-map", "0:a", "-ac", "1", "-f", "s16le", "pipe:")
    assert abs(len(raw) / 2 / 44100 - float(seconds)) < 0.1


@pytest.mark.skipif(sys.platform == "win32", reason="the stub is a shell script")
def test_sound_that_ffmpeg_cannot_encode_does_not_cost_the_picture(
    clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub = tmp_path / "ffmpeg"
    script = 'case "$*" in *libopus*) echo "Unknown encoder \'libopus\'" >&2; exit 8;; esac'
    stub.write_text(f'#!/bin/sh\n{script}\nexec "{find_ffmpeg().path}" "$@"\n')
    stub.chmod(0o755)
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(stub))
    info, warnings = copy_clip(clip, tmp_path / "out.webm", encoder="libvpx-vp9")
    assert (info.frames, info.tracks) == (75, ())
    assert len(warnings) == 1
    assert "no sound" in warnings[0]
    assert "libopus" in warnings[0]


def test_a_sound_track_nobody_knows_does_not_cost_the_picture(
    clip: Path, make: Make, tmp_path: Path
) -> None:
    fast = make("fast.mp4", "-i", clip, "-c", "copy", "-movflags", "+faststart")
    data = fast.read_bytes().replace(b"mp4a", b"qqqq").replace(b"esds", b"free")
    path = tmp_path / "odd.mp4"
    path.write_bytes(data)
    info, warnings = copy_clip(path, tmp_path / "out.mp4")
    assert info.frames == 75
    assert len(warnings) == 1
    assert "sound" in warnings[0]


def test_title_and_date_stay(clip: Path, make: Make, tmp_path: Path) -> None:
    path = make("titled.mp4", "-i", clip, "-c", "copy", "-metadata", "title=A summer day")
    copy_clip(path, tmp_path / "out.mp4")
    text = ffmpeg("-i", tmp_path / "out.mp4", "-f", "ffmetadata", "pipe:").decode()
    assert "A summer day" in text
