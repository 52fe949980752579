"""One way to read and one to write a clip, whether it is a video or an animation."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from facefusion_ui.arrays import Frame
from facefusion_ui.media.animation import (
    FASTEST_GIF,
    FORMATS,
    AnimationReader,
    AnimationWriter,
)
from facefusion_ui.media.encoders import CONTAINERS
from facefusion_ui.media.files import SUFFIXES
from facefusion_ui.media.info import MediaInfo
from facefusion_ui.media.video import FrameReader
from facefusion_ui.media.video_writer import FrameWriter
from facefusion_ui.notices import Warned
from facefusion_ui.settings import VideoEncoder, VideoPreset


class Reader(Protocol):
    """Frames, (H, W, 3) uint8 BGR of `size_wh`, on `fps`; a context manager, read once.

    `total` frames come, if nothing is damaged; `warnings` are complete when they have ended.
    """

    fps: Fraction
    size_wh: tuple[int, int]
    total: int
    warnings: list[Warned]

    def __enter__(self) -> Self: ...
    def __exit__(self, *details: object) -> None: ...
    def __iter__(self) -> Iterator[Frame]: ...


class Writer(Protocol):
    """A clip being written; whole under its name when the block ends well, else not there.

    `warnings` are complete on entering.
    """

    warnings: list[Warned]

    def __enter__(self) -> Self: ...
    def write(self, frame: Frame) -> None: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...


def output_suffix(info: MediaInfo, encoder: VideoEncoder) -> str:
    """Return the ending for an output nobody named: the target's own, else the one that fits."""
    own = info.path.suffix.lower()
    if info.kind == "image":
        return own if own in SUFFIXES["image"] else ".png"
    if own in SUFFIXES[info.kind] and (own in FORMATS or encoder in CONTAINERS[own].encoders):
        return own
    return ".webm" if encoder == "libvpx-vp9" else ".mp4"


def open_reader(
    info: MediaInfo,
    output_path: Path,
    *,
    start: int | None = None,
    end: int | None = None,
    fps: Fraction | None = None,
) -> Reader:
    """Return a reader of `info` for an output at `output_path`.

    Args:
        start, end: the first frame, and the one after the last, counted from 0 at `info.fps`.
        fps: rate of the output; `info.fps` if None. Time keeps its pace: frames repeat or go.

    Raises:
        SettingsError: the trim leaves no frame.
        FfmpegError: there is no ffmpeg.
    """
    suffix = output_path.suffix.lower()
    if info.kind == "animation":
        for_video = suffix not in FORMATS
        return AnimationReader(info, start=start, end=end, fps=fps, for_video=for_video)
    rate = fps or info.fps
    assert rate is not None
    if suffix == ".gif":
        rate = min(rate, FASTEST_GIF)
    return FrameReader(info, start=start, end=end, fps=rate)


def open_writer(
    output_path: Path,
    info: MediaInfo,
    *,
    size_wh: tuple[int, int],
    fps: Fraction,
    encoder: VideoEncoder,
    quality: int,
    preset: VideoPreset,
    start: int | None = None,
    end: int | None = None,
    output_wh: tuple[int, int] | None = None,
) -> Writer:
    """Return a writer of `output_path` for frames of `size_wh` that came from `info`.

    Args:
        fps: the reader's.
        quality: 0..100.
        start, end: as for the reader; sound is cut to them.
        output_wh: the size to write, if another one.

    Raises:
        SettingsError: the container does not take the encoder.
        OutputError: the disk has no room, or the clip is too long for an animation.
        FfmpegError: there is no ffmpeg.
    """
    if output_path.suffix.lower() in FORMATS:
        return AnimationWriter(
            output_path,
            info,
            size_wh=size_wh,
            fps=fps,
            quality=quality,
            start=start,
            end=end,
            output_wh=output_wh,
        )
    return FrameWriter(
        output_path,
        info,
        size_wh=size_wh,
        fps=fps,
        encoder=encoder,
        quality=quality,
        preset=preset,
        start=start,
        end=end,
        output_wh=output_wh,
    )
