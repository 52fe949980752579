"""A face found in a frame, a face cut from it, and the person whose face is put there."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from facefusion_ui.arrays import Affine, Box, Crop, Embedding, Frame, Mask, Points5, Points68


@dataclass(frozen=True, eq=False)
class Cover:
    """Where a face may change, as models see it.

    Attributes:
        mask: (h, w) uint8; 255 may change, 0 stays.
        to_crop: maps the frame to the mask's pixels.
    """

    mask: NDArray[np.uint8]
    to_crop: Affine


@dataclass(frozen=True, eq=False)
class Face:
    """A face in a frame, in the frame's pixels.

    The last four are None until a step that needs them has asked for them.

    Attributes:
        embedding: what the recogniser that tells people apart says.
        identity: what the swapper is told of the person to put here; None: the source's own.
        cover: nothing changes outside it.
    """

    box: Box
    points: Points5
    score: float
    landmarks: Points68 | None = None
    embedding: Embedding | None = None
    identity: Embedding | None = None
    cover: Cover | None = None


@dataclass(frozen=True, eq=False)
class Portrait:
    """One picture of the source person: the whole frame and the face in it."""

    frame: Frame
    face: Face


@dataclass(frozen=True, eq=False)
class Source:
    """The person to put on the target, in the forms the swapper's card asks for.

    Attributes:
        portraits: at least one.
        embedding: the mean over the portraits, converted if the card names a converter.
        picture: the best portrait's face, cut to the card's source template.
        raw: `embedding` before it was converted.
    """

    portraits: tuple[Portrait, ...]
    embedding: Embedding | None = None
    picture: Crop | None = None
    raw: Embedding | None = None


@dataclass(frozen=True, eq=False)
class AlignedFace:
    """A face cut from a frame; points are in the crop's pixels, `to_crop` maps frame to crop."""

    crop: Crop
    to_crop: Affine
    points: Points5
    landmarks: Points68 | None


@dataclass(frozen=True, eq=False)
class SwappedFace:
    """What a swapper returns: the new crop and, if the model makes one, the mask it belongs in."""

    crop: Crop
    mask: Mask | None = None
