"""Frames into a video, by an ffmpeg pipe: no frame touches the disk.

Sound and subtitles come from the source file itself. The whole command is tried on one frame
before the first real one, the file is opened again after the last, and its name comes last.
"""

import subprocess
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from math import ceil
from pathlib import Path
from types import TracebackType
from typing import Any

import cv2
import ffmpeg
import numpy as np

from facefusion_ui.arrays import Frame, check_shape
from facefusion_ui.errors import FfmpegError, InputError, OutputError
from facefusion_ui.media.colour import from_bgr, output_colour
from facefusion_ui.media.encoders import check_encoder, encoder_options
from facefusion_ui.media.ffmpeg import COMMON, STALL_S, Child, detached, find_ffmpeg
from facefusion_ui.media.files import check_space, discard, disk_full, give_name, work_path
from facefusion_ui.media.info import MediaInfo
from facefusion_ui.media.tracks import TrackPlan, plan_tracks
from facefusion_ui.media.video import frame_range
from facefusion_ui.media.video_file import count_frames
from facefusion_ui.notices import Warned
from facefusion_ui.settings import VideoEncoder, VideoPreset

FINISH_S = 1800.0  # moving the index of a very long film to its front, on a slow disk
LEAST_BYTES_PER_PIXEL = 0.005  # of a frame, at a low quality: below this the disk is surely full
FINE_CLOCK = 90_000  # ticks a second, at least: a late start is kept to the tick


