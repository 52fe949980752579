"""Opening a picture with Pillow, and what it is before it is decoded."""

import re
import struct
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from math import gcd
from pathlib import Path

from PIL import Image, UnidentifiedImageError

from facefusion_ui.errors import InputError
from facefusion_ui.media.info import MediaInfo

PICTURE_FORMATS = ("JPEG", "PNG", "WEBP", "AVIF", "BMP", "DIB", "TIFF", "GIF", "PPM")
ANIMATED_FORMATS = ("GIF", "WEBP", "PNG", "AVIF")
QUICK_GIF_MS = 100  # what browsers make of a frame said to last 0 or 10 ms
FASTEST_ANIMATION_MS = 20  # of a tick when durations have no common one, unless a frame is shorter


def read_head(path: Path) -> bytes:
    """Return the first bytes of `path`.

    Raises:
        InputError: it is missing, no file, empty or unreadable.
    """
    try:
        with path.open("rb") as file:
            head = file.read(64)
    except FileNotFoundError:
        raise InputError(f"{path} is not there", hint="Check the path.") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder", hint="Choose a file in it.") from None
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror}", hint="Check its permissions."
        ) from error
    if not head:
        raise InputError(f"{path.name} is empty", hint="Copy or download it again.")
    return head


@contextmanager
def quiet() -> Iterator[None]:
    """Silence Pillow's remarks on odd metadata in the block."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def opened_picture(path: Path) -> Iterator[Image.Image | None]:
    """Open `path` with Pillow, without decoding; None when it is no picture Pillow knows.

    Raises:
        InputError: it has more pixels than any camera's picture, or what is read from it in the
            block is damaged.
    """
    Image.init()  # all formats, not just the first few
    with path.open("rb") as file:
        try:
            with quiet():  # not around the yield: it is global, and blocks may overlap
                image = Image.open(file, formats=PICTURE_FORMATS)
        except UnidentifiedImageError:
            yield None
            return
        except Image.DecompressionBombError as error:
            pixels = re.search(r"\d+", str(error))
            raise InputError(
                f"{path.name} has {pixels[0] if pixels else 'too many'} pixels, more than "
                f"{2 * (Image.MAX_IMAGE_PIXELS or 0)} are not read",
                hint="Shrink the picture first.",
            ) from None
        except (OSError, ValueError, SyntaxError, struct.error) as error:
            raise _damaged(path, error) from error
        try:
            yield image
        except (OSError, ValueError, SyntaxError, EOFError, struct.error) as error:
            raise _damaged(path, error) from error
        finally:
            image.close()


def describe_picture(path: Path, image: Image.Image) -> MediaInfo:
    """Say what the opened `image` of `path` is."""
    name = image.format or ""
    width, height = image.size
    frames = int(getattr(image, "n_frames", 1)) if name in ANIMATED_FORMATS else 1
    if frames == 1:
        if name != "TIFF" and image.getexif().get(0x0112, 1) in (5, 6, 7, 8):  # on its side
            width, height = height, width
        return MediaInfo(
            path, "image", name, (width, height), has_alpha=image.has_transparency_data
        )

    loop = image.info.get("loop")
    durations = []
    has_alpha = False
    for index in range(frames):
        image.seek(index)
        image.load()
        shown_ms = round(float(image.info.get("duration", 0)))
        durations.append(shown_ms if shown_ms > 10 else QUICK_GIF_MS)
        has_alpha = has_alpha or (image.has_transparency_data and _shows_through(image))
    step_ms = max(gcd(*durations), min(*durations, FASTEST_ANIMATION_MS))
    return MediaInfo(
        path,
        "animation",
        name,
        (width, height),
        frames=round(sum(durations) / step_ms),
        fps=Fraction(1000, step_ms),
        variable_rate=len(set(durations)) > 1,
        has_alpha=has_alpha,
        durations_ms=tuple(durations),
        loop=None if loop is None else int(loop),
    )


def _damaged(path: Path, error: Exception) -> InputError:
    return InputError(
        f"{path.name} is damaged or cut off: {error}", hint="Copy or download it again."
    )


def _shows_through(image: Image.Image) -> bool:
    lowest, _ = image.convert("RGBA").getchannel("A").getextrema()
    return int(lowest) < 255  # type: ignore[arg-type]
