"""The sample material: two portraits in the public domain, and a clip made from one of them.

The portraits lie in packages that are installed anyway: Eileen Collins (NASA) in scikit-image,
Grace Hopper (US Navy) in matplotlib. The packages are found without being imported.
"""

import importlib.util
import subprocess
from math import pi
from pathlib import Path

import ffmpeg

from facefusion_ui.errors import FfmpegError, ModelError
from facefusion_ui.media.ffmpeg import detached, find_ffmpeg
from facefusion_ui.media.files import written_whole

CLIP_FPS = 25
CLIP_FRAMES = 75
CLIP_WH = (640, 480)
CLIP_S = CLIP_FRAMES / CLIP_FPS

# The camera turns once through PHASE (radians), so that the clip ends where it begins. X, Y: the
# middle of what it sees; HALF: half the width of it, in widths of the portrait; TURN in radians.
PHASE = f"(on*{2 * pi / CLIP_FRAMES:.6f})"
X = f"(0.46+0.025*sin({PHASE}))"
HALF = f"(0.33+0.05*cos({PHASE}))"
Y = f"(0.75*{HALF}+0.04+0.012*sin(2*{PHASE}))"  # the hair ends near the portrait's upper edge
TURN = f"(0.07*sin({PHASE}))"
LARGE_PX = 1536  # the camera moves over a picture this large, so that no step is seen after scaling

CHORD_HZ = (130.81, 196.0, 246.94, 329.63, 493.88)  # C major with its seventh, widely set


def astronaut_path() -> Path:
    """Return the portrait of Eileen Collins, 512x512.

    Raises:
        ModelError: scikit-image is not installed whole.
    """
    return _carried("skimage", "data/astronaut.png")


def hopper_path() -> Path:
    """Return the portrait of Grace Hopper, 512x600.

    Raises:
        ModelError: matplotlib is not installed whole.
    """
    return _carried("matplotlib", "mpl-data/sample_data/grace_hopper.jpg")


def make_sample_clip(path: Path) -> None:
    """Write a clip of 3 s with sound to `path` (.mp4): a camera moves over the astronaut.

    Raises:
        ModelError: scikit-image is not installed whole.
        FfmpegError: there is no ffmpeg, or it cannot make the clip.
        OutputError: `path` cannot be written.
    """
    program = find_ffmpeg()
    still = ffmpeg.input(str(astronaut_path()), loop=1, framerate=CLIP_FPS)
    picture = (
        still.filter("scale", LARGE_PX, LARGE_PX, flags="lanczos")
        .filter("perspective", **_camera(), interpolation="cubic", eval="frame")
        .filter("scale", *CLIP_WH, flags="area", out_color_matrix="bt709", out_range="tv")
        .filter("setsar", 1)
        .filter("setparams", color_primaries="bt709", color_trc="bt709", colorspace="bt709")
    )
    tones = "+".join(f"sin({2 * pi * hz:.3f}*t)/{2 + i}" for i, hz in enumerate(CHORD_HZ))
    left, right = (f"0.12*(0.85+0.15*{beat}(2*t))*({tones})" for beat in ("sin", "cos"))
    sound = (
        ffmpeg.input(f"aevalsrc='{left}|{right}':s=48000:d={CLIP_S}", format="lavfi")
        .filter("afade", type="in", duration=0.4, curve="hsin")
        .filter("afade", type="out", start_time=CLIP_S - 0.8, duration=0.8, curve="hsin")
    )
    with written_whole(path) as work:
        output = ffmpeg.output(
            picture,
            sound,
            str(work),
            **{"c:v": "libx264", "c:a": "aac", "b:a": "128k", "frames:v": CLIP_FRAMES},
            crf=16,
            preset="veryfast",
            pix_fmt="yuv420p",
            movflags="+faststart",
        )
        quiet = ["-hide_banner", "-nostdin", "-loglevel", "error"]
        command = ffmpeg.compile(output, cmd=[str(program.path), *quiet])
        done = subprocess.run(command, capture_output=True, check=False, **detached())
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip()
            raise FfmpegError(
                f"the sample clip could not be made. {said}",
                hint=f"{program.path} needs libx264; set IMAGEIO_FFMPEG_EXE to another ffmpeg.",
            )


def _camera() -> dict[str, str]:
    """Return the perspective filter's corners: what the camera sees, turned, in pixels."""
    tall = CLIP_WH[1] / CLIP_WH[0]
    corners = {}
    for number, (right, down) in enumerate([(-1, -1), (1, -1), (-1, 1), (1, 1)]):
        across, along = f"({right}*{HALF})", f"({down * tall}*{HALF})"
        corners[f"x{number}"] = f"W*({X}+{across}*cos({TURN})-{along}*sin({TURN}))"
        corners[f"y{number}"] = f"H*({Y}+{across}*sin({TURN})+{along}*cos({TURN}))"
    return corners


def _carried(package: str, path: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ModelError(
            f"the sample portraits need {package}, which is not installed",
            hint="Run: pip install -r requirements.txt",
        )
    return Path(spec.submodule_search_locations[0]) / path
