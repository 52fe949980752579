"""What each kind of model does: arrays in, arrays out, one method each.

Adapters implement these in the leaf folders. They never crop, paste, batch, choose a device or open
a file; the card says which template and size they want.
"""

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from facefusion_ui.arrays import Crop, Embedding, Frame, Points68
from facefusion_ui.faces import AlignedFace, Face, Source, SwappedFace


class Network(Protocol):
    """An opened ONNX graph, handed to adapters whose card says `runtime="onnx"`."""

    @property
    def input_shapes(self) -> Mapping[str, tuple[int | str | None, ...]]:
        """Input names in graph order, with their declared shapes."""
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
    def embed(self, frame: Frame, face: Face) -> Embedding:
        """Describe `face` by a vector; the card's `metric` says how two are compared."""
        ...


class Swapper(Protocol):
    def swap(self, source: Source, target: AlignedFace) -> SwappedFace:
        """Put `source` on `target`'s crop; same size, same pose, same expression."""
        ...


class Enhancer(Protocol):
    def enhance(self, target: AlignedFace) -> Crop:
        """Restore the crop; same size."""
        ...


class Upscaler(Protocol):
    def upscale(self, frame: Frame) -> Frame:
        """Enhance a whole frame; its size times the card's `scale`."""
        ...
