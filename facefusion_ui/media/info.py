"""What is known about a photo or a clip before it is read."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Literal

Kind = Literal["image", "animation", "video"]
TrackKind = Literal["audio", "subtitle", "attachment", "data", "video"]


@dataclass(frozen=True)
class Colour:
    """How a video's numbers stand for colours, by ffmpeg's names; None where the file is silent."""

    range: str | None = None
    primaries: str | None = None
    transfer: str | None = None
    matrix: str | None = None


BT709 = Colour(range="tv", primaries="bt709", transfer="bt709", matrix="bt709")


@dataclass(frozen=True)
class Track:
    """A stream of a video file beside its picture. `codec` is None when nothing here knows it."""

    index: int
    kind: TrackKind
    codec: str | None
    language: str | None = None
    channels: int = 0


@dataclass(frozen=True)
class MediaInfo:
    """A photo, an animation or a video.

    Attributes:
        path: absolute.
        format: the container as ffmpeg or Pillow calls it ("mov", "JPEG").
        size_wh: after rotation, in pixels.
        frames: how many frames `FrameReader` gives at `fps`, if nothing is damaged. A clip whose
            frames come at uneven times counts on its constant-rate timeline.
        declared_frames: how many the header promises, for a file that is cut off; else None.
        fps: the base rate; None for an image.
        variable_rate: frames come at uneven times; they are put on the `fps` timeline.
        rotation: degrees counter-clockwise the stored picture is turned for showing.
        sample_aspect: width over height of a pixel, after rotation.
        start_s: when the first frame shows, from the start of the file.
        timed: the file says when its frames show; else they simply follow each other.
        durations_ms: of each stored frame, animations only.
        loop: how often an animation repeats, 0 for ever; None: it plays once.
    """

    path: Path
    kind: Kind
    format: str
    size_wh: tuple[int, int]
    frames: int = 1
    declared_frames: int | None = None
    fps: Fraction | None = None
    variable_rate: bool = False
    has_alpha: bool = False
    hdr: bool = False
    colour: Colour = Colour()
    rotation: int = 0
    sample_aspect: Fraction = Fraction(1)
    start_s: float = 0.0
    timed: bool = True
    codec: str | None = None
    stream_index: int = 0
    tracks: tuple[Track, ...] = ()
    durations_ms: tuple[int, ...] = ()
    loop: int | None = None
