"""Real clips, made by a real ffmpeg, a second or three long."""

from pathlib import Path

import pytest
from clips import COUNTER, Make, ffmpeg


@pytest.fixture(scope="session")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """Make a clip by ffmpeg's arguments, once per name."""
    folder = tmp_path_factory.mktemp("clips")

    def make_clip(name: str, *arguments: str | Path) -> Path:
        path = folder / name
        if not path.exists():
            ffmpeg(*arguments, path)
        return path

    return make_clip


@pytest.fixture(scope="session")
def clip(make: Make) -> Path:
    """75 frames of 160x120 at 25 fps, with sound."""
    picture = "testsrc2=s=160x120:r=25:d=3"
    sound = "sine=440:r=48000:d=3"
    codecs = ("-c:v", "libx264", "-pix_fmt", "yuv420p", "-c:a", "aac")
    return make("clip.mp4", "-f", "lavfi", "-i", picture, "-f", "lavfi", "-i", sound, *codecs)


@pytest.fixture(scope="session")
def counter(make: Make) -> Path:
    """75 grey frames with B-frames, each of its own level: frame i is told by `count_of`."""
    source = f"nullsrc=s=64x64:r=25:d=3,{COUNTER}"
    codec = ("-c:v", "libx264", "-qp", "0", "-bf", "2", "-pix_fmt", "yuv420p")
    return make("counter.mp4", "-f", "lavfi", "-i", source, *codec)
