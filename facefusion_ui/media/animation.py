"""Animated GIF, WebP and PNG: read and written with the timing of each frame, through Pillow.

An animation lives on two timelines: its stored frames, each with a duration, and the steady ticks
of `MediaInfo.fps` that a video needs. Trims count ticks on both.
"""

from bisect import bisect_right
from collections.abc import Iterator
from fractions import Fraction
from itertools import accumulate, pairwise
from pathlib import Path
from types import TracebackType

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from facefusion_ui.arrays import Frame, check_shape
from facefusion_ui.errors import InputError, OutputError
from facefusion_ui.media.files import written_whole
from facefusion_ui.media.info import MediaInfo
from facefusion_ui.media.picture_file import opened_picture
from facefusion_ui.media.video import frame_range
from facefusion_ui.notices import Warned

FORMATS = {".gif": "GIF", ".webp": "WEBP", ".png": "PNG", ".apng": "PNG"}
MOST_BYTES = 1_500_000_000  # Pillow holds an animation whole while it writes
GIF_TICK_MS = 10
FASTEST_GIF = Fraction(50)  # browsers slow down what claims to be faster
OPAQUE_IN_GIF = 128  # alpha from here on is shown
CLEAR_INDEX = 255  # the palette entry that is see-through


def shown_frames(info: MediaInfo, first: int, last: int, fps: Fraction | None) -> list[int]:
    """Return which stored frame each output frame is.

    Args:
        first, last: the range of `info.fps` ticks.
        fps: steady output rate; None: each stored frame of the range once.
    """
    assert info.fps is not None
    ends_ms = list(accumulate(info.durations_ms))
    if fps is None:
        ends = [round(end_ms * info.fps / 1000) for end_ms in ends_ms]
        starts = [0, *ends[:-1]]
        spans = enumerate(zip(starts, ends, strict=True))
        return [index for index, (start, end) in spans if start < last and end > first]
    count = max(1, round((last - first) * fps / info.fps))
    times_ms = [(first / info.fps + tick / fps) * 1000 for tick in range(count)]
    # a quarter of a tick later, because stored times were rounded to milliseconds
    return [
        min(bisect_right(ends_ms, time_ms + 250 / info.fps), len(ends_ms) - 1)
        for time_ms in times_ms
    ]


