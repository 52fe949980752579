"""Reading an ONNX graph to change it before it is opened."""

from pathlib import Path
from typing import TYPE_CHECKING

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
