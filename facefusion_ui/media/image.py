"""Photos: read with everything that must come back, written by the output's extension.

Inside, a photo is 8-bit BGR with straight (unflattened) colours; alpha, colour profile, EXIF and
16-bit values wait in `Picture` until it is written.
"""

import io
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageCms
from PIL.TiffImagePlugin import ImageFileDirectory_v2

from facefusion_ui.arrays import Frame, check_shape
from facefusion_ui.errors import InputError, OutputError
from facefusion_ui.media.files import PICTURE_SUFFIXES, check_suffix, write_whole
from facefusion_ui.media.picture_file import opened_picture, quiet, read_head
from facefusion_ui.media.probe import probe
from facefusion_ui.notices import Warned

PAPER = 255  # what shows through where the output has no transparency: white
FINE_QUALITY = 90  # from here on a JPEG keeps the colours at full size
SAVERS = {".jpg": "JPEG", ".jpeg": "JPEG", ".png": "PNG", ".webp": "WEBP", ".avif": "AVIF"}
SAVERS |= {".bmp": "BMP", ".tif": "TIFF", ".tiff": "TIFF"}
WITH_ALPHA = ("PNG", "WEBP", "AVIF", "TIFF")
WITH_16_BIT = ("PNG", "TIFF")
ORIENTATION = 0x0112
_TIFF_BITS = 258
_SUB_IFDS = (0x8769, 0x8825)  # EXIF proper, GPS
_LAYOUT_TAGS = (  # how a TIFF's own pixels are stored, no part of what is known about the photo
    *(254, 255, 256, 257, 258, 259, 262, 266, 273, 277, 278, 279, 284, 317, 320, 322, 323, 324),
    *(325, 330, 332, 338, 339, 347, 512, 513, 514, 529, 530, 531, 532, 34675),
)


@dataclass(frozen=True, eq=False)
class Picture:
    """A photo, upright.

    Attributes:
        frame: (H, W, 3) uint8, BGR.
        alpha: (H, W) uint8, or uint16 beside `deep`; None: opaque.
        deep: (H, W, 3) uint16, BGR: the same pixels in 16 bit, where the file has them.
        icc_profile, exif: as they are to be written; the turn is applied and taken out of `exif`.
        notices: what the user should know about the reading.
    """

    frame: Frame
    alpha: NDArray[np.uint8] | NDArray[np.uint16] | None = None
    deep: NDArray[np.uint16] | None = None
    icc_profile: bytes | None = None
    exif: bytes | None = None
    notices: tuple[Warned, ...] = ()


