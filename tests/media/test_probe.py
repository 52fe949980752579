"""Guards against believing a file's name, and against bad files that hang, crash or look fine."""

import io
import shutil
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from clips import Make, ffmpeg
from PIL import Image

from facefusion_ui.errors import InputError
from facefusion_ui.media.probe import probe
from facefusion_ui.media.video_file import count_frames


def test_a_plain_clip_is_described(clip: Path) -> None:
    info = probe(clip)
    assert (info.kind, info.format, info.codec) == ("video", "mov", "h264")
    assert (info.size_wh, info.frames, info.fps) == ((160, 120), 75, 25)
    assert not any((info.variable_rate, info.hdr, info.has_alpha))
    assert [(track.kind, track.codec, track.channels) for track in info.tracks] == [
        ("audio", "aac", 1)
    ]


@pytest.mark.parametrize("name", ["a.jpg", "a", "out%d.png", "a.txt", "a.m3u8"])
def test_a_video_is_a_video_under_any_name(clip: Path, tmp_path: Path, name: str) -> None:
    path = shutil.copy(clip, tmp_path / name)
    assert probe(Path(path)).kind == "video"


def test_a_photo_is_a_photo_under_any_name(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    Image.new("RGB", (30, 20)).save(path, "PNG")
    info = probe(path)
    assert (info.kind, info.format, info.size_wh, info.frames) == ("image", "PNG", (30, 20), 1)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.mp4 is not there") as caught:
        probe(tmp_path / "gone.mp4")
    assert caught.value.hint


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.mp4", b"", "empty"),
        ("a.jpg", b"just some text", "not a photo or a video"),
        ("a.mp4", bytes(5000), "not a photo or a video"),
        ("a.png", b"\x89PNG\r\n\x1a\n", "damaged|not a photo"),
        ("a.m3u8", b"#EXTM3U\n#EXTINF:1,\nclip.mp4\n", "not a photo or a video"),
        ("a.txt", b"ffconcat version 1.0\nfile clip.mp4\n", "not a photo or a video"),
    ],
)
def test_what_is_neither_photo_nor_video_is_refused(
    clip: Path, tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    shutil.copy(clip, tmp_path / "clip.mp4")  # what a playlist would lead to
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=said) as caught:
        probe(path)
    assert caught.value.hint


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        probe(tmp_path)


def test_a_heic_photo_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    path.write_bytes(b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(500))
    with pytest.raises(InputError, match="HEIC") as caught:
        probe(path)
    assert "JPEG" in caught.value.hint


def test_a_picture_bomb_is_refused_with_its_size(tmp_path: Path) -> None:
    path = tmp_path / "bomb.png"
    Image.new("1", (20000, 20000)).save(path)
    with pytest.raises(InputError, match="400000000 pixels"):
        probe(path)


