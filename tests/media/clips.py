"""Helpers of the media tests: a real ffmpeg, and clips whose frames can be told apart."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import imageio_ffmpeg
import numpy as np
from numpy.typing import NDArray

from facefusion_ui.media.probe import probe
from facefusion_ui.media.video import FrameReader

Make = Callable[..., Path]

COUNT_STEP = 2.9  # the last of 75 frames is still below white
COUNTER = f"geq=lum='16+N*{COUNT_STEP}':cb=128:cr=128"


def ffmpeg(*arguments: str | Path) -> bytes:
    """Run ffmpeg; return what it wrote to its standard output."""
    program = imageio_ffmpeg.get_ffmpeg_exe()
    quiet = ["-hide_banner", "-nostdin", "-loglevel", "error", "-y"]
    done = subprocess.run([program, *quiet, *arguments], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def count_of(frame: NDArray[np.uint8]) -> int:
    """Return the number of a frame of `counter`, from its level."""
    return round(float(frame.mean()) * 219 / 255 / COUNT_STEP)


def numbers(path: Path, **options: object) -> list[int]:
    """Read a clip made from `counter` and return its frames' numbers."""
    with FrameReader(probe(path), **options) as reader:  # type: ignore[arg-type]
        return [count_of(frame) for frame in reader]
