"""What each kind of model does: arrays in, arrays out, one method each.

Adapters implement these in the leaf folders. They never paste, batch, choose a device or open
a file; the card says which template and size they want.
"""

from collections.abc import Collection, Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from facefusion_ui.arrays import Crop, Embedding, FaceMaskRegion, Frame, Mask, Points68
from facefusion_ui.faces import AlignedFace, Face, Source, SwappedFace


class Network(Protocol):
    """An opened network, handed to adapters whose card says `runtime="onnx"` or "torch"."""

    @property
    def input_shapes(self) -> Mapping[str, tuple[int | str | None, ...]]:
        """Input names in graph order, with their declared shapes."""
        ...

    @property
    def output_names(self) -> tuple[str, ...]:
        """Output names in graph order."""
        ...

    def last_initializer(self) -> NDArray[np.generic]:
        """Return the last array stored in the graph; inswapper keeps its projection there."""
        ...

    def __call__(self, feeds: Mapping[str, NDArray[np.generic]]) -> list[NDArray[np.float32]]:
        """Run once; outputs in graph order, owned by the caller."""
        ...


class Detector(Protocol):
    def detect(self, frame: Frame, *, size_px: int, score: float) -> list[Face]:
        """Find faces.

        Args:
            frame: (H, W, 3) uint8, BGR. Not modified.
            size_px: long edge of the picture the network sees; `frame` is shrunk to it, never
                enlarged.
            score: faces below this are dropped, 0..1.

        Returns:
            Faces in `frame`'s pixels, best first; boxes may reach beyond the frame. Empty: no face.
        """
        ...


class Landmarker(Protocol):
    def landmarks(self, frame: Frame, face: Face) -> Points68:
        """Return the 68 landmarks of `face`, in `frame`'s pixels."""
        ...


class Recognizer(Protocol):
    def embed(self, face: AlignedFace) -> Embedding:
        """Describe a face by a vector; the card's `metric` says how two are compared."""
        ...


class Converter(Protocol):
    def convert(self, embedding: Embedding) -> Embedding:
        """Turn one recogniser's description of a face into the form another network knows."""
        ...


class Swapper(Protocol):
    def swap(self, source: Source, target: AlignedFace) -> SwappedFace:
        """Put `source` on `target`'s crop; same size, same pose, same expression."""
        ...


class Enhancer(Protocol):
    def enhance(self, target: AlignedFace, *, weight: float) -> Crop:
        """Restore the crop; same size.

        Args:
            weight: 0..1; 1 keeps nearest to the face that is there, 0 paints the finest one. Models
                without such a dial do not heed it.
        """
        ...


class Upscaler(Protocol):
    def upscale(self, frame: Frame) -> Frame:
        """Enhance a whole frame; its size times the card's `scale`."""
        ...


class Occluder(Protocol):
    def mask(self, crop: Crop) -> Mask:
        """Return where the face is seen and nothing covers it: the crop's size, 1 is face."""
        ...


class Parser(Protocol):
    def mask(self, crop: Crop, regions: Collection[FaceMaskRegion]) -> Mask:
        """Return where those regions of the face are: the crop's size, 1 is within."""
        ...
