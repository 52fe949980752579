"""Reading an ONNX file: whole, to change it before it is opened, or one array of it."""

import mmap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from facefusion_ui.errors import ModelError

if TYPE_CHECKING:
    from onnx import ModelProto


def read_graph(path: Path, *, frees_shape: bool) -> "ModelProto":
    """Return the graph at `path`.

    `frees_shape` puts a name in place of each fixed batch, height and width of its ends, for files
    that fix them although the network takes any.
    """
    import onnx

    model = onnx.load(path)
    if frees_shape:
        for end in (*model.graph.input, *model.graph.output):
            for axis, dimension in enumerate(end.type.tensor_type.shape.dim):
                if axis != 1:
                    dimension.dim_param = f"{end.name}_{axis}"
    return model


def check_feeds(
    path: Path,
    shapes: Mapping[str, tuple[int | str | None, ...]],
    feeds: Mapping[str, NDArray[np.generic]],
) -> None:
    """Raise ModelError if the network at `path` takes other inputs than it is about to be fed."""
    fits = feeds.keys() == shapes.keys() and all(
        len(feed.shape) == len(shapes[name])
        and all(
            not isinstance(side, int) or side < 1 or side == got
            for side, got in zip(shapes[name], feed.shape, strict=True)
        )
        for name, feed in feeds.items()
    )
    if not fits:
        takes = ", ".join(f"{name} {_sides(shape)}" for name, shape in shapes.items())
        fed = ", ".join(f"{name} {_sides(feed.shape)}" for name, feed in feeds.items())
        raise ModelError(
            f"{path.name} is not what its card says: it takes {takes}; its card says {fed}",
            hint="It may be another model under this name. Download it again.",
        )


def _sides(shape: Sequence[int | str | None]) -> str:
    return "x".join(str(side) if isinstance(side, int) and side > 0 else "?" for side in shape)


GRAPH, INITIALIZER = 7, 5  # field numbers of onnx.proto: of a model, of a graph
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5  # protobuf's wire types


def last_initializer(path: Path) -> NDArray[np.generic]:
    """Return the last array stored in the graph at `path`; nothing else of the file is read.

    Raises:
        ModelError: the graph stores none, or says that it lies outside the model's folder.
    """
    import onnx
    from onnx import numpy_helper

    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        last = None
        for start, end in _fields(data, 0, len(data), GRAPH):
            for span in _fields(data, start, end, INITIALIZER):
                last = span
        if last is None:
            raise ModelError(f"{path.name} stores no arrays", hint="Download the model again.")
        tensor = onnx.TensorProto.FromString(data[slice(*last)])
    try:
        return np.array(numpy_helper.to_array(tensor, base_dir=str(path.parent)))
    except (onnx.checker.ValidationError, OSError) as error:
        raise ModelError(
            f"{path.name} cannot be read: {error}", hint="Download the model again."
        ) from error


def _fields(data: mmap.mmap, start: int, end: int, wanted: int) -> Iterator[tuple[int, int]]:
    """Yield where the contents of a message's `wanted` fields begin and end."""
    while start < end:
        key, start = _varint(data, start)
        kind = key & 7
        if kind == BYTES:
            length, start = _varint(data, start)
            if key >> 3 == wanted:
                yield start, start + length
            start += length
        elif kind == VARINT:
            _, start = _varint(data, start)
        elif kind in (FIXED64, FIXED32):
            start += 8 if kind == FIXED64 else 4
        else:
            raise ModelError("the file is not an ONNX graph", hint="Download the model again.")


def _varint(data: mmap.mmap, start: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[start]
        start += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, start
        shift += 7