def read_picture(path: Path) -> Picture:
    """Read a photo; of an animation or a file of several pages, the first picture.

    Raises:
        InputError: missing, damaged, cut off, too large, or no picture.
    """
    read_head(path)
    with quiet(), opened_picture(path) as image:
        if image is None:
            probe(path)  # says what it is, if it is nothing that can be read
            raise InputError(f"{path.name} is a video, not a photo", hint="Choose a photo.")
        deep = _read_deep(path, image)
        notices = []
        pages = int(getattr(image, "n_frames", 1))
        if pages > 1 and image.format != "MPO":  # an MPO's second picture is a preview
            notices.append(
                Warned(f"Only the first of {pages} pictures of {path.name} is used.", "")
            )
        image.load()  # Pillow and OpenCV turn a TIFF upright by themselves, and nothing else
        turn = int(image.getexif().pop(ORIENTATION, 1))
        exif = _exif_bytes(image)
        if exif is None:
            notices.append(Warned(f"The EXIF data of {path.name} are damaged and left out.", ""))
        if deep is None and image.mode in ("I", "F"):
            raise InputError(
                f"{path.name} has 32 bits per channel", hint="Convert it to 8 or 16 bits."
            )
        colour, profile = _to_rgb(image)
        turned = _turn(np.asarray(colour), turn)
        alpha = turned[..., 3].copy() if colour.mode == "RGBA" else None
        if alpha is not None and alpha.min() == 255:
            alpha = None
        frame = np.ascontiguousarray(turned[..., 2::-1])
        if deep is not None:
            deep = _turn(deep, turn)
            frame = ((deep[..., :3].astype(np.uint32) + 128) // 257).astype(np.uint8)
            alpha = deep[..., 3].copy() if deep.shape[2] == 4 else alpha
            deep = np.ascontiguousarray(deep[..., :3])
        return Picture(
            frame=frame,
            alpha=alpha,
            deep=deep,
            icc_profile=profile,
            exif=exif or None,
            notices=tuple(notices),
        )


def write_picture(picture: Picture, frame: Frame, path: Path, quality: int) -> list[Warned]:
    """Write `frame` with all that belongs to `picture`, in the format `path`'s extension says.

    Args:
        frame: (H, W, 3) uint8, BGR: `picture.frame` changed, possibly of another size.
        quality: 0..100, for JPEG, WebP and AVIF.

    Returns:
        What the output could not keep.

    Raises:
        OutputError: unknown extension, too large for the format, or it cannot be written.
    """
    check_shape("frame", frame, (None, None, 3))
    saver = SAVERS[check_suffix(path, PICTURE_SUFFIXES, "a photo")]
    notices = []
    height, width = frame.shape[:2]
    alpha = picture.alpha
    if alpha is not None and alpha.shape != (height, width):
        alpha = _resized(alpha, (width, height))
    if alpha is not None and saver not in WITH_ALPHA:
        share = (alpha.astype(np.float32) / np.iinfo(alpha.dtype).max)[..., None]
        frame = np.rint(frame * share + PAPER * (1 - share)).astype(np.uint8)
        alpha = None
        notices.append(
            Warned(
                f"The picture is transparent in places; {path.suffix} has no transparency, so they "
                "are white.",
                "Write a .png to keep it.",
            )
        )
    if picture.deep is not None and saver in WITH_16_BIT:
        pixels = _deepen(picture, frame, alpha)
        encode = _deep_png if saver == "PNG" else _tiff
        write_whole(path, [encode(pixels, picture)])
        return notices
    if picture.deep is not None:
        notices.append(
            Warned(
                f"The picture has 16 bits per channel; the {path.suffix} has 8.",
                "Write a .png or .tif to keep them.",
            )
        )
    if alpha is not None and alpha.dtype == np.uint16:
        alpha = ((alpha.astype(np.uint32) + 128) // 257).astype(np.uint8)
    if saver == "TIFF":
        data = _tiff(frame if alpha is None else np.dstack([frame, alpha]), picture)
    else:
        data = _encode(frame, alpha, picture, saver, quality)
    write_whole(path, [data])
    return notices


def _to_rgb(image: Image.Image) -> tuple[Image.Image, bytes | None]:
    """Return `image` as RGB or RGBA, and the colour profile that goes with the result.

    A profile of an RGB picture is kept; grey and CMYK ones are turned to sRGB by theirs.
    """
    profile = image.info.get("icc_profile")
    mode = "RGBA" if image.has_transparency_data else "RGB"
    if profile and image.mode in ("L", "LA", "CMYK", "1", "I;16"):
        try:
            given = ImageCms.ImageCmsProfile(io.BytesIO(profile))
            if image.mode in ("L", "CMYK"):
                srgb = ImageCms.createProfile("sRGB")
                turned = ImageCms.profileToProfile(image, given, srgb, outputMode="RGB")
                if turned is not None:
                    return turned, None
        except (ImageCms.PyCMSError, OSError):
            pass  # a profile for other channels, or damaged: plain conversion
        profile = None
    return image.convert(mode), profile


def _exif_bytes(image: Image.Image) -> bytes | None:
    exif = image.getexif()
    for tag in _LAYOUT_TAGS:
        exif.pop(tag, None)
    try:
        return exif.tobytes() if len(exif) else b""
    except (ValueError, TypeError, KeyError, OverflowError, struct.error):
        return None


def _read_deep(path: Path, image: Image.Image) -> NDArray[np.uint16] | None:
    """Return the (H, W, 3 or 4) uint16 BGR(A) pixels; None unless the file is 16-bit."""
    if not _is_deep(path, image):
        return None
    pixels = cv2.imdecode(np.frombuffer(path.read_bytes(), np.uint8), cv2.IMREAD_UNCHANGED)
    if pixels is None or pixels.dtype != np.uint16:
        return None
    if pixels.ndim == 2:
        pixels = cv2.cvtColor(pixels, cv2.COLOR_GRAY2BGR)
    return np.asarray(pixels, np.uint16)


def _is_deep(path: Path, image: Image.Image) -> bool:
    if image.format == "PNG":
        return read_head(path)[24] == 16  # IHDR: bit depth
    if image.format == "TIFF":
        bits: Any = image.tag_v2.get(_TIFF_BITS)  # type: ignore[attr-defined]
        return bits is not None and set(bits if isinstance(bits, tuple) else (bits,)) == {16}
    return False


def _turn(pixels: NDArray[Any], orientation: int) -> NDArray[Any]:
    """Turn (H, W, C) `pixels` upright, as the EXIF `orientation` 1..8 says."""
    if orientation in (5, 6, 7, 8):
        pixels = pixels.swapaxes(0, 1)
    if orientation in (2, 3, 6, 7):
        pixels = pixels[:, ::-1]
    if orientation in (3, 4, 7, 8):
        pixels = pixels[::-1]
    return pixels


def _deepen(picture: Picture, frame: Frame, alpha: NDArray[Any] | None) -> NDArray[np.uint16]:
    """Return `frame` in 16 bit: the stored values where it did not change, else scaled up."""
    pixels = frame.astype(np.uint16) * 257
    if picture.deep is not None and frame.shape == picture.frame.shape:
        same = (frame == picture.frame).all(axis=2, keepdims=True)
        pixels = np.where(same, picture.deep, pixels)
    if alpha is None:
        return pixels
    if alpha.dtype == np.uint8:
        alpha = alpha.astype(np.uint16) * 257
    return np.dstack([pixels, alpha])


def _resized(alpha: NDArray[Any], size_wh: tuple[int, int]) -> NDArray[Any]:
    grows = size_wh[0] > alpha.shape[1]
    way = cv2.INTER_LINEAR if grows else cv2.INTER_AREA
    return np.asarray(cv2.resize(alpha, size_wh, interpolation=way))


def _encode(
    frame: Frame, alpha: NDArray[Any] | None, picture: Picture, saver: str, quality: int
) -> bytes:
    rgb = frame[..., ::-1]
    image = Image.fromarray(np.ascontiguousarray(rgb if alpha is None else np.dstack([rgb, alpha])))
    options: dict[str, Any] = {}
    if saver != "BMP":
        options = {"icc_profile": picture.icc_profile, "exif": picture.exif or b""}
    if saver in ("JPEG", "WEBP", "AVIF"):
        options["quality"] = max(1, quality)
    if saver == "JPEG" and quality >= FINE_QUALITY:
        options["subsampling"] = 0
    if saver == "WEBP":
        options["exact"] = True  # colours under full transparency are the user's too
    buffer = io.BytesIO()
    try:
        image.save(buffer, saver, **options)
    except (OSError, ValueError) as error:
        raise OutputError(
            f"a picture of {image.width}x{image.height} cannot be written as {saver}: {error}",
            hint="Write a .png.",
        ) from error
    return buffer.getvalue()


def _deep_png(pixels: NDArray[np.uint16], picture: Picture) -> bytes:
    """Encode (H, W, 3 or 4) uint16 BGR(A), with profile and EXIF as chunks after the header."""
    data = cv2.imencode(".png", pixels)[1].tobytes()
    chunks = b""
    if picture.icc_profile:
        chunks += _chunk(b"iCCP", b"ICC profile\0\0" + zlib.compress(picture.icc_profile))
    if picture.exif:
        chunks += _chunk(b"eXIf", picture.exif.removeprefix(b"Exif\0\0"))
    header_end = 8 + 25  # signature, IHDR
    return data[:header_end] + chunks + data[header_end:]


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _tiff(pixels: NDArray[Any], picture: Picture) -> bytes:
    """Encode (H, W, 3 or 4) BGR(A) as one strip, with profile, EXIF and place.

    Pillow writes no 16-bit colours, and loses the EXIF of a compressed file.
    """
    height, width, channels = pixels.shape
    rgb = np.ascontiguousarray(pixels[..., [2, 1, 0, 3][:channels]])
    data = zlib.compress(rgb.astype(rgb.dtype.newbyteorder("<")).tobytes())
    tags = ImageFileDirectory_v2(prefix=b"II")
    if picture.exif:
        exif = Image.Exif()
        exif.load(picture.exif)
        for tag, value in exif.items():
            tags[tag] = exif.get_ifd(tag) if tag in _SUB_IFDS else value
    tags[256], tags[257] = width, height
    tags[_TIFF_BITS] = (pixels.itemsize * 8,) * channels
    tags[259] = 8  # deflate
    tags[262] = 2  # RGB
    tags[273], tags[279] = 0, len(data)  # where the strip starts, after this directory; its length
    tags[277], tags[278] = channels, height
    if channels == 4:
        tags[338] = 2  # straight alpha
    if picture.icc_profile:
        tags.tagtype[34675] = 7
        tags[34675] = picture.icc_profile
    buffer = io.BytesIO()
    tags.save(buffer)
    return buffer.getvalue() + data
