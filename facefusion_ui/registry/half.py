"""Writing a network in half precision."""

from pathlib import Path

import onnx

from facefusion_ui.media.files import write_whole
from facefusion_ui.registry.backends import load_runtime

SENSITIVE = [
    "InstanceNormalization", "LayerNormalization", "Pow", "Reciprocal", "ReduceL2", "ReduceMean",
    "ReduceSum", "Softmax", "Sqrt",
]  # fmt: skip
"""What adds up or divides by many numbers: kept in single precision."""


def write_half(path: Path, out: Path) -> None:
    """Write the network at `path` in half precision to `out`; inputs and outputs stay float32."""
    load_runtime()  # first of all: so it is quiet
    from onnxruntime.transformers import float16

    model = float16.convert_float_to_float16(
        onnx.load(path),
        keep_io_types=True,
        op_block_list=[*float16.DEFAULT_OP_BLOCK_LIST, *SENSITIVE],
    )
    once = {tuple(node.output): node for node in model.graph.node}  # the converter repeats casts
    nodes = list(once.values())
    for number, node in enumerate(nodes):
        node.name = f"node_{number}"
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    write_whole(out, [model.SerializeToString()])
