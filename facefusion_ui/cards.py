"""What the product knows about a model before opening it.

A leaf module lists its models in `CARDS`; everything else (dropdown, flag, weights, tests) follows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Task = Literal[
    "face_detector",
    "face_landmarker",
    "face_recognizer",
    "face_swapper",
    "face_enhancer",
    "frame_enhancer",
]

Need = Literal["landmarks", "embedding"]

Template = Literal[
    "region", "arcface_112_v1", "arcface_112_v2", "arcface_128", "ffhq_512", "mtcnn_512"
]
"""How a face is cut out. `region` is the face's own rectangle of the frame, pixel for pixel."""


@dataclass(frozen=True)
class Licence:
    """What binds the user of a model's weights."""

    name: str
    commercial_use: bool
    url: str


@dataclass(frozen=True)
class Weights:
    """A weights file that an installed package carries.

    `path` is relative to the folder of the import package `package`.
    """

    package: str
    path: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True)
class ModelCard:
    """One model.

    Attributes:
        open: builds the adapter. It gets a `Network` (runtime "onnx"), the weights' `Path` ("file",
            for libraries that read their own format), or nothing ("none").
        bytes_per_pixel: memory that a run takes beside the weights, for each pixel of the network's
            input; from a profile of ONNX Runtime on the processor, where it is linear.
        half: name of the card of the same network in half precision, if there is one.
        halo_px: how far around a tile the network looks; None: it cannot work in tiles.
        frees_shape: the file fixes its inputs' batch and size, though the network takes any.
        template, size_px: how the crop is cut; size 0 means the frame's own scale.
        needs: what must be known about both faces besides the five points.
        metric: how two embeddings are compared (recognisers only).
        scale: output size over input size (frame enhancers only).
    """

    name: str
    task: Task
    summary: str
    licence: Licence
    open: Callable[..., object]
    runtime: Literal["onnx", "file", "none"] = "none"
    weights: Weights | None = None
    bytes_per_pixel: float = 0.0
    half: str | None = None
    halo_px: int | None = None
    frees_shape: bool = False
    template: Template = "region"
    size_px: int = 0
    needs: frozenset[Need] = frozenset()
    metric: Literal["euclidean", "cosine"] = "cosine"
    scale: int = 1

    @property
    def all_needs(self) -> frozenset[Need]:
        """What the model and its template must know of a face besides the five points."""
        return self.needs | {"landmarks"} if self.template == "region" else self.needs
