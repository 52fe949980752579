"""Opening a video with PyAV (ffmpeg's libraries), and what it is before it is decoded.

All packets of the picture are counted, none but the first is decoded.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import BinaryIO

import av
import numpy as np
from av.container import InputContainer
from av.video.stream import VideoStream
from numpy.typing import NDArray

from facefusion_ui.errors import InputError
from facefusion_ui.media.info import Colour, MediaInfo, Track, TrackKind
from facefusion_ui.media.picture_file import read_head
from facefusion_ui.media.timing import find_rate, frame_ticks

VIDEO_FORMATS = (  # only containers: a playlist would name other files
    "mov,matroska,avi,mpegts,mpeg,mpegvideo,flv,live_flv,asf,ogg,mxf,mxf_opatom,wtv,nut,ivf,rm,dv,"
    "h264,hevc,m4v,obu,av1,vc1,yuv4mpegpipe,gxf,mjpeg,3dostr,swf,bink"
)
DEFAULT_RATE = Fraction(25)  # of a video without time stamps that claims no rate
BUFFER_BYTES = 1 << 20
CUT_S = 0.5  # a file that ends this long before its header says is cut off

SUPPORTED = "Photos: JPEG, PNG, WebP, AVIF, BMP, TIFF, GIF; videos: MP4, MOV, MKV, WebM and more."

_PRIMARIES = {1: "bt709", 4: "bt470m", 5: "bt470bg", 6: "smpte170m", 7: "smpte240m", 8: "film"}
_PRIMARIES |= {9: "bt2020", 10: "smpte428", 11: "smpte431", 12: "smpte432"}
_TRANSFERS = {1: "bt709", 4: "gamma22", 5: "gamma28", 6: "smpte170m", 7: "smpte240m", 8: "linear"}
_TRANSFERS |= {11: "iec61966-2-4", 13: "iec61966-2-1", 14: "bt2020-10", 15: "bt2020-12"}
_TRANSFERS |= {16: "smpte2084", 18: "arib-std-b67"}
_MATRICES = {0: "gbr", 1: "bt709", 4: "fcc", 5: "bt470bg", 6: "smpte170m", 7: "smpte240m"}
_MATRICES |= {9: "bt2020nc"}
_RANGES = {1: "tv", 2: "pc"}
HDR_TRANSFERS = ("smpte2084", "arib-std-b67")


def describe_video(path: Path) -> MediaInfo:
    """Say what the video `path` is.

    Raises:
        InputError: it is no video, or nothing of it can be read.
    """
    try:
        with _opened_video(path) as container:
            return _describe(path, container)
    except av.FFmpegError as error:
        raise _not_media(path, error) from error


def count_frames(path: Path) -> int:
    """Return how many frames the video `path` shows, without decoding them.

    Raises:
        InputError: it is no video.
    """
    try:
        with _opened_video(path) as container:
            return len(_read_stamps(container, container.streams.video[0]).times_s)
    except (av.FFmpegError, IndexError) as error:
        raise InputError(f"{path.name} is not a video: {error}", hint=SUPPORTED) from error


class _Nameless:
    """A file without its name, which could be a pattern or make its ending be believed."""

    def __init__(self, file: BinaryIO) -> None:
        self.read, self.seek, self.tell = file.read, file.seek, file.tell


@contextmanager
def _opened_video(path: Path) -> Iterator[InputContainer]:
    options = {"format_whitelist": VIDEO_FORMATS, "protocol_whitelist": "file"}
    with (
        path.open("rb") as file,
        av.open(_Nameless(file), "r", options=options, buffer_size=BUFFER_BYTES) as video,
    ):
        yield video


def _not_media(path: Path, error: av.FFmpegError) -> InputError:
    if b"moov" in str(error).encode() or _lacks_index(path):
        return InputError(
            f"{path.name} is cut off: its index, at the end of the file, is missing",
            hint="Copy or download the whole file again.",
        )
    return InputError(f"{path.name} is not a photo or a video", hint=SUPPORTED)


def _lacks_index(path: Path) -> bool:
    head = read_head(path)
    return head[4:8] == b"ftyp"  # an MP4 or MOV that does not open


def _describe(path: Path, container: InputContainer) -> MediaInfo:
    form = container.format.name.split(",")[0]
    stream = container.streams.best("video")
    if not isinstance(stream, VideoStream) or _is_cover(stream):
        raise InputError(f"{path.name} is not a photo or a video", hint=SUPPORTED)

    origin_s = (container.start_time or 0) / 1e6
    stamps = _read_stamps(container, stream)
    times_s = stamps.times_s
    count = len(times_s)
    if not count:
        raise InputError(f"{path.name} has no frames", hint="Copy or download it again.")
    hints = [rate for rate in (stream.guessed_rate, stream.average_rate) if rate]
    rate, variable = (hints or [DEFAULT_RATE])[0], False
    declared = stream.frames if form == "mov" else 0  # AVI counts repeats that are not stored
    promised_s = (container.duration or 0) / 1e6 + origin_s
    if not declared and stamps.end_s < promised_s - CUT_S:
        declared = count + round((promised_s - stamps.end_s) * rate)
    is_cut = stamps.stored < declared
    if stamps.timed and count > 1 and times_s[-1] > times_s[0]:
        if is_cut:  # frames that others were to fill lie at the end; the claimed rate holds
            count = int(frame_ticks(times_s, rate)[-1]) + 1
        else:
            rate, variable = find_rate(times_s, hints)
    if variable:
        count = int(frame_ticks(times_s, rate)[-1]) + _last_ticks(stream, times_s, rate)

    picture = _first_frame(container, stream)
    context = stream.codec_context
    width, height = (picture or context).width, (picture or context).height
    if not width or not height:
        raise InputError(f"{path.name} has no picture that can be read", hint=SUPPORTED)
    rotation = picture.rotation % 360 if picture else 0
    aspect = stream.sample_aspect_ratio or Fraction(1)
    if rotation in (90, 270):
        width, height, aspect = height, width, 1 / aspect
    colour = _colour(context)
    layout = context.format
    return MediaInfo(
        path,
        "video",
        form,
        (width, height),
        frames=count,
        declared_frames=declared if is_cut else None,
        fps=rate,
        variable_rate=variable,
        has_alpha=stream.metadata.get("alpha_mode") == "1"
        or (layout is not None and any(part.is_alpha for part in layout.components)),
        hdr=colour.transfer in HDR_TRANSFERS,
        colour=colour,
        rotation=rotation,
        sample_aspect=aspect,
        start_s=float(times_s[0]) - origin_s if stamps.timed else 0.0,
        timed=stamps.timed,
        codec=context.codec.canonical_name,
        stream_index=stream.index,
        tracks=tuple(_tracks(container, stream)),
    )


@dataclass(frozen=True)
class _Stamps:
    """When frames show, (N,) float64 ascending seconds, and how far the file goes.

    `timed`: the file says when; else `times_s` is zeros. `stored`: packets of the picture, shown or
    not. `end_s`: end of the last packet of any stream.
    """

    times_s: NDArray[np.float64]
    timed: bool
    stored: int
    end_s: float


def _read_stamps(container: InputContainer, stream: VideoStream) -> _Stamps:
    shown: list[int | None] = []
    sent: list[int | None] = []
    stored = 0
    end_s = 0.0
    hides_frames = stream.codec_context.name == "vp8"
    try:
        for packet in container.demux():
            stamp = packet.dts if packet.pts is None else packet.pts
            if stamp is not None and packet.time_base:
                end_s = max(end_s, float((stamp + (packet.duration or 0)) * packet.time_base))
            if packet.stream_index != stream.index or (not packet.size and packet.dts is None):
                continue
            stored += 1
            if not packet.size or packet.is_discard:
                continue
            if hides_frames and not bytes(packet)[0] & 0x10:  # RFC 6386, 9.1: show_frame
                continue
            shown.append(packet.pts)
            sent.append(packet.dts)
    except av.FFmpegError:
        pass  # cut off: what came before is the clip
    for stamps in (shown, sent):
        known = [stamp for stamp in stamps if stamp is not None]
        if len(known) == len(stamps) and stream.time_base:
            times_s = np.sort(np.array(known, np.float64)) * float(stream.time_base)
            return _Stamps(times_s, True, stored, end_s)
    return _Stamps(np.zeros(len(shown)), False, stored, end_s)


def _last_ticks(stream: VideoStream, times_s: NDArray[np.float64], rate: Fraction) -> int:
    """Return how many ticks the last frame of an uneven clip is shown."""
    if not stream.duration or not stream.time_base:
        return 1
    start = stream.start_time or 0
    left_s = float((start + stream.duration) * stream.time_base) - float(times_s[-1])
    return max(1, round(left_s * rate))


def _first_frame(container: InputContainer, stream: VideoStream) -> av.VideoFrame | None:
    try:
        container.seek(container.start_time or 0)
        return next(container.decode(stream), None)
    except av.FFmpegError:
        return None


def _colour(context: av.VideoCodecContext) -> Colour:
    wide = (context.pix_fmt or "").startswith("yuvj")
    return Colour(
        range="pc" if wide else _RANGES.get(int(context.color_range or 0)),
        primaries=_PRIMARIES.get(int(context.color_primaries or 0)),
        transfer=_TRANSFERS.get(int(context.color_trc or 0)),
        matrix=_MATRICES.get(int(context.colorspace)) if context.colorspace is not None else None,
    )


def _is_cover(stream: VideoStream) -> bool:
    return bool(stream.disposition & type(stream.disposition).attached_pic)


def _tracks(container: InputContainer, picture: VideoStream) -> Iterator[Track]:
    for stream in container.streams:
        if stream.index == picture.index:
            continue
        context = stream.codec_context
        kind: TrackKind = stream.type if stream.type in _TRACK_KINDS else "data"  # type: ignore[assignment]
        yield Track(
            index=stream.index,
            kind=kind,
            codec=None if context is None else context.codec.canonical_name,
            language=stream.language,
            channels=int(getattr(context, "channels", 0) or 0),
        )


_TRACK_KINDS = ("audio", "subtitle", "attachment", "video")
