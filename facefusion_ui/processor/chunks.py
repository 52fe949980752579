"""Frames in hand on their way through the stages of a recipe."""

from collections.abc import Callable
from dataclasses import dataclass, field

import cv2
import numpy as np
from numpy.typing import NDArray

from facefusion_ui.arrays import Frame
from facefusion_ui.cards import ModelCard
from facefusion_ui.faces import Face
from facefusion_ui.settings import FrameFormat

JPEG_QUALITY = 95  # of frames that wait for the next stage


@dataclass
class Shot:
    """A frame on its way: `kept` is the picture, packed while it waits."""

    index: int
    kept: NDArray[np.uint8]
    faces: list[Face]


@dataclass
class Chunk:
    """Frames in hand. `repeats`: which of them are the frame before; `last`: the last one given."""

    pack: FrameFormat
    shots: list[Shot] = field(default_factory=list)
    repeats: list[bool] = field(default_factory=list)
    last: Frame | None = None


@dataclass(frozen=True)
class Stage:
    """A step that every frame passes: `model` is what it runs, if any."""

    model: ModelCard | None
    step: Callable[[int, Frame, list[Face]], tuple[Frame, list[Face]]]


def packed(frame: Frame, how: FrameFormat) -> NDArray[np.uint8]:
    """Return `frame` as it waits: itself, or a file's bytes in a row."""
    if how == "bmp":
        return frame
    options = [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY] if how == "jpg" else []
    _, coded = cv2.imencode(f".{how}", frame, options)
    return np.asarray(coded, np.uint8).ravel()


def unpacked(kept: NDArray[np.uint8]) -> Frame:
    """Return the frame that `packed` was given."""
    if kept.ndim == 3:
        return kept
    return np.asarray(cv2.imdecode(kept, cv2.IMREAD_COLOR), np.uint8)
