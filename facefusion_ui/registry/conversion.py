"""Weights in torch's format as ONNX: converted once per file, in a process of its own."""

import logging
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

from facefusion_ui.cards import TorchCode
from facefusion_ui.errors import ModelError
from facefusion_ui.media.files import written_whole
from facefusion_ui.registry.torch_network import write_onnx
from facefusion_ui.registry.weights import sha256

FOLDER = "converted"  # within the models folder
HALF = "-fp16"  # how the name of an edition in half precision ends

log = logging.getLogger(__name__)


def converted(path: Path, code: TorchCode, folder: Path) -> Path:
    """Return the ONNX edition of the weights at `path`, kept by their SHA-256.

    Torch and the two gigabytes that it takes go with the process.

    Args:
        folder: the models folder.

    Raises:
        ModelError: the file is not what `code` expects, or memory does not do.
        OutputError: the disk is full.
    """
    out = edition(path, folder)
    if out.is_file():
        return out
    log.info("%s is converted to ONNX, once; this takes up to a minute", path.name)
    out.parent.mkdir(parents=True, exist_ok=True)
    with (
        written_whole(out) as work,
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
    ):
        try:
            pool.submit(write_onnx, path, code, work).result()
        except BrokenProcessPool as error:
            raise ModelError(
                f"{path.name} could not be converted to ONNX: its process was ended",
                hint="Free some memory (2.5 GB are needed), or use --face-enhancer-backend torch.",
            ) from error
    return out


def edition(path: Path, folder: Path, ending: str = "") -> Path:
    """Return where the file made of the weights at `path` lies, or would lie."""
    found = path.stat()
    digest = sha256(path, found.st_size, found.st_mtime_ns)
    return folder / FOLDER / f"{path.stem}-{digest[:16]}{ending}.onnx"


def editions(path: Path, folder: Path) -> list[Path]:
    """Return all files that were made of the weights at `path`."""
    name = edition(path, folder)
    return sorted(name.parent.glob(f"{name.stem}*.onnx"))
