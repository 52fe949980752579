"""Frames out of a video, by an ffmpeg pipe: no frame touches the disk.

The clip is put on a steady timeline at its base rate, so that frame i shows at i / fps and sound
stays in sync.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import ffmpeg
import numpy as np

from facefusion_ui.arrays import Frame
from facefusion_ui.errors import InputError, SettingsError
from facefusion_ui.media.colour import to_bgr
from facefusion_ui.media.ffmpeg import COMMON, STALL_S, Child, find_ffmpeg
from facefusion_ui.media.info import MediaInfo
from facefusion_ui.notices import Warned

SEEKABLE = ("mov", "matroska")  # their index leads to the exact frame
ALPHA_DECODERS = {"vp9": "libvpx-vp9", "vp8": "libvpx"}  # ffmpeg's own ones drop the alpha
ROUNDED_OFF = 2  # frames at the end ffmpeg may drop when it rounds times; -frames:v cuts to size


def frame_range(info: MediaInfo, start: int | None, end: int | None) -> tuple[int, int]:
    """Return the first frame used and the one after the last, of the readable ones.

    Raises:
        SettingsError: no frame is left.
    """
    first, last = start or 0, min(info.frames if end is None else end, info.frames)
    if first >= last:
        raise SettingsError(
            f"the trim from frame {first} to {last if end is None else end} leaves nothing of "
            f"{info.path.name}, which has {info.frames} frames",
            hint="Frames count from 0; trim_frame_end comes after trim_frame_start.",
        )
    return first, last


class FrameReader:
    """The frames of a video, (H, W, 3) uint8 BGR, turned upright; a context manager, read once.

    Attributes:
        fps: the rate the frames are on.
        size_wh: of each frame.
        total: how many will come, if nothing is damaged.
        warnings: what the user should know; complete when the frames have ended.
    """

    def __init__(
        self,
        info: MediaInfo,
        *,
        start: int | None = None,
        end: int | None = None,
        fps: Fraction | None = None,
        stall_s: float = STALL_S,
    ) -> None:
        """Prepare to read frames `start` (included) to `end` (not) of `info`, resampled to `fps`.

        Raises:
            SettingsError: the trim leaves no frame.
            FfmpegError: there is no ffmpeg.
        """
        assert info.fps is not None
        self.info = info
        self.fps = fps or info.fps
        self.size_wh = info.size_wh
        self.warnings: list[Warned] = []
        self._first, self._last = frame_range(info, start, end)
        self.total = self._ticks(self._last - self._first)
        promised = info.declared_frames or info.frames
        self._promised = self._ticks(min(promised, end or promised) - self._first)
        self._program = find_ffmpeg()
        self._stall_s = stall_s
        self._arguments = self._make_arguments()
        self._child: Child | None = None

    def __enter__(self) -> "FrameReader":
        self._child = Child(self._arguments, stall_s=self._stall_s)
        return self

    def __exit__(self, *details: object) -> None:
        assert self._child is not None
        self._child.__exit__(*details)

    def __iter__(self) -> Iterator[Frame]:
        """Yield the frames.

        Raises:
            InputError: not one frame could be read.
            FfmpegError: ffmpeg stalled.
        """
        assert self._child is not None
        width, height = self.size_wh
        count = 0
        while True:
            frame = np.empty((height, width, 3), np.uint8)
            if not self._child.read_into(frame.data.cast("B")):
                break
            count += 1
            yield frame
        self._child.finish(timeout_s=self._stall_s)
        self._report(count, self._child)

    def _report(self, count: int, child: Child) -> None:
        name = self.info.path.name
        if not count:
            raise InputError(
                f"no frame of {name} could be read. {child.last_words}".rstrip(),
                hint="The file is damaged; copy or download it again.",
            )
        slack = 0 if self.fps == self.info.fps else 1
        if count < self._promised - slack:
            self.warnings.append(
                Warned(
                    f"Only {count} of {self._promised} frames of {name} could be read; the output "
                    "ends there.",
                    "The file is damaged or cut off; copy or download it again.",
                )
            )
        elif child.message_count:
            self.warnings.append(
                Warned(
                    f"{name} is damaged in places: {count} of {self._promised} frames were read "
                    f"with {child.message_count} complaints of the decoder.",
                    "Look at the output; some frames may show blocks or stand still.",
                )
            )

    def _ticks(self, frames: int) -> int:
        assert self.info.fps is not None
        return max(1, round(frames * self.fps / self.info.fps))

    def _make_arguments(self) -> list[str]:
        info, rate = self.info, self.info.fps
        assert rate is not None
        options: dict[str, Any] = {"format": info.format, "protocol_whitelist": "file,pipe"}
        flatten = info.has_alpha and self._decodes_alpha(options)
        first, starts_at_s = self._first, info.start_s
        if not info.timed:
            options["r"] = str(rate)
        elif first and info.format in SEEKABLE and not info.variable_rate:
            options["ss"] = f"{info.start_s + (first - 0.5) / rate:.6f}"
            first, starts_at_s = 0, float(0.5 / rate)

        stream = ffmpeg.input(f"file:{info.path}", **options)[str(info.stream_index)]
        if info.timed:
            stream = stream.filter("fps", str(rate), start_time=f"{starts_at_s:.6f}")
            stream = stream.filter("tpad", stop=ROUNDED_OFF, stop_mode="clone")
        if first:
            stream = stream.filter("trim", start_frame=first).filter("setpts", "PTS-STARTPTS")
        if self.fps != rate:
            stream = stream.filter("fps", str(self.fps))
        stream = to_bgr(stream, info, tone_map=self._tone_maps(), flatten=flatten)
        output = stream.output(
            "pipe:",
            format="rawvideo",
            pix_fmt="bgr24",
            fps_mode="passthrough",
            **{"frames:v": self.total},
        )
        return [*ffmpeg.compile(output, cmd=[str(self._program.path), "-nostdin", *COMMON])]

    def _decodes_alpha(self, options: dict[str, Any]) -> bool:
        decoder = ALPHA_DECODERS.get(self.info.codec or "")
        sees_alpha = decoder is None or self._program.lists("decoders", decoder)
        if decoder and sees_alpha:
            options["c:v"] = decoder
        self.warnings.append(
            Warned(
                f"{self.info.path.name} is transparent in places; the output shows "
                f"{'black' if sees_alpha else 'what was hidden'} there.",
                "Video outputs have no transparency.",
            )
        )
        return sees_alpha

    def _tone_maps(self) -> bool:
        if not self.info.hdr:
            return False
        able = all(self._program.lists("filters", name) for name in ("zscale", "tonemap"))
        self.warnings.append(
            Warned(
                f"{self.info.path.name} is an HDR clip; the output is ordinary 8-bit video.",
                "Colours are tone-mapped to bt709."
                if able
                else "This ffmpeg cannot tone-map, so colours look pale; use one with zscale.",
            )
        )
        return able
