"""What of this machine the program uses, whether it works, and the exact cure where it does not."""

import importlib.util
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from facefusion_ui.errors import FaceFusionError
from facefusion_ui.media.ffmpeg import find_ffmpeg
from facefusion_ui.registry.backends import OnnxNetwork, cuda_is_overwritten
from facefusion_ui.registry.catalog import find_cards
from facefusion_ui.registry.device import nvidia_cards
from facefusion_ui.registry.weights import Store
from facefusion_ui.settings import ExecutionProvider, VideoEncoder

RUNTIMES = ("onnxruntime", "onnxruntime-gpu", "onnxruntime-directml", "onnxruntime-openvino")
LEAST_FREE_BYTES = 2e9  # of a disk: a long film's result
REPAIR = "pip install --force-reinstall --no-deps {name}=={version}"


@dataclass(frozen=True)
class Finding:
    """One line of the examination; `cure` is the command or step that mends a trouble."""

    name: str
    state: Literal["ok", "note", "trouble"]
    found: str
    cure: str = ""


def examine(store: Store) -> list[Finding]:
    """Look at everything; a check that fails itself is a trouble of its own.

    Args:
        store: where models lie.
    """
    findings: list[Finding] = []
    for check in (_system, _cards, _runtime, _providers, _torch, _ffmpeg, _disk):
        findings += _survived(check)
    return findings + _survived(lambda: _models(store), "models")


def _survived(check: Callable[[], Iterator[Finding]], name: str = "") -> list[Finding]:
    name = name or check.__name__.lstrip("_")
    try:
        return list(check())
    except FaceFusionError as error:
        return [Finding(name, "trouble", str(error), error.hint)]
    except Exception as error:  # noqa: BLE001  the doctor does not die of what it finds
        return [Finding(name, "trouble", f"{type(error).__name__}: {error}", "Report this line.")]


def _system() -> Iterator[Finding]:
    yield Finding("system", "ok", f"{platform.platform()}, Python {platform.python_version()}")


def _cards() -> Iterator[Finding]:
    cards = nvidia_cards()
    if not cards:
        yield Finding("card", "note", "no NVIDIA card is shown by a driver; the processor is used")
    for card in cards:
        yield Finding(
            "card",
            "ok",
            f"{card.name}, {card.total_bytes / 1e9:.1f} GB, {card.free_bytes / 1e9:.1f} GB free, "
            f"compute capability {card.capability}, driver {card.driver}",
        )


def _runtime() -> Iterator[Finding]:
    """Find which distributions own the files of onnxruntime: two overwrite each other."""
    owners = {}
    for distribution in metadata.distributions():
        name = (distribution.metadata["Name"] or "").lower()
        files = distribution.files or []
        if name in RUNTIMES and any(file.name == "_pybind_state.py" for file in files):
            owners[name] = distribution.version
    told = ", ".join(f"{name} {version}" for name, version in owners.items())
    wanted = "onnxruntime" if sys.platform == "darwin" else "onnxruntime-gpu"
    version = owners.get(wanted)
    cure = "pip install -r requirements.txt"
    if version:
        cure = REPAIR.format(name=wanted, version=version)
    if set(owners) != {wanted}:
        said = f"its files belong to {told or 'nobody'}; only {wanted} should own them"
        yield Finding("onnxruntime", "trouble", said, cure)
    elif cuda_is_overwritten():
        said = f"{told}, but other files lie over it: CUDA is there and not offered"
        yield Finding("onnxruntime", "trouble", said, cure)
    else:
        yield Finding("onnxruntime", "ok", told)


def _providers() -> Iterator[Finding]:
    """Run a network of one node on each provider: what is merely listed may not load."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "one-node.onnx"
        path.write_bytes(_one_node())
        asked: list[ExecutionProvider] = ["cpu", "cuda"] if nvidia_cards() else ["cpu"]
        for provider in asked:
            try:
                network = OnnxNetwork(path, provider=provider, device_id=0)
                network({"x": np.zeros(1, np.float32)})
            except FaceFusionError as error:
                yield Finding(f"provider {provider}", "trouble", str(error), error.hint)
            else:
                yield Finding(f"provider {provider}", "ok", "runs a network")


def _torch() -> Iterator[Finding]:
    """Read torch's version and the CUDA it was built for; importing it would take seconds."""
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        yield Finding("torch", "trouble", "not installed", "pip install -r requirements.txt")
        return
    text = (Path(spec.submodule_search_locations[0]) / "version.py").read_text(encoding="utf-8")
    cuda = re.search(r"^cuda\b.*= '(.+)'$", text, re.MULTILINE)
    built = f"built for CUDA {cuda[1]}" if cuda else "built for the processor"
    yield Finding("torch", "ok", f"{metadata.version('torch')}, {built}")


def _ffmpeg() -> Iterator[Finding]:
    program = find_ffmpeg()
    able = [name for name in get_args(VideoEncoder) if program.lists("encoders", name)]
    yield Finding("ffmpeg", "ok", f"{program.path}; encoders {', '.join(able)}")
    if "libx264" not in able:
        yield Finding(
            "ffmpeg",
            "trouble",
            f"{program.path} cannot write H.264",
            "Unset IMAGEIO_FFMPEG_EXE, or name an ffmpeg with libx264 by it.",
        )


def _disk() -> Iterator[Finding]:
    for what, folder in (("here", Path.cwd()), ("temporary files", Path(tempfile.gettempdir()))):
        free_bytes = shutil.disk_usage(folder).free
        said = f"{free_bytes / 1e9:.1f} GB free in {folder}"
        if free_bytes < LEAST_FREE_BYTES:
            yield Finding(f"disk, {what}", "trouble", said, "Free some space.")
        else:
            yield Finding(f"disk, {what}", "ok", said)


def _models(store: Store) -> Iterator[Finding]:
    """Check the files that are there; a model that was not asked for is no trouble."""
    absent = 0
    for card in find_cards().values():
        if not store.has(card):
            absent += 1
            continue
        try:
            where = str(store.locate(card)) if card.weights else "no weights needed"
        except FaceFusionError as error:
            yield Finding(card.name, "trouble", str(error), error.hint)
        else:
            yield Finding(card.name, "ok", f"{card.licence.name}; {where}")
    if absent:
        yield Finding("models", "note", f"{absent} more can be had: python app.py models list")


def _one_node() -> bytes:
    from onnx import TensorProto, helper

    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "one", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return bytes(model.SerializeToString())
