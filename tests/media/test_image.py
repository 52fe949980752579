"""Guards against what a photo silently loses on its way through: alpha, depth, profile, turn."""

import io
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageCms

from facefusion_ui.errors import InputError, OutputError
from facefusion_ui.media.image import Picture, read_picture, write_picture

LOSSLESS = ["png", "tif", "bmp"]
LOSSY = ["jpg", "webp", "avif"]
TURNS = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}  # EXIF orientation: Pillow's way to undo it


def scene(height: int = 40, width: int = 60) -> NDArray[np.uint8]:
    """A smooth (H, W, 3) uint8 picture without symmetry; red left, green below, blue right."""
    y, x = np.mgrid[:height, :width]
    planes = (255 - x * 255 // width, y * 255 // height, x * 200 // width)
    return np.dstack(planes).astype(np.uint8)


def deep_scene() -> NDArray[np.uint16]:
    return np.random.default_rng(0).integers(0, 65536, (40, 60, 3), dtype=np.uint16)


def save(path: Path, pixels: NDArray[Any], mode: str | None = None, **options: Any) -> Path:
    image = Image.fromarray(pixels)
    (image.convert(mode) if mode else image).save(path, **options)
    return path


def save_deep(path: Path, pixels: NDArray[np.uint16]) -> Path:
    path.write_bytes(cv2.imencode(path.suffix, pixels)[1].tobytes())
    return path


def read_deep(path: Path) -> NDArray[Any]:
    pixels = cv2.imdecode(np.frombuffer(path.read_bytes(), np.uint8), cv2.IMREAD_UNCHANGED)
    assert pixels is not None
    return np.asarray(pixels)


def profile(name: str = "sRGB") -> bytes:
    return ImageCms.ImageCmsProfile(ImageCms.createProfile(name)).tobytes()  # type: ignore[arg-type]


@pytest.mark.parametrize("suffix", LOSSLESS + LOSSY)
def test_red_stays_red(tmp_path: Path, suffix: str) -> None:
    picture = read_picture(save(tmp_path / f"in.{suffix}", scene()))
    assert np.abs(picture.frame[..., ::-1].astype(int) - scene()).mean() < 4
    assert write_picture(picture, picture.frame, tmp_path / f"out.{suffix}", 95) == []
    with Image.open(tmp_path / f"out.{suffix}") as image:
        assert np.abs(np.asarray(image.convert("RGB")).astype(int) - scene()).mean() < 6


@pytest.mark.parametrize("suffix", LOSSLESS)
def test_pixels_that_did_not_change_are_the_same_bit_by_bit(tmp_path: Path, suffix: str) -> None:
    picture = read_picture(save(tmp_path / "in.png", scene()))
    frame = picture.frame.copy()
    frame[:10, :10] = 7
    write_picture(picture, frame, tmp_path / f"out.{suffix}", 50)
    assert (read_picture(tmp_path / f"out.{suffix}").frame == frame).all()


@pytest.mark.parametrize("suffix", ["jpg", "webp", "avif"])
def test_more_quality_is_more_bytes(tmp_path: Path, suffix: str) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    picture = Picture(noise)
    sizes = []
    for quality in (0, 50, 100):
        write_picture(picture, noise, tmp_path / f"{quality}.{suffix}", quality)
        sizes.append((tmp_path / f"{quality}.{suffix}").stat().st_size)
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


@pytest.mark.parametrize("suffix", ["png", "webp", "tif", "avif"])
@pytest.mark.parametrize("source", ["RGBA", "LA", "P"])
def test_alpha_comes_back_unchanged(tmp_path: Path, source: str, suffix: str) -> None:
    alpha = np.asarray(Image.linear_gradient("L").resize((60, 40)))
    rgba = np.dstack([scene(), alpha])
    path = save(tmp_path / "in.png", rgba, source)
    with Image.open(path) as image:
        alpha = np.asarray(image.convert("RGBA"))[..., 3]
    assert alpha.min() < 250
    picture = read_picture(path)
    assert write_picture(picture, picture.frame, tmp_path / f"out.{suffix}", 90) == []
    with Image.open(tmp_path / f"out.{suffix}") as image:
        got = np.asarray(image.convert("RGBA"))[..., 3].astype(int)
    assert np.abs(got - alpha).max() <= (4 if suffix == "avif" else 0)  # AVIF loses a little


@pytest.mark.parametrize("suffix", ["jpg", "bmp"])
def test_where_alpha_cannot_stay_it_becomes_white_and_that_is_said(
    tmp_path: Path, suffix: str
) -> None:
    rgba = np.dstack([scene(), np.full((40, 60), 255, np.uint8)])
    rgba[:20, :, 3] = 0
    picture = read_picture(save(tmp_path / "in.png", rgba))
    (warned,) = write_picture(picture, picture.frame, tmp_path / f"out.{suffix}", 95)
    assert "white" in warned.message
    assert ".png" in warned.hint
    result = read_picture(tmp_path / f"out.{suffix}")
    assert result.frame[:16].min() > 245
    assert np.abs(result.frame[24:].astype(int) - picture.frame[24:]).mean() < 6


def test_an_alpha_that_hides_nothing_is_no_reason_to_warn(tmp_path: Path) -> None:
    rgba = np.dstack([scene(), np.full((40, 60), 255, np.uint8)])
    picture = read_picture(save(tmp_path / "in.png", rgba))
    assert write_picture(picture, picture.frame, tmp_path / "out.jpg", 95) == []


def test_a_larger_result_gets_a_larger_alpha(tmp_path: Path) -> None:
    alpha = np.asarray(Image.linear_gradient("L").resize((60, 40)))
    picture = read_picture(save(tmp_path / "in.png", np.dstack([scene(), alpha])))
    large = cv2.resize(picture.frame, (240, 160))
    write_picture(picture, np.asarray(large, np.uint8), tmp_path / "out.png", 90)
    with Image.open(tmp_path / "out.png") as image:
        assert image.size == (240, 160)
        result = np.asarray(image)[..., 3]
    assert np.abs(np.asarray(cv2.resize(result, (60, 40))).astype(int) - alpha).max() <= 4


@pytest.mark.parametrize("source", ["png", "tif"])
@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_16_bit_values_stay_where_nothing_changed(tmp_path: Path, source: str, suffix: str) -> None:
    deep = deep_scene()
    picture = read_picture(save_deep(tmp_path / f"in.{source}", deep))
    assert np.abs(picture.frame - deep / 257).max() <= 0.5
    frame = picture.frame.copy()
    frame[:10] = 7
    assert write_picture(picture, frame, tmp_path / f"out.{suffix}", 90) == []
    result = read_deep(tmp_path / f"out.{suffix}")
    assert (result[10:] == deep[10:]).all()
    assert (result[:10] == 7 * 257).all()


def test_16_bit_with_alpha_keeps_both(tmp_path: Path) -> None:
    deep = np.dstack([deep_scene(), np.arange(2400, dtype=np.uint16).reshape(40, 60) * 27])
    picture = read_picture(save_deep(tmp_path / "in.png", deep))
    for suffix in ("png", "tif"):
        write_picture(picture, picture.frame, tmp_path / f"out.{suffix}", 90)
        assert (read_deep(tmp_path / f"out.{suffix}") == deep).all()


def test_16_bit_grey_keeps_its_values(tmp_path: Path) -> None:
    deep = np.arange(2400, dtype=np.uint16).reshape(40, 60) * 27
    picture = read_picture(save_deep(tmp_path / "in.png", deep))
    write_picture(picture, picture.frame, tmp_path / "out.png", 90)
    assert (read_deep(tmp_path / "out.png") == deep[..., None]).all()


def test_16_bit_in_8_bit_out_is_said(tmp_path: Path) -> None:
    picture = read_picture(save_deep(tmp_path / "in.png", deep_scene()))
    (warned,) = write_picture(picture, picture.frame, tmp_path / "out.webp", 90)
    assert "16 bits" in warned.message
    assert ".png" in warned.hint


def test_a_larger_result_of_a_16_bit_picture_is_scaled_up(tmp_path: Path) -> None:
    picture = read_picture(save_deep(tmp_path / "in.png", deep_scene()))
    write_picture(picture, np.full((80, 120, 3), 9, np.uint8), tmp_path / "out.png", 90)
    assert (read_deep(tmp_path / "out.png") == 9 * 257).all()


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_profile_and_exif_stay_but_the_turn(tmp_path: Path, deep: bool, suffix: str) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    exif[0x010F] = "A camera"
    exif[0x8825] = {1: "N", 2: (48.0, 8.0, 30.0)}
    source = save(tmp_path / "in.jpg", scene(), exif=exif.tobytes(), icc_profile=profile())
    picture = read_picture(source)
    assert picture.frame.shape == (60, 40, 3)
    if deep:
        values = picture.frame.astype(np.uint16) * 257
        picture = Picture(picture.frame, None, values, picture.icc_profile, picture.exif)
    write_picture(picture, picture.frame, tmp_path / f"out.{suffix}", 90)
    with Image.open(tmp_path / f"out.{suffix}") as image:
        assert image.info["icc_profile"] == profile()
        kept = image.getexif()
        assert kept.get(0x0112, 1) == 1
        assert kept[0x010F] == "A camera"
        assert kept.get_ifd(0x8825)[1] == "N"
        assert image.size == (40, 60)


@pytest.mark.parametrize("suffix", ["jpg", "png", "webp", "tif", "avif"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_photo_is_turned_upright_once(tmp_path: Path, suffix: str, orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    image = Image.fromarray(scene())
    if orientation in TURNS:
        image = image.transpose(Image.Transpose(TURNS[orientation]))
    image.save(tmp_path / f"in.{suffix}", exif=exif.tobytes(), quality=95)
    picture = read_picture(tmp_path / f"in.{suffix}")
    assert picture.frame.shape == (40, 60, 3)
    assert np.abs(picture.frame[..., ::-1].astype(int) - scene()).mean() < 4
    write_picture(picture, picture.frame, tmp_path / "out.jpg", 95)
    again = read_picture(tmp_path / "out.jpg")
    assert np.abs(again.frame.astype(int) - picture.frame).mean() < 4


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_a_16_bit_photo_is_turned_with_its_values(
    tmp_path: Path, suffix: str, orientation: int
) -> None:
    lying = deep_scene()
    exif = Image.Exif()
    exif[0x0112] = orientation
    plain = Picture((lying // 257).astype(np.uint8), None, lying, None, exif.tobytes())
    write_picture(plain, plain.frame, tmp_path / f"in.{suffix}", 90)
    upright = {
        1: lying,
        2: lying[:, ::-1],
        3: lying[::-1, ::-1],
        4: lying[::-1],
        5: lying.swapaxes(0, 1),
        6: np.rot90(lying, -1),
        7: lying[::-1, ::-1].swapaxes(0, 1),
        8: np.rot90(lying),
    }
    picture = read_picture(tmp_path / f"in.{suffix}")
    assert picture.deep is not None
    assert (picture.deep == upright[orientation]).all()
    assert np.abs(picture.frame - picture.deep / 257).max() <= 0.5


@pytest.mark.parametrize("mode", ["L", "1", "P", "CMYK", "I;16", "RGB"])
def test_pictures_of_every_mode_are_read(tmp_path: Path, mode: str) -> None:
    suffix = "jpg" if mode == "CMYK" else "png"
    if mode == "I;16":
        path = save_deep(tmp_path / "in.png", deep_scene()[..., 0])
    else:
        path = save(tmp_path / f"in.{suffix}", scene(), mode)
    picture = read_picture(path)
    assert picture.frame.shape == (40, 60, 3)
    assert picture.alpha is None
    if mode in ("P", "CMYK", "RGB"):
        assert np.abs(picture.frame[..., ::-1].astype(int) - scene()).mean() < 20


def test_a_grey_profile_is_not_put_on_a_colour_picture(tmp_path: Path) -> None:
    path = save(tmp_path / "in.png", scene(), "L", icc_profile=profile("XYZ"))
    picture = read_picture(path)
    assert picture.icc_profile is None
    assert np.ptp(picture.frame, axis=2).max() <= 2


def test_an_animation_or_several_pages_give_the_first_and_say_so(tmp_path: Path) -> None:
    frames = [Image.new("RGB", (30, 20), color) for color in ("red", "blue")]
    for suffix in ("gif", "tif", "png", "webp"):
        path = tmp_path / f"in.{suffix}"
        frames[0].save(path, save_all=True, append_images=frames[1:], duration=100)
        picture = read_picture(path)
        assert picture.frame[10, 10, 2] > 240
        assert "first of 2" in picture.notices[0].message


@pytest.mark.parametrize("suffix", ["png", "jpg", "webp", "tif", "gif", "bmp"])
def test_a_cut_off_photo_is_refused(tmp_path: Path, suffix: str) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    path = save(tmp_path / f"in.{suffix}", noise)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(InputError, match=r"in\.\w+ is damaged|not a photo") as caught:
        read_picture(path)
    assert caught.value.hint


def test_a_video_or_a_text_is_no_photo(clip: Path, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_text("hello")
    for path in (clip, tmp_path / "a.png", tmp_path / "gone.png"):
        with pytest.raises(InputError) as caught:
            read_picture(path)
        assert caught.value.hint


def test_a_picture_too_large_for_its_format_is_one_clear_error(tmp_path: Path) -> None:
    wide = np.zeros((2, 20000, 3), np.uint8)
    with pytest.raises(OutputError, match="20000x2") as caught:
        write_picture(Picture(wide), wide, tmp_path / "out.webp", 90)
    assert ".png" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_ending_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(OutputError) as caught:
        write_picture(Picture(scene()), scene(), tmp_path / "out.psd", 90)
    assert ".png" in caught.value.hint


def test_damaged_exif_does_not_cost_the_photo(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    damaged = b"Exif\0\0II*\0\x08\0\0\0\x03\0\x0f\x01\x02\0\xff\xff\xff\x7f\xf0\0\0\0" + bytes(30)
    Image.fromarray(scene()).save(buffer, "JPEG", exif=damaged)
    (tmp_path / "in.jpg").write_bytes(buffer.getvalue())
    picture = read_picture(tmp_path / "in.jpg")
    write_picture(picture, picture.frame, tmp_path / "out.jpg", 90)
    assert (tmp_path / "out.jpg").exists()
