"""Guards reading detectors' answers: a face in the wrong place or lost, colours the wrong way."""

from pathlib import Path
from types import MappingProxyType

import numpy as np
import onnxruntime
import pytest

from facefusion_ui.detectors.scrfd import Scrfd
from facefusion_ui.detectors.yolo_face import YoloFace
from facefusion_ui.detectors.yunet import Yunet
from tests.constant_networks import Opened, write_network

SIDE = 64  # of every network's input here
STRIDES = (8, 16, 32)
POINTS = np.float32([[20, 18], [28, 18], [24, 24], [20, 30], [28, 30]])
BOX = np.float32([16, 12, 32, 36])  # in the input's pixels
CELL = (2, 3)  # column and row, at stride 8, of the face BOX
RED, BLUE = (0, 0, 255), (255, 0, 0)


def scrfd_answers(cell=CELL, score=0.9, box=BOX, points=POINTS, batched=False):
    column, row = cell
    anchor = np.float32([column, row]) * 8
    index = (row * (SIDE // 8) + column) * 2
    answers = {}
    for kind, width in (("score", 1), ("bbox", 4), ("kps", 10)):
        for stride in STRIDES:
            answers[f"{kind}_{stride}"] = np.zeros((2 * (SIDE // stride) ** 2, width), np.float32)
    answers["score_8"][index] = score
    answers["bbox_8"][index] = np.concatenate([anchor - box[:2], box[2:] - anchor]) / 8
    answers["kps_8"][index] = ((points - anchor) / 8).ravel()
    return {k: v[None] for k, v in answers.items()} if batched else answers


def yolo_answers(index=5, score=0.9):
    rows = np.zeros((84, 20), np.float32)
    rows[index, :4] = [*(BOX[:2] + BOX[2:]) / 2, *(BOX[2:] - BOX[:2])]
    rows[index, 4] = score
    rows[index, 5:] = np.concatenate([POINTS, np.full((5, 1), 0.7)], axis=1).ravel()
    return {"output0": np.ascontiguousarray(rows.T)[None]}


def yunet_answers(cell=CELL, score=0.9):
    column, row = cell
    anchor = np.float32([column, row]) * 8
    index = row * (SIDE // 8) + column
    answers = {}
    for kind, width in (("cls", 1), ("obj", 1), ("bbox", 4), ("kps", 10)):
        for stride in STRIDES:
            answers[f"{kind}_{stride}"] = np.zeros((1, (SIDE // stride) ** 2, width), np.float32)
    answers["cls_8"][0, index] = 0.95
    answers["obj_8"][0, index] = score / 0.95
    centre, size = (BOX[:2] + BOX[2:]) / 2, BOX[2:] - BOX[:2]
    answers["bbox_8"][0, index] = np.concatenate([(centre - anchor) / 8, np.log(size / 8)])
    answers["kps_8"][0, index] = ((POINTS - anchor) / 8).ravel()
    return answers


# What holds the score, and which colour makes the network's first channel high.
FAMILIES = {
    "scrfd": (Scrfd, scrfd_answers, "score_8", RED),
    "yolo_face": (YoloFace, yolo_answers, "output0", RED),
    "yunet": (Yunet, yunet_answers, "cls_8", BLUE),
}
family = pytest.mark.parametrize("name", FAMILIES)
ANY, FIXED = (1, 3, "H", "W"), (1, 3, SIDE, SIDE)


@family
@pytest.mark.parametrize(
    ("shape", "size_wh", "scale"),
    [
        (ANY, (128, 128), 2),
        (ANY, (64, 64), 1),
        (ANY, (60, 50), 1),
        (FIXED, (128, 128), 2),
        (FIXED, (256, 128), 4),
        (FIXED, (128, 256), 4),
        (FIXED, (60, 50), 1),
        (FIXED, (30, 20), 1),
    ],
)
def test_a_face_is_where_it_is_in_the_frame(name, shape, size_wh, scale, tmp_path: Path) -> None:
    adapter, answers, _, _ = FAMILIES[name]
    network = Opened(write_network(tmp_path / "n.onnx", answers(), shape))
    frame = np.full((size_wh[1], size_wh[0], 3), 90, np.uint8)
    before = frame.copy()
    (face,) = adapter(network).detect(frame, size_px=SIDE, score=0.5)
    assert np.allclose(face.box, BOX * scale, atol=1e-3)
    assert np.allclose(face.points, POINTS * scale, atol=1e-3)
    assert face.score == pytest.approx(0.9, abs=1e-5)
    assert face.box.dtype == face.points.dtype == np.float32
    assert np.array_equal(frame, before)
    assert network.fed[0].shape == (1, 3, SIDE, SIDE)


@family
@pytest.mark.parametrize("shape", [ANY, FIXED], ids=("any size", "fixed size"))
def test_a_small_frame_is_not_enlarged(name, shape, tmp_path: Path) -> None:
    adapter, answers, _, _ = FAMILIES[name]
    network = Opened(write_network(tmp_path / "n.onnx", answers(), shape))
    frame = np.random.default_rng(0).integers(0, 256, (40, 50, 3), np.uint8)
    adapter(network).detect(frame, size_px=640, score=0.5)
    blob = network.fed[0][0].transpose(1, 2, 0)
    assert blob.shape[:2] == (SIDE, SIDE)
    undo = {"scrfd": (128, 127.5), "yolo_face": (255, 0), "yunet": (1, 0)}[name]
    seen = np.rint(blob * undo[0] + undo[1])
    order = slice(None) if name == "yunet" else slice(None, None, -1)
    assert np.array_equal(seen[:40, :50], frame[..., order])
    assert not seen[40:].any()
    assert not seen[:, 50:].any()


@family
def test_a_score_below_the_asked_one_drops_the_face(name, tmp_path: Path) -> None:
    adapter, answers, _, _ = FAMILIES[name]
    detector = adapter(Opened(write_network(tmp_path / "n.onnx", answers(score=0.6))))
    frame = np.zeros((SIDE, SIDE, 3), np.uint8)
    assert len(detector.detect(frame, size_px=SIDE, score=0.55)) == 1
    assert detector.detect(frame, size_px=SIDE, score=0.65) == []


@pytest.mark.parametrize(
    ("adapter", "answers"),
    [
        (Scrfd, scrfd_answers(cell=(0, 0))),
        (YoloFace, yolo_answers(index=0)),
        (Yunet, yunet_answers(cell=(0, 0))),
    ],
)
def test_a_lone_face_in_the_first_place_is_kept(adapter, answers, tmp_path: Path) -> None:
    network = Opened(write_network(tmp_path / "n.onnx", answers))
    frame = np.zeros((SIDE, SIDE, 3), np.uint8)
    (face,) = adapter(network).detect(frame, size_px=SIDE, score=0.5)
    assert np.allclose(face.box, BOX, atol=1e-3)


@family
def test_colours_go_in_as_the_network_knows_them(name, tmp_path: Path) -> None:
    adapter, answers, scored, colour = FAMILIES[name]
    unlit = {key: value * (key != scored) for key, value in answers().items()}
    reddens = answers()[scored].copy()
    if name == "yolo_face":
        unlit = answers()
        unlit[scored][:, 4] = 0
        reddens[:] = 0
        reddens[0, 4, 5] = 1
    if name == "yunet":
        reddens /= 255
    path = write_network(tmp_path / "n.onnx", unlit, reddens={scored: reddens})
    for shown in (RED, BLUE):
        frame = np.full((SIDE, SIDE, 3), shown, np.uint8)
        found = adapter(Opened(path)).detect(frame, size_px=SIDE, score=0.5)
        assert len(found) == (shown == colour)


def two_faces_twice():
    """Two faces, each seen twice, the weaker sighting a little beside."""
    rows = yolo_answers()["output0"][0].T.copy()
    for index, shift, score in ((5, 0, 0.8), (6, 1, 0.7), (7, 30, 0.9), (8, 31, 0.6)):
        rows[index] = yolo_answers()["output0"][0].T[5]
        rows[index, 0] += shift
        rows[index, 4] = score
    return {"output0": np.ascontiguousarray(rows.T)[None]}


def test_each_face_is_given_once_and_the_best_first(tmp_path: Path) -> None:
    network = Opened(write_network(tmp_path / "n.onnx", two_faces_twice()))
    faces = YoloFace(network).detect(np.zeros((SIDE, SIDE, 3), np.uint8), size_px=SIDE, score=0.5)
    assert [round(face.score, 3) for face in faces] == [0.9, 0.8]
    assert faces[0].box[0] == pytest.approx(BOX[0] + 30)


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("size_hw", [(128, 128), (100, 150), (333, 200)])
def test_scrfd_answers_as_insightface_does(batched, size_hw, tmp_path: Path) -> None:
    from insightface.model_zoo.scrfd import SCRFD

    path = write_network(tmp_path / "n.onnx", scrfd_answers(batched=batched))
    frame = np.random.default_rng(1).integers(0, 256, (*size_hw, 3), np.uint8)
    bare = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    boxes, points = SCRFD(session=bare).detect(frame, input_size=(SIDE, SIDE), det_thresh=0.5)
    (face,) = Scrfd(Opened(path)).detect(frame, size_px=SIDE, score=0.5)
    assert len(boxes) == 1
    assert np.array_equal(face.box, boxes[0, :4])
    assert np.array_equal(face.points, points[0].astype(np.float32))
    assert face.score == boxes[0, 4]


@family
@pytest.mark.parametrize("size_hw", [(2, 640), (640, 2), (1, 1)])
def test_a_thread_of_a_frame_is_looked_at_too(name, size_hw, tmp_path: Path) -> None:
    adapter, answers, _, _ = FAMILIES[name]
    shape = (1, 3, SIDE, SIDE)
    network = Opened(write_network(tmp_path / "n.onnx", answers(), shape))
    frame = np.zeros((*size_hw, 3), np.uint8)
    assert len(adapter(network).detect(frame, size_px=SIDE, score=0.5)) == 1


@pytest.mark.parametrize(("size_px", "side"), [(64, 64), (70, 64), (90, 96), (640, 224)])
def test_the_square_is_no_larger_than_the_frame_needs(size_px, side) -> None:
    class Shapes:
        """Has nothing to say, but notes what it sees."""

        input_shapes = MappingProxyType({"input": (1, 3, "H", "W")})
        output_names = tuple(f"{kind}{s}" for kind in ("s", "b", "k") for s in STRIDES)
        seen: tuple[int, ...] = ()

        def __call__(self, feeds):
            self.seen = feeds["input"].shape
            return [
                np.zeros((2 * (self.seen[2] // stride) ** 2, width), np.float32)
                for width in (1, 4, 10)
                for stride in STRIDES
            ]

    network = Shapes()
    assert (
        Scrfd(network).detect(np.zeros((100, 200, 3), np.uint8), size_px=size_px, score=0.5) == []
    )
    assert network.seen == (1, 3, side, side)
