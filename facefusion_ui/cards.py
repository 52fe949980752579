"""What the product knows about a model before opening it.

A leaf module lists its models in `CARDS`; everything else (dropdown, flag, weights, tests) follows.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Task = Literal[
    "face_detector",
    "face_landmarker",
    "face_recognizer",
    "identity_converter",
    "face_swapper",
    "face_enhancer",
    "frame_enhancer",
    "face_occluder",
    "face_parser",
]

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
class Archive:
    """A zip that holds a weights file: its own size and SHA-256."""

    size_bytes: int
    sha256: str


@dataclass(frozen=True)
class Weights:
    """A weights file: carried by an installed package, or downloaded into the models folder.

    Attributes:
        path: relative to the folder of the import package, or the file's name in the models folder.
        size_bytes, sha256: 0 and "" where nobody has published them; the user must vouch then.
        package: the import package that carries the file; "": it is downloaded.
        urls: where it is downloaded from, the first that answers.
        archive: the zip at the URLs that holds it under its own name; None: the file itself.
        twins: (size_bytes, sha256) of other publishers' editions that do as well.
        own: the user's own file, of which nothing is known beforehand.
    """

    path: str
    size_bytes: int = 0
    sha256: str = ""
    package: str = ""
    urls: tuple[str, ...] = ()
    archive: Archive | None = None
    twins: tuple[tuple[int, str], ...] = ()
    own: bool = False


@dataclass(frozen=True)
class TorchCode:
    """How weights in torch's own format (.pth) become a network; leaves import no torch.

    Attributes:
        build: makes the package's network of a file's dictionary of tensors.
        call: `call(network, *inputs)` returns the output tensor.
        inputs: shapes by name, in order; -1: any length. float64 where the name is in `doubles`.
        doubles: inputs that are float64.
        half_ok: whether autocast to half precision keeps the picture.
    """

    build: Callable[[Mapping[str, Any]], Any]
    call: Callable[..., Any]
    inputs: Mapping[str, tuple[int, ...]]
    doubles: frozenset[str] = frozenset()
    half_ok: bool = False


@dataclass(frozen=True)
class ModelCard:
    """One model.

    Attributes:
        open: builds the adapter. It gets a `Network` (runtimes "onnx" and "torch"), the weights'
            `Path` ("file", for libraries that read their own format), or nothing ("none").
        torch: how weights in torch's format become a network. With runtime "onnx" they are
            converted once, with "torch" they are run as they are.
        bytes_per_pixel: memory that a run takes beside the weights, for each pixel of the network's
            input; from a profile of ONNX Runtime on the processor, where it is linear.
        half: name of the card of the same network in half precision, if there is one.
        halo_px: how far around a tile the network looks; None: it cannot work in tiles.
        frees_shape: the file fixes its inputs' batch and size, though the network takes any.
        template, size_px: how the crop is cut; size 0 means the frame's own scale.
        needs_landmarks: the model wants the 68 landmarks of both faces.
        recognizer: whose embedding of the source the model takes (swappers); "": none.
        converter: what turns that embedding into the model's own (swappers); "": nothing.
        source_template, source_size_px: how the source's picture is cut (swappers that take one).
        metric: how two embeddings are compared (recognisers only).
        scale: output size over input size (frame enhancers only).
        precision: "half": the edition in half precision that the user had made is run.
        rank: the highest that is installed and fits is what `auto` takes; 0: never by itself.
    """

    name: str
    task: Task
    summary: str
    licence: Licence
    open: Callable[..., object]
    runtime: Literal["onnx", "torch", "file", "none"] = "none"
    weights: Weights | None = None
    torch: TorchCode | None = None
    bytes_per_pixel: float = 0.0
    half: str | None = None
    halo_px: int | None = None
    frees_shape: bool = False
    template: Template = "region"
    size_px: int = 0
    needs_landmarks: bool = False
    recognizer: str = ""
    converter: str = ""
    source_template: Template | None = None
    source_size_px: int = 0
    metric: Literal["euclidean", "cosine"] = "cosine"
    scale: int = 1
    precision: Literal["full", "half"] = "full"
    rank: int = 0

    @property
    def wants_landmarks(self) -> bool:
        """Whether the model, or the way its crop is cut, wants the 68 landmarks."""
        return self.needs_landmarks or self.template == "region"
