"""Making a model's edition in half precision, and looking whether it still paints the same."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from facefusion_ui.arrays import Frame
from facefusion_ui.cards import ModelCard, Task
from facefusion_ui.errors import BrokenOutputError, ModelError
from facefusion_ui.faces import AlignedFace, Face, Source
from facefusion_ui.media.files import discard, give_name, work_path
from facefusion_ui.media.image import read_picture
from facefusion_ui.registry.backends import OnnxNetwork
from facefusion_ui.registry.catalog import card
from facefusion_ui.registry.conversion import HALF, converted, edition
from facefusion_ui.registry.half import write_half
from facefusion_ui.registry.registry import Registry
from facefusion_ui.registry.weights import Store
from facefusion_ui.samples import astronaut_path, hopper_path
from facefusion_ui.steps.align import align

PAINTERS: frozenset[Task] = frozenset({"face_swapper", "face_enhancer", "frame_enhancer"})
MOST = 1.0  # mean difference, in steps of 255, above which the edition is refused
PATCH_PX = 96  # of the picture that upscalers are tried on


@dataclass(frozen=True)
class Halved:
    """The edition's file, and how far it is from the original on real faces, in steps of 255."""

    path: Path
    mean: float
    worst: int


def halve(model: ModelCard, store: Store, registry: Registry) -> Halved:
    """Make `model`'s edition in half precision and compare it with the original.

    Raises:
        ModelError: the model is of another kind, or the edition paints something else.
    """
    if model.runtime != "onnx" or model.task not in PAINTERS:
        raise ModelError(
            f"{model.name} has no use of half precision",
            hint="Swappers and enhancers that run as ONNX have.",
        )
    path = store.locate(model)
    whole = converted(path, model.torch, store.folder) if model.torch else path
    out = edition(path, store.folder, HALF)
    out.parent.mkdir(parents=True, exist_ok=True)
    work = work_path(out)
    try:
        write_half(whole, work)
        faces = [_face(portrait, registry) for portrait in (astronaut_path(), hopper_path())]
        before, after = (_paint(model, opened, faces) for opened in (whole, work))
        apart = np.abs(before - after)
        halved = Halved(out, float(apart.mean()), int(apart.max()))
        if halved.mean > MOST:
            raise ModelError(
                f"{model.name} in half precision paints something else: {halved.mean:.1f} of 255 "
                f"in the mean, {MOST} are allowed",
                hint="Use it as it is, with --execution-precision full.",
            )
        give_name(work, out)
    except BrokenOutputError as error:
        raise ModelError(
            f"{model.name} does not work in half precision: {error}",
            hint="Use it as it is, with --execution-precision full.",
        ) from error
    finally:
        discard(work)
    return halved


def _face(portrait: Path, registry: Registry) -> tuple[Frame, Face]:
    frame = read_picture(portrait).frame
    detector = card("centerface", "face_detector")
    found = registry.run(detector, lambda model: model.detect(frame, size_px=640, score=0.5))
    return frame, found[0]


def _paint(
    model: ModelCard, path: Path, faces: list[tuple[Frame, Face]]
) -> NDArray[np.signedinteger]:
    """Return what the network at `path` makes of the faces, one after the other."""
    adapter = model.open(OnnxNetwork(path, provider="cpu", device_id=0))
    pictures = [_painted(model, adapter, frame, face) for frame, face in faces]
    return np.concatenate([picture.ravel() for picture in pictures]).astype(np.int16)


def _painted(model: ModelCard, adapter: object, frame: Frame, face: Face) -> Frame:
    if model.task == "frame_enhancer":
        left, top = face.points[2].astype(int) - PATCH_PX // 2
        patch = frame[top : top + PATCH_PX, left : left + PATCH_PX]
        return adapter.upscale(np.ascontiguousarray(patch))  # type: ignore[attr-defined, no-any-return]
    target = align(frame, face, model.template, model.size_px)
    if model.task == "face_enhancer":
        return adapter.enhance(target, weight=0.5)  # type: ignore[attr-defined, no-any-return]
    swapped = adapter.swap(_anybody(model, target), target)  # type: ignore[attr-defined]
    return swapped.crop  # type: ignore[no-any-return]


def _anybody(model: ModelCard, target: AlignedFace) -> Source:
    """Return a person that is nobody: any embedding does, to compare two editions of a network."""
    embedding = np.random.default_rng(0).normal(size=512).astype(np.float32)
    side = model.source_size_px
    picture = np.asarray(np.resize(target.crop, (side, side, 3)), np.uint8) if side else None
    return Source((), embedding, picture)