class AnimationReader:
    """The frames of an animation, (H, W, 3) uint8 BGR; the protocol of `FrameReader`."""

    def __init__(
        self,
        info: MediaInfo,
        *,
        start: int | None = None,
        end: int | None = None,
        fps: Fraction | None = None,
        for_video: bool,
    ) -> None:
        """Prepare to read; `for_video` makes frames steady and lays them onto black.

        Raises:
            SettingsError: the trim leaves no frame.
        """
        assert info.fps is not None
        self.info = info
        self.size_wh = info.size_wh
        self.fps = fps or info.fps
        self.warnings: list[Warned] = []
        steady = for_video or self.fps != info.fps
        first, last = frame_range(info, start, end)
        self._shown = shown_frames(info, first, last, self.fps if steady else None)
        self.total = len(self._shown)
        self._flattens = for_video and info.has_alpha
        if self._flattens:
            self.warnings.append(
                Warned(
                    f"{info.path.name} is transparent in places; the output shows black there.",
                    "Write a .webp or .png to keep it.",
                )
            )

    def __enter__(self) -> "AnimationReader":
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is held between frames that needs closing."""

    def __iter__(self) -> Iterator[Frame]:
        """Yield the frames.

        Raises:
            InputError: the file is damaged.
        """
        for pixels in _stored_frames(self.info, self._shown):
            frame = pixels[..., 2::-1]
            if self._flattens:
                share = pixels[..., 3:].astype(np.float32) / 255
                frame = np.rint(frame * share).astype(np.uint8)
            yield np.ascontiguousarray(frame)


class AnimationWriter:
    """An animation being written; the protocol of `FrameWriter`."""

    def __init__(
        self,
        path: Path,
        info: MediaInfo,
        *,
        size_wh: tuple[int, int],
        fps: Fraction,
        quality: int = 80,
        start: int | None = None,
        end: int | None = None,
        output_wh: tuple[int, int] | None = None,
    ) -> None:
        """Prepare to write frames of `size_wh`, timed as in `info`, or steady at another `fps`.

        Raises:
            SettingsError: the trim leaves no frame.
            OutputError: too long to be held in memory.
        """
        assert info.fps is not None
        self._path = path
        self._format = FORMATS[path.suffix.lower()]
        self._size_wh = size_wh
        self._output_wh = output_wh or size_wh
        self._quality = quality
        self._images: list[Image.Image] = []
        self.warnings: list[Warned] = []
        first, last = frame_range(info, start, end)
        self._alphas: Iterator[NDArray[np.uint8]] | None = None
        if info.kind == "animation":
            stored = fps == info.fps
            shown = shown_frames(info, first, last, None if stored else fps)
            self._loop = info.loop
            self._durations_ms = [info.durations_ms[index] for index in shown]
            if not stored:
                self._durations_ms = self._steady_ms(len(shown), fps)
            if info.has_alpha:
                self._alphas = (pixels[..., 3] for pixels in _stored_frames(info, shown))
        else:
            self._loop = 0
            count = max(1, round((last - first) * fps / info.fps))
            self._durations_ms = self._steady_ms(count, fps)
            if any(track.kind == "audio" for track in info.tracks):
                self.warnings.append(
                    Warned(
                        f"A {path.suffix} has no sound; the clip's is left out.", "Write a .mp4."
                    )
                )
        pixels = self._output_wh[0] * self._output_wh[1] * len(self._durations_ms)
        if pixels * (1 if self._format == "GIF" else 4) > MOST_BYTES:
            raise OutputError(
                f"a {path.suffix} of {len(self._durations_ms)} frames of "
                f"{self._output_wh[0]}x{self._output_wh[1]} does not fit in memory",
                hint="Write a .mp4, or trim or scale the clip down.",
            )

    def __enter__(self) -> "AnimationWriter":
        return self

    def write(self, frame: Frame) -> None:
        """Append `frame`, (H, W, 3) uint8 BGR of the size promised."""
        check_shape("frame", frame, (self._size_wh[1], self._size_wh[0], 3))
        alpha = next(self._alphas) if self._alphas else None
        rgb = np.asarray(_resized(frame, self._output_wh)[..., ::-1])
        if alpha is not None:
            alpha = _resized(alpha, self._output_wh)
        if self._format == "GIF":
            self._images.append(_with_palette(rgb, alpha))
        else:
            pixels = rgb if alpha is None else np.dstack([rgb, alpha])
            self._images.append(Image.fromarray(np.ascontiguousarray(pixels)))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Write the file, check it and name it; after an error, leave nothing."""
        if error is not None:
            return
        if not self._images:
            raise OutputError(f"no frame came for {self._path.name}", hint="Check the input.")
        with written_whole(self._path) as work:
            self._save(work)

    def _save(self, work: Path) -> None:
        options: dict[str, object] = {"duration": self._durations_ms[: len(self._images)]}
        if self._loop is not None:
            options["loop"] = self._loop
        elif self._format != "GIF":
            options["loop"] = 1
        if self._format == "WEBP":
            options |= {"quality": max(1, self._quality), "exact": True}
        if self._alphas and self._format == "GIF":
            options |= {"disposal": 2, "transparency": CLEAR_INDEX}
        first, *others = self._images
        with work.open("xb") as file:
            first.save(file, self._format, save_all=True, append_images=others, **options)
        with opened_picture(work) as image:
            if image is None:
                raise OutputError(f"{self._path.name} came out unreadable", hint="Write a .mp4.")
            image.load()

    def _steady_ms(self, count: int, fps: Fraction) -> list[int]:
        tick = GIF_TICK_MS if self._format == "GIF" else 1
        ends_ms = [round(index * 1000 / fps / tick) * tick for index in range(count + 1)]
        return [end - start for start, end in pairwise(ends_ms)]


def _stored_frames(info: MediaInfo, indices: list[int]) -> Iterator[NDArray[np.uint8]]:
    """Yield the stored frames `indices`, ascending with repeats, as (H, W, 4) uint8 RGBA."""
    with opened_picture(info.path) as image:
        if image is None:
            raise InputError(f"{info.path.name} has changed", hint="Start again.")
        held, pixels = -1, np.empty((0, 0, 4), np.uint8)
        for index in indices:
            if index != held:
                image.seek(index)
                held, pixels = index, np.asarray(image.convert("RGBA"))
            yield pixels


def _with_palette(rgb: NDArray[np.uint8], alpha: NDArray[np.uint8] | None) -> Image.Image:
    image = Image.fromarray(np.ascontiguousarray(rgb))
    palette = image.quantize(256 if alpha is None else CLEAR_INDEX)
    image = image.quantize(palette=palette, dither=Image.Dither.FLOYDSTEINBERG)
    if alpha is not None:
        hidden = np.where(alpha < OPAQUE_IN_GIF, 255, 0).astype(np.uint8)
        image.paste(CLEAR_INDEX, mask=Image.fromarray(hidden))
    return image


def _resized(pixels: NDArray[np.uint8], size_wh: tuple[int, int]) -> NDArray[np.uint8]:
    if pixels.shape[1::-1] == size_wh:
        return pixels
    way = cv2.INTER_LINEAR if size_wh[0] > pixels.shape[1] else cv2.INTER_AREA
    return np.asarray(cv2.resize(pixels, size_wh, interpolation=way), np.uint8)
