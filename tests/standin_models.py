"""Cards and adapters for the stand-ins of true size.

What they paint is noise, so that a test sees that it was painted. What the detector answers is
noise too; the face is said to be where a test clip's is.
"""

import hashlib
from collections.abc import Callable
from functools import cache

import cv2
import numpy as np

from benchmarks.standins import standin
from facefusion_ui.arrays import Crop, Embedding, Frame
from facefusion_ui.cards import Licence, ModelCard, Task, Weights
from facefusion_ui.contracts import Network
from facefusion_ui.faces import AlignedFace, Face, Source, SwappedFace

LICENCE = Licence("none: random weights", False, "https://example.org")
FACE_BOX = np.float32([0.4, 0.35, 0.57, 0.67])  # shares of the frame's sides
FACE_POINTS = np.float32(
    [[0.448, 0.444], [0.521, 0.444], [0.484, 0.528], [0.453, 0.593], [0.516, 0.593]]
)


def blob(frame: Frame, scale: float = 255.0) -> np.ndarray:
    return cv2.dnn.blobFromImage(frame, 1 / scale, swapRB=True)


class Finder:
    def __init__(self, network: Network) -> None:
        self.network = network

    def detect(self, frame: Frame, *, size_px: int, score: float) -> list[Face]:
        shrink = min(1.0, size_px / max(frame.shape[:2]))
        sides = [-(-round(side * shrink) // 32) * 32 for side in frame.shape[:2]]
        self.network({"input.1": blob(cv2.resize(frame, (sides[1], sides[0])))})
        size_wh = np.float32([frame.shape[1], frame.shape[0]])
        return [Face(FACE_BOX * np.tile(size_wh, 2), FACE_POINTS * size_wh, 0.9)]


class Namer:
    def __init__(self, network: Network) -> None:
        self.network = network

    def embed(self, face: AlignedFace) -> Embedding:
        return self.network({"input.1": blob(face.crop)})[0][0]


class Painter:
    def __init__(self, network: Network) -> None:
        self.network = network

    def swap(self, source: Source, target: AlignedFace) -> SwappedFace:
        feeds = {"target": blob(target.crop), "source": source.embedding[None]}
        (out,) = self.network(feeds)
        return SwappedFace(to_picture(out, 255))


class Restorer:
    def __init__(self, network: Network) -> None:
        self.network = network

    def enhance(self, target: AlignedFace, *, weight: float) -> Crop:
        return to_picture(self.network({"input": blob(target.crop)})[0], 40, 128)


class Doubler:
    def __init__(self, network: Network) -> None:
        self.network = network

    def upscale(self, frame: Frame) -> Frame:
        return to_picture(self.network({"input": blob(frame)})[0], 255, 128)


def to_picture(out: np.ndarray, gain: float, offset: float = 0.0) -> np.ndarray:
    return np.clip(out[0].transpose(1, 2, 0)[..., ::-1] * gain + offset, 0, 255).astype(np.uint8)


@cache
def weights(name: str) -> Weights:
    path = standin(name)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    relative = f"../{path.parent.name}/{path.name}"
    return Weights(relative, path.stat().st_size, digest, package="benchmarks")


def card_of(name: str, task: Task, adapter: Callable[..., object], **kwargs) -> ModelCard:
    return ModelCard(
        name=f"standin_{name}",
        task=task,
        summary="a stand-in for tests",
        licence=LICENCE,
        open=adapter,
        runtime="onnx",
        weights=weights(name),
        **kwargs,
    )
