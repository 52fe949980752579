"""A graphics card of any size, emulated: beyond its memory ONNX Runtime itself fails.

All networks opened on it share one arena of ONNX Runtime with a hard cap, weights included, so that
a job meets the same errors, at the same places, as on a small card. What it cannot show is memory
outside an arena: the CUDA context, cuDNN's workspaces, a driver that spills into the system.
"""

import ctypes
import gc
import json
import math
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from facefusion_ui.contracts import Network
from facefusion_ui.registry.backends import load_runtime
from facefusion_ui.registry.graphs import check_feeds, last_initializer, read_graph
from facefusion_ui.registry.oom import is_oom

if TYPE_CHECKING:
    from onnx import ModelProto, TensorProto

SMALL_ELEMENTS = 1024  # tensors up to this size stay outside: shapes and constants
GRID_BYTES = 256  # what the arena rounds each tensor up to
FILE = "graph.onnx"
NOWHERE = "taken"  # an empty file, for weights that are not to be read again
COPIED = {1: np.dtype(np.float32), 10: np.dtype(np.float16)}  # ONNX's numbers of the types counted


class VirtualCard:
    """Emulates a card of `total_bytes`; the most that was ever used of it is in `peak_bytes`.

    ONNX Runtime keeps one shared arena per process: networks opened later, on another card, use
    that card's; those already open keep theirs.
    """

    def __init__(self, total_bytes: int) -> None:
        ort = load_runtime()
        self._ort = ort
        self.total_bytes = total_bytes
        self.name = "emulated"
        self.used_bytes = 0
        self.peak_bytes = 0
        self._most_bytes = 0
        self._taken: list[Any] = []
        memory = ort.OrtMemoryInfo(
            "Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT
        )
        same_as_requested = 1
        # Off its grid: the arena counts what is left in unsigned numbers, and a card that is full
        # to the byte would count as endless.
        cap_bytes = total_bytes // GRID_BYTES * GRID_BYTES - 1
        arena = {"max_mem": cap_bytes, "arena_extend_strategy": same_as_requested}
        ort.create_and_register_allocator(memory, ort.OrtArenaCfg(arena))
        self._copiers = {
            dtype: ort.InferenceSession(
                _identity(kind), self._options(), providers=["CPUExecutionProvider"]
            )
            for kind, dtype in COPIED.items()
        }
        self._shrink = ort.RunOptions()
        self._shrink.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")

    @property
    def free_bytes(self) -> int:
        """What weights and other programs have left of the card."""
        return self.total_bytes - self.used_bytes

    def open(self, path: Path, *, frees_shape: bool = False) -> "CardNetwork":
        """Open the network at `path` with its weights on the card.

        Raises:
            Exception: ONNX Runtime's own, when the weights do not fit; `oom.is_oom` knows it.
        """
        from onnx import numpy_helper

        model = read_graph(path, frees_shape=frees_shape)
        options = self._options()
        kept: list[Any] = []
        taken_bytes = 0
        for tensor in model.graph.initializer:
            if tensor.data_type not in COPIED or np.prod(tensor.dims) <= SMALL_ELEMENTS:
                continue
            array = numpy_helper.to_array(tensor)
            on_card, view = self._put(array)
            kept += [on_card, view]
            options.add_initializer(tensor.name, view)
            taken_bytes += array.nbytes
            _point_nowhere(tensor)
        try:
            session = self._session(model, options)
        except Exception as error:
            if "External initializer" not in str(error):
                raise
            session = None
        if session is None:  # an optimisation wanted to read the weights itself
            session = self._session(read_graph(path, frees_shape=frees_shape), options)
        self.used_bytes += taken_bytes
        return CardNetwork(path, self, session, kept, taken_bytes)

    def _session(self, model: "ModelProto", options: Any) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / FILE
            (Path(folder) / NOWHERE).touch()
            path.write_bytes(model.SerializeToString())
            return self._ort.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )

    def begin(self) -> None:
        """Begin to watch what is used."""
        self._most_bytes = self.used_bytes

    def most_bytes(self) -> int:
        """Return the most that was used since `begin`."""
        return self._most_bytes

    def note(self) -> None:
        """Note what the arena holds now, by its own account, before it gives anything back.

        The account is in the profile of any network that runs in the arena.
        """
        options = self._options()
        options.enable_profiling = True
        with tempfile.TemporaryDirectory() as folder:
            options.profile_file_prefix = str(Path(folder) / "profile")
            probe = self._ort.InferenceSession(
                _identity(1), options, providers=["CPUExecutionProvider"]
            )
            probe.run(["b"], {"a": np.zeros(1, np.float32)})
            events = json.loads(Path(probe.end_profiling()).read_text(encoding="utf-8"))
        held = max(int(event.get("args", {}).get("mem_arena_held", 0)) for event in events)
        self._most_bytes = max(self._most_bytes, held)
        self.peak_bytes = max(self.peak_bytes, held)

    def hold(self, wanted_bytes: int) -> "Held":
        """Take memory until it is closed, for what does not live in ONNX Runtime.

        Raises:
            Exception: ONNX Runtime's own, when there is not so much.
        """
        copy, _ = self._put(np.zeros(max(1, wanted_bytes // 4), np.float32))
        return Held(self, copy, wanted_bytes)

    def take_away(self, wanted_bytes: int) -> int:
        """Take memory as another program would: what is wanted, or most of what is left.

        Returns:
            The bytes taken.
        """
        while wanted_bytes > GRID_BYTES:
            try:
                self._taken.append(self.hold(wanted_bytes))
            except Exception as error:
                if not is_oom(error):
                    raise
                wanted_bytes = wanted_bytes * 9 // 10
            else:
                return wanted_bytes
        return 0

    def give_back(self) -> None:
        """Give back all that was taken away."""
        for held in self._taken:
            held.close()
        self._taken.clear()

    def trim(self) -> None:
        """Give the arena's unused regions back, as closing a session does on a card."""
        # Ends bound to memory outside: an output in a large free region would keep it held.
        copier = self._copiers[COPIED[1]]
        binding = copier.io_binding()
        outside = [np.zeros(1, np.float32) for _ in "ab"]
        a, b = map(self._ort.OrtValue.ortvalue_from_numpy, outside)
        binding.bind_ortvalue_input("a", a)
        binding.bind_ortvalue_output("b", b)
        copier.run_with_iobinding(binding, self._shrink)

    def _put(self, array: NDArray[Any]) -> tuple[Any, Any]:
        """Copy `array` into the arena; return the copy, and a view of it that a session accepts."""
        source = self._ort.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array))
        (copy,) = self._copiers[array.dtype].run_with_ort_values(["b"], {"a": source})
        raw = (ctypes.c_uint8 * array.nbytes).from_address(copy.data_ptr())
        view = np.ctypeslib.as_array(raw).view(array.dtype).reshape(array.shape)
        return copy, self._ort.OrtValue.ortvalue_from_numpy(view)

    def _options(self) -> Any:
        options = self._ort.SessionOptions()
        options.add_session_config_entry("session.use_env_allocators", "1")
        options.add_session_config_entry("session.disable_prepacking", "1")
        options.enable_mem_pattern = False
        # its threads leave the processor to whatever else is tried at the same time
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 4
        # the full level would copy convolution weights out of the arena
        level = self._ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        options.graph_optimization_level = level
        return options


class Held:
    """Memory of the card that somebody else has."""

    def __init__(self, card: VirtualCard, copy: Any, taken_bytes: int) -> None:
        self._card = card
        self._copy = copy
        self.bytes = taken_bytes
        card.used_bytes += taken_bytes

    def close(self) -> None:
        """Give it back."""
        self._copy = None
        gc.collect()
        self._card.used_bytes -= self.bytes
        self._card.trim()


class CardNetwork:
    """A network on a `VirtualCard`, with weights of `bytes`; implements `contracts.Network`."""

    def __init__(
        self, path: Path, card: VirtualCard, session: Any, kept: list[Any], taken_bytes: int
    ) -> None:
        self._path = path
        self._card = card
        self._session = session
        self._kept = kept
        self.bytes = taken_bytes

    @property
    def input_shapes(self) -> Mapping[str, tuple[int | str | None, ...]]:
        return {node.name: tuple(node.shape) for node in self._session.get_inputs()}

    @property
    def output_names(self) -> tuple[str, ...]:
        return tuple(node.name for node in self._session.get_outputs())

    def last_initializer(self) -> NDArray[np.generic]:
        return last_initializer(self._path)

    def __call__(self, feeds: Mapping[str, NDArray[np.generic]]) -> list[NDArray[np.float32]]:
        check_feeds(self._path, self.input_shapes, feeds)
        outputs = [np.array(output) for output in self._session.run(None, dict(feeds))]
        self._card.note()
        self._card.trim()
        return outputs

    def close(self) -> None:
        """Give the weights' memory back; the network cannot run any more."""
        del self._session
        self._kept.clear()
        gc.collect()
        self._card.used_bytes -= self.bytes
        self._card.trim()


class HeldNetwork:
    """A network that does not run in the card's arena, which keeps its account all the same.

    What it takes, weights and work, is held there; what does not fit fails as it would on a card.
    Implements `contracts.Network`.
    """

    def __init__(
        self, card: VirtualCard, network: Network, weights: Held, bytes_per_pixel: float
    ) -> None:
        self._card = card
        self._network = network
        self._weights = weights
        self._bytes_per_pixel = bytes_per_pixel

    @property
    def input_shapes(self) -> Mapping[str, tuple[int | str | None, ...]]:
        return self._network.input_shapes

    @property
    def output_names(self) -> tuple[str, ...]:
        return self._network.output_names

    def last_initializer(self) -> NDArray[np.generic]:
        return self._network.last_initializer()

    def __call__(self, feeds: Mapping[str, NDArray[np.generic]]) -> list[NDArray[np.float32]]:
        pixels = max(math.prod(feed.shape[-2:]) for feed in feeds.values() if feed.ndim == 4)
        work = self._card.hold(round(pixels * self._bytes_per_pixel))
        try:
            self._card.note()
            return self._network(feeds)
        finally:
            work.close()

    def close(self) -> None:
        """Give the memory back; the network cannot run any more."""
        del self._network
        self._weights.close()


def _point_nowhere(tensor: "TensorProto") -> None:
    """Drop the data of `tensor`, which the session is given on the card."""
    from onnx import TensorProto

    for field in ("raw_data", "float_data", "int32_data"):
        tensor.ClearField(field)
    tensor.data_location = TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", NOWHERE


def _identity(kind: int) -> bytes:
    """Return a model that copies its input `a` to `b`."""
    from onnx import helper

    a, b = (helper.make_tensor_value_info(name, kind, None) for name in "ab")
    graph = helper.make_graph([helper.make_node("Identity", ["a"], ["b"])], "copy", [a], [b])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return bytes(model.SerializeToString())
