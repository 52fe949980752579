"""What a file is, told by its content and never by its name."""

from pathlib import Path

from facefusion_ui.errors import InputError
from facefusion_ui.media.info import MediaInfo
from facefusion_ui.media.picture_file import describe_picture, opened_picture, quiet, read_head
from facefusion_ui.media.video_file import count_frames, describe_video

__all__ = ["count_frames", "probe"]

HEIC_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")


def probe(path: Path) -> MediaInfo:
    """Look at a photo or a clip.

    Raises:
        InputError: missing, empty, unreadable, damaged beyond use, too large, or no photo or video.
    """
    path = path.expanduser().absolute()
    head = read_head(path)
    with quiet(), opened_picture(path) as image:
        if image is not None:
            return describe_picture(path, image)
    if head[4:8] == b"ftyp" and head[8:12] in HEIC_BRANDS:
        raise InputError(
            f"{path.name} is a HEIC picture, which cannot be read",
            hint="Convert it to JPEG or PNG, or set the phone's camera to Most Compatible.",
        )
    return describe_video(path)