class FrameWriter:
    """A video being written; a context manager. The file is there, whole, when the block ends well.

    Attributes:
        warnings: what the user should know; complete on entering.
    """

    def __init__(
        self,
        path: Path,
        info: MediaInfo,
        *,
        size_wh: tuple[int, int],
        fps: Fraction,
        encoder: VideoEncoder = "libx264",
        quality: int = 80,
        preset: VideoPreset = "veryfast",
        start: int | None = None,
        end: int | None = None,
        output_wh: tuple[int, int] | None = None,
    ) -> None:
        """Prepare to write frames of `size_wh` at `fps` to `path`.

        `info` is the clip the frames come from; its sound from frame `start` to `end` goes along.
        `output_wh` is the size to write, if another one.

        Raises:
            SettingsError: the container does not take the encoder, or the trim leaves no frame.
            OutputError: the disk has no room for it.
            FfmpegError: there is no ffmpeg.
        """
        assert info.fps is not None
        self._path = path
        self._info = info
        self._size_wh = size_wh
        self._fps = fps
        self._container = check_encoder(path.suffix.lower(), encoder)
        self._options = encoder_options(
            encoder, quality=quality, preset=preset, muxer=self._container.muxer
        )
        self._program = find_ffmpeg()
        self._first, self._last = frame_range(info, start, end)
        self._tracks = plan_tracks(info, self._container)
        self.warnings = list(self._tracks.warnings)

        wanted = output_wh or size_wh
        self._output_wh = wanted
        self._padding_wh = (0, 0)
        if encoder != "libvpx-vp9":  # the others halve the colours, so sides must be even
            self._output_wh = (wanted[0] + wanted[0] % 2, wanted[1] + wanted[1] % 2)
        if wanted == size_wh and self._output_wh != wanted:
            self._padding_wh = (wanted[0] % 2, wanted[1] % 2)
            self.warnings.append(
                Warned(
                    f"The output is {self._output_wh[0]}x{self._output_wh[1]}: {encoder} needs "
                    f"even sides, so the edge of {wanted[0]}x{wanted[1]} is repeated once.",
                    "libvpx-vp9 keeps odd sizes.",
                )
            )
        seconds = (self._last - self._first) / info.fps
        pixels = self._output_wh[0] * self._output_wh[1] * int(seconds * fps)
        check_space(path, int(pixels * LEAST_BYTES_PER_PIXEL))
        self._written = 0
        self._stack = ExitStack()

    def __enter__(self) -> "FrameWriter":
        """Try the command on one frame, then start it.

        Raises:
            FfmpegError: the encoder is not in this ffmpeg or fails.
            OutputError: the output cannot be written.
        """
        self._work = work_path(self._path)
        with ExitStack() as stack:
            stack.callback(discard, self._work)
            self._try_command()
            self._child = stack.enter_context(Child(self._arguments(self._tracks)))
            self._stack = stack.pop_all()
        return self

    def write(self, frame: Frame) -> None:
        """Append `frame`, (H, W, 3) uint8 BGR of the size promised.

        Raises:
            FfmpegError: ffmpeg ended or stalled.
            OutputError: the disk is full.
        """
        check_shape("frame", frame, (self._size_wh[1], self._size_wh[0], 3))
        right, bottom = self._padding_wh
        if right or bottom:
            frame = np.asarray(
                cv2.copyMakeBorder(frame, 0, bottom, 0, right, cv2.BORDER_REPLICATE), np.uint8
            )
        if not self._child.write(np.ascontiguousarray(frame).data.cast("B")):
            self._child.finish(timeout_s=STALL_S)
            raise self._failure(self._child.last_words)
        self._written += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Finish the file, check it and name it; after an error, leave nothing."""
        with self._stack:
            if error is not None:
                return
            if self._child.finish(timeout_s=FINISH_S):
                raise self._failure(self._child.last_words)
            self._check()
            give_name(self._work, self._path)

    def _check(self) -> None:
        try:
            found = count_frames(self._work)
        except InputError as error:
            raise self._failure(str(error)) from error
        if not self._written or found != self._written:
            raise self._failure(f"{found} of {self._written} frames are in the file")

    def _try_command(self) -> None:
        said = self._trial(self._tracks)
        if said is None:
            return
        without = TrackPlan((), {}, ())
        if self._tracks.indices and self._trial(without) is None:
            self._tracks = replace(without, warnings=self._tracks.warnings)
            self.warnings.append(
                Warned(
                    f"The output has no sound: what goes with {self._info.path.name} could not be "
                    f"copied. {said}",
                    "Try another kind of output, such as .mkv.",
                )
            )
            return
        raise self._failure(said)

    def _trial(self, tracks: TrackPlan) -> str | None:
        """Run the command on one black frame; return ffmpeg's last words if it fails."""
        width, height = self._size_wh
        black = bytes((width + self._padding_wh[0]) * (height + self._padding_wh[1]) * 3)
        try:
            done = subprocess.run(
                self._arguments(tracks, {"t": 1}),
                input=black,
                capture_output=True,
                check=False,
                timeout=STALL_S,
                **detached(),
            )
        except subprocess.TimeoutExpired:
            return "It did not answer."
        if done.returncode == 0:
            return None
        return (
            "\n".join(done.stderr.decode(errors="replace").splitlines()[-8:]) or "It said nothing."
        )

    def _failure(self, said: str) -> FfmpegError | OutputError:
        if "No space left" in said:
            return disk_full(self._path)
        return FfmpegError(
            f"ffmpeg could not write {self._path.name} with {self._options['c:v']}. {said}",
            hint="Choose another output_video_encoder, or another ffmpeg by IMAGEIO_FFMPEG_EXE "
            f"(this one is {self._program.path}).",
        )

    def _arguments(self, tracks: TrackPlan, extra: dict[str, Any] | None = None) -> list[str]:
        info = self._info
        assert info.fps is not None
        width, height = self._size_wh
        trimmed_s = self._first / info.fps
        picture = ffmpeg.input(
            "pipe:",
            format="rawvideo",
            pix_fmt="bgr24",
            s=f"{width + self._padding_wh[0]}x{height + self._padding_wh[1]}",
            framerate=str(self._fps),
        )
        video = from_bgr(picture["v"], info, size_wh=self._output_wh)
        options: dict[str, Any] = self._options | {"format": self._container.muxer}
        if info.start_s and not self._first:  # the picture begins later than the sound
            clock = self._fps.numerator * ceil(FINE_CLOCK / self._fps.numerator)
            late = round(info.start_s * clock)
            video = video.filter("settb", f"1/{clock}").filter("setpts", f"PTS+{late}")
            options["enc_time_base"] = f"1:{clock}"  # older ffmpeg rounds to whole frames
        streams = [video]
        if tracks.indices:
            cut: dict[str, Any] = {}
            skipped_s = info.start_s + float(trimmed_s) if self._first else 0.0
            if self._first:
                cut["ss"] = f"{skipped_s:.6f}"
                options["copypriorss"] = 0  # or copied sound starts at the picture's last keyframe
            if self._last < info.frames:
                ends_s = info.start_s + float(self._last / info.fps)
                cut["t"] = f"{ends_s - skipped_s:.6f}"
            source = ffmpeg.input(
                f"file:{info.path}", format=info.format, protocol_whitelist="file,pipe", **cut
            )
            streams += [source[str(index)] for index in tracks.indices]
            options |= tracks.options | {"map_metadata": 1}
        if self._container.muxer in ("mp4", "mov"):
            options["movflags"] = "+faststart"
        colour = output_colour(info)
        tags = {
            "color_range": colour.range,
            "color_primaries": colour.primaries,
            "color_trc": colour.transfer,
            "colorspace": colour.matrix,
        }
        options |= {name: value for name, value in tags.items() if value}
        output = ffmpeg.output(
            *streams,
            f"file:{self._work}",
            fps_mode="passthrough",
            **options,
            **(extra or {}),
        )
        return [*ffmpeg.compile(output, cmd=[str(self._program.path), *COMMON])]