def test_a_clip_without_its_index_is_refused_with_the_reason(clip: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    path.write_bytes(clip.read_bytes()[: clip.stat().st_size * 6 // 10])
    with pytest.raises(InputError, match="cut off"):
        probe(path)


def test_a_cut_clip_says_how_much_of_it_is_there(clip: Path, make: Make, tmp_path: Path) -> None:
    fast = make("fast.mp4", "-i", clip, "-c", "copy", "-movflags", "+faststart")
    path = tmp_path / "cut.mp4"
    path.write_bytes(fast.read_bytes()[: fast.stat().st_size * 6 // 10])
    info = probe(path)
    assert info.declared_frames == 75
    assert 20 < info.frames < 75


def test_a_cut_matroska_says_how_much_of_it_is_there(
    clip: Path, make: Make, tmp_path: Path
) -> None:
    whole = make("whole.mkv", "-i", clip, "-c", "copy")
    assert probe(whole).declared_frames is None
    path = tmp_path / "cut.mkv"
    path.write_bytes(whole.read_bytes()[: whole.stat().st_size * 6 // 10])
    info = probe(path)
    assert info.declared_frames is not None
    assert abs(info.declared_frames - 75) <= 2  # from its length
    assert info.frames < 75


def test_sound_alone_is_no_video(make: Make) -> None:
    path = make("sound.m4a", "-f", "lavfi", "-i", "sine=d=1")
    with pytest.raises(InputError, match="not a photo or a video"):
        probe(path)


def test_the_cover_of_a_song_is_no_video(make: Make, tmp_path: Path) -> None:
    cover = tmp_path / "cover.png"
    Image.new("RGB", (32, 32), "red").save(cover)
    sound = ("-f", "lavfi", "-i", "sine=d=1", "-i", cover, "-map", "0", "-map", "1")
    path = make("song.mp3", *sound, "-c:v", "copy", "-disposition:v", "attached_pic")
    with pytest.raises(InputError, match="not a photo or a video"):
        probe(path)


@pytest.mark.parametrize("suffix", ["gif", "webp", "png"])
def test_an_animation_is_told_from_a_photo(tmp_path: Path, suffix: str) -> None:
    frames = [Image.new("RGB", (30, 20), (80 * i, 0, 0)) for i in range(3)]
    path = tmp_path / f"a.{suffix}"
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=[100, 200, 100], loop=0)
    info = probe(path)
    assert info.kind == "animation"
    assert info.durations_ms == (100, 200, 100)
    assert (info.frames, info.fps, info.variable_rate, info.loop) == (4, 10, True, 0)
    frames[0].save(path)
    assert probe(path).kind == "image"


def test_pages_and_previews_are_no_animation(tmp_path: Path) -> None:
    pages = [Image.new("RGB", (30, 20), color) for color in ("red", "blue")]
    for name, form in (("a.tif", "TIFF"), ("a.jpg", "MPO")):
        pages[0].save(tmp_path / name, form, save_all=True, append_images=pages[1:])
        assert probe(tmp_path / name).kind == "image"


def test_a_browser_recording_without_length_is_counted(clip: Path, tmp_path: Path) -> None:
    path = tmp_path / "live.webm"
    codecs = ("-c:v", "libvpx", "-c:a", "libopus")
    path.write_bytes(ffmpeg("-i", clip, *codecs, "-f", "webm", "pipe:1"))
    info = probe(path)
    assert (info.frames, info.fps, info.declared_frames) == (75, 25, None)


def test_hidden_frames_of_vp8_are_not_counted(clip: Path, tmp_path: Path) -> None:
    hidden = ("-auto-alt-ref", "1", "-lag-in-frames", "16", "-b:v", "100k")
    twice = ("-passlogfile", tmp_path / "log", "-c:v", "libvpx", *hidden)  # one pass hides none
    path = tmp_path / "hidden.webm"
    for number in ("1", "2"):
        ffmpeg("-i", clip, "-an", *twice, "-pass", number, path)
    with av.open(str(path)) as container:
        assert sum(1 for packet in container.demux(video=0) if packet.size) > 75
    assert count_frames(path) == 75
    assert probe(path).frames == 75


@pytest.mark.parametrize("suffix", ["mp4", "mkv"])
def test_ntsc_keeps_its_fraction(make: Make, suffix: str) -> None:
    source = "testsrc2=s=64x64:r=30000/1001:d=4"
    path = make(f"ntsc.{suffix}", "-f", "lavfi", "-i", source, "-pix_fmt", "yuv420p")
    info = probe(path)
    assert (info.fps, info.variable_rate) == (Fraction(30000, 1001), False)


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_size_is_given_upright(clip: Path, make: Make, degrees: int) -> None:
    path = make(f"turned{degrees}.mp4", "-display_rotation", str(degrees), "-i", clip, "-c", "copy")
    info = probe(path)
    assert info.rotation == degrees
    assert info.size_wh == ((160, 120) if degrees == 180 else (120, 160))


def test_every_way_a_photo_can_lie_gives_its_upright_size(tmp_path: Path) -> None:
    for suffix in ("jpg", "png", "webp", "tif"):
        for orientation in range(1, 9):
            exif = Image.Exif()
            exif[0x0112] = orientation
            path = tmp_path / f"a.{suffix}"
            Image.new("RGB", (30, 20)).save(path, exif=exif.tobytes())
            assert probe(path).size_wh == ((30, 20) if orientation < 5 else (20, 30))


def test_alpha_is_seen(clip: Path, make: Make, tmp_path: Path) -> None:
    with_alpha = ("-vf", "format=yuva420p", "-c:v", "libvpx-vp9", "-auto-alt-ref", "0", "-an")
    assert probe(make("alpha.webm", "-i", clip, *with_alpha)).has_alpha
    assert probe(make("alpha.mov", "-i", clip, "-an", "-c:v", "qtrle")).has_alpha is False
    argb = ("-vf", "format=argb", "-c:v", "qtrle", "-an")
    assert probe(make("argb.mov", "-i", clip, *argb)).has_alpha
    picture = Image.fromarray(np.zeros((20, 30, 4), np.uint8))
    picture.save(tmp_path / "a.png")
    assert probe(tmp_path / "a.png").has_alpha


def test_metadata_pillow_complains_about_are_no_trouble(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    exif = b"Exif\0\0II*\0\x08\0\0\0\xff\xff" + bytes(40)
    Image.new("RGB", (30, 20)).save(buffer, "JPEG", exif=exif)
    path = tmp_path / "a.jpg"
    path.write_bytes(buffer.getvalue())
    assert probe(path).size_wh == (30, 20)
