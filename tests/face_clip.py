"""A short clip of a real face, with sound."""

from pathlib import Path

from tests.conftest import carried
from tests.media.clips import ffmpeg


def make_face_clip(path: Path, frames: int) -> Path:
    """Write `frames` frames of the astronaut, 256x192 at 25 fps, moving slowly, with a tone."""
    seconds = frames / 25
    picture = carried("skimage", "data/astronaut.png")
    still = ("-loop", "1", "-r", "25", "-t", f"{seconds}", "-i", picture)
    sound = ("-f", "lavfi", "-i", f"sine=440:r=48000:d={seconds}")
    moving = ("-vf", "crop=320:240:'60+n':0,scale=256:192,format=yuv420p")
    ffmpeg(
        *still, *sound, *moving, "-frames:v", f"{frames}", "-c:v", "libx264", "-c:a", "aac", path
    )
    return path
