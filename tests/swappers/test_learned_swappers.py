"""Guards what learned swappers are fed and how their answers are read: colour order, scale, the
embedding's form, the mask, and agreement with insightface's own code for inswapper.

The networks are real, of a few nodes, with each family's inputs and outputs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnx
import onnxruntime
import pytest
from insightface.model_zoo.inswapper import INSwapper
from insightface.utils.face_align import norm_crop2
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from facefusion_ui.arrays import Crop
from facefusion_ui.cards import ModelCard
from facefusion_ui.converters import crossface
from facefusion_ui.errors import BrokenOutputError
from facefusion_ui.faces import AlignedFace, Face, Portrait, Source
from facefusion_ui.swappers import (
    blendswap,
    ghost,
    hififace,
    hyperswap,
    inswapper,
    simswap,
    uniface,
)

MODULES = (inswapper, simswap, ghost, hififace, hyperswap, uniface, blendswap)
SWAPPERS = [card for module in MODULES for card in module.CARDS]
IMAGENET = (np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225]))
LENGTH = 512
rng = np.random.default_rng(7)


@dataclass(frozen=True)
class Kind:
    """What a family's network takes and gives, by the published facts."""

    mean: NDArray[np.float32] | float = 0.0
    std: NDArray[np.float32] | float = 1.0
    unit: bool = False  # the embedding is brought to length one
    mask: bool = False


ZERO_ONE = Kind(unit=True)
MINUS_ONE = Kind(mean=0.5, std=0.5, unit=True)
KINDS = {
    "inswapper_128": ZERO_ONE,
    "inswapper_128_fp16": ZERO_ONE,
    "simswap_256": Kind(*IMAGENET, unit=True),
    "simswap_unofficial_512": ZERO_ONE,
    "ghost_1_256": Kind(0.5, 0.5),
    "ghost_2_256": Kind(0.5, 0.5),
    "ghost_3_256": Kind(0.5, 0.5),
    "hififace_unofficial_256": MINUS_ONE,
    "hyperswap_1a_256": Kind(0.5, 0.5, unit=True, mask=True),
    "hyperswap_1b_256": Kind(0.5, 0.5, unit=True, mask=True),
    "hyperswap_1c_256": Kind(0.5, 0.5, unit=True, mask=True),
    "uniface_256": Kind(0.5, 0.5),
    "blendswap_256": Kind(),
}
LIKE_TARGET = ("simswap_256",)  # files that take one range of colours and answer in 0..1


class Runner:
    """A network over a real session; remembers what it was fed."""

    def __init__(self, path: Path) -> None:
        self._session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        self._last = numpy_helper.to_array(onnx.load(path).graph.initializer[-1])
        self.input_shapes = {i.name: tuple(i.shape) for i in self._session.get_inputs()}
        self.output_names = tuple(o.name for o in self._session.get_outputs())
        self.feeds: Mapping[str, NDArray[np.generic]] = {}

    def last_initializer(self) -> NDArray[np.generic]:
        return self._last

    def __call__(self, feeds: Mapping[str, NDArray[np.generic]]) -> list[NDArray[np.float32]]:
        self.feeds = dict(feeds)
        return list(self._session.run(None, self.feeds))


def make_swapper(path: Path, card: ModelCard, *, scale=1.0, shift=0.0, dtype=np.float32) -> Path:
    """Write image = target * scale + shift (per channel) + 0 * source, and a mask if it has one.

    The last initializer is a random projection. `mask` is 2 * red - 0.5: it goes beyond 0..1.
    """
    size = card.size_px
    if card.source_template:
        source_shape = [1, 3, card.source_size_px, card.source_size_px]
    else:
        source_shape = [1, LENGTH]
    values = {
        "scale": np.broadcast_to(np.float32(scale), 3).reshape(1, 3, 1, 1),
        "shift": np.broadcast_to(np.float32(shift), 3).reshape(1, 3, 1, 1),
        "zero": np.float32(0),
    }
    nodes = [
        helper.make_node("ReduceMean", ["source"], ["mean"], keepdims=0),
        helper.make_node("Mul", ["mean", "zero"], ["nothing"]),
        helper.make_node("Mul", ["target", "scale"], ["scaled"]),
        helper.make_node("Add", ["scaled", "shift"], ["shifted"]),
        helper.make_node("Add", ["shifted", "nothing"], ["image"]),
    ]
    outputs = [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, size, size])]
    if KINDS[card.name].mask:
        values |= {"first": np.int64([0]), "two": np.float32(2), "less": np.float32(0.5)}
        nodes += [
            helper.make_node("Gather", ["target", "first"], ["red"], axis=1),
            helper.make_node("Mul", ["red", "two"], ["doubled"]),
            helper.make_node("Sub", ["doubled", "less"], ["mask"]),
        ]
        outputs.append(helper.make_tensor_value_info("mask", TensorProto.FLOAT, [1, 1, size, size]))
    projection = np.random.default_rng(3).standard_normal((LENGTH, LENGTH)).astype(dtype)
    values["emap"] = projection
    graph = helper.make_graph(
        nodes,
        card.name,
        [
            helper.make_tensor_value_info("target", TensorProto.FLOAT, [1, 3, size, size]),
            helper.make_tensor_value_info("source", TensorProto.FLOAT, source_shape),
        ],
        outputs,
        [numpy_helper.from_array(np.asarray(value), name) for name, value in values.items()],
    )
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return path


def make_echo(path: Path, card: ModelCard) -> Path:
    """Write the network that answers with the target, in the range the family answers in."""
    if card.name in LIKE_TARGET:  # undo the blob's normalisation, for the answer is in 0..1
        kind = KINDS[card.name]
        return make_swapper(path, card, scale=kind.std, shift=kind.mean)
    return make_swapper(path, card)


def a_source(card: ModelCard) -> Source:
    portraits = (Portrait(a_picture(64), Face(np.zeros(4, np.float32), FIVE, 1.0)),)
    picture = a_picture(card.source_size_px) if card.source_template else None
    embedding = None
    if card.recognizer:
        embedding = (rng.standard_normal(LENGTH) * 3).astype(np.float32)
    return Source(portraits, embedding, picture)


def a_picture(size: int) -> Crop:
    """Return noise whose channels differ, so that no swap of colours goes unseen."""
    picture = rng.integers(0, 160, (size, size, 3), np.uint8)
    picture[..., 2] += 90
    return picture


FIVE = np.float32([[40, 40], [80, 40], [60, 65], [45, 85], [75, 85]])


def aligned(crop: Crop) -> AlignedFace:
    return AlignedFace(crop, np.float32([[1, 0, 0], [0, 1, 0]]), FIVE, None)


def expected_blob(picture: Crop, mean, std) -> NDArray[np.float32]:
    rgb = picture[..., ::-1].astype(np.float64) / 255
    return ((rgb - mean) / std).transpose(2, 0, 1)[None].astype(np.float32)


def unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    return vector / np.linalg.norm(vector)


every_swapper = pytest.mark.parametrize("card", SWAPPERS, ids=lambda card: card.name)


def test_every_card_is_tested() -> None:
    assert [card.name for card in SWAPPERS] == list(KINDS)


@every_swapper
def test_a_network_that_returns_the_target_returns_the_same_picture(card, tmp_path) -> None:
    crop = a_picture(card.size_px)
    before, source = crop.copy(), a_source(card)
    runner = Runner(make_echo(tmp_path / "echo.onnx", card))
    swapped = card.open(runner).swap(source, aligned(crop))
    assert swapped.crop.shape == (card.size_px, card.size_px, 3)
    assert swapped.crop.dtype == np.uint8
    assert np.abs(swapped.crop.astype(int) - before).max() <= 1
    assert np.array_equal(crop, before)
    assert (swapped.mask is not None) == KINDS[card.name].mask


@every_swapper
def test_the_network_is_fed_what_the_family_takes(card, tmp_path) -> None:
    kind, crop, source = KINDS[card.name], a_picture(card.size_px), a_source(card)
    kept = None if source.embedding is None else source.embedding.copy()
    seen = None if source.picture is None else source.picture.copy()
    runner = Runner(make_echo(tmp_path / "echo.onnx", card))
    card.open(runner).swap(source, aligned(crop))
    assert set(runner.feeds) == {"source", "target"}
    assert all(blob.dtype == np.float32 for blob in runner.feeds.values())
    assert np.abs(runner.feeds["target"] - expected_blob(crop, kind.mean, kind.std)).max() < 1e-5
    if seen is not None:
        assert np.abs(runner.feeds["source"] - expected_blob(seen, 0, 1)).max() < 1e-5
        assert np.array_equal(source.picture, seen)
        return
    wanted = unit(kept) if kind.unit else kept
    if card in inswapper.CARDS:
        wanted = unit(unit(kept) @ runner.last_initializer())
    assert runner.feeds["source"].shape == (1, LENGTH)
    assert np.abs(runner.feeds["source"][0] - wanted).max() < 1e-5
    assert np.array_equal(source.embedding, kept)


@every_swapper
def test_an_answer_that_is_not_a_number_is_an_error(card, tmp_path) -> None:
    runner = Runner(make_swapper(tmp_path / "nan.onnx", card, shift=np.nan))
    with pytest.raises(BrokenOutputError):
        card.open(runner).swap(a_source(card), aligned(a_picture(card.size_px)))


@every_swapper
def test_a_flat_answer_is_an_error(card, tmp_path) -> None:
    runner = Runner(make_swapper(tmp_path / "flat.onnx", card, scale=0, shift=0.25))
    with pytest.raises(BrokenOutputError):
        card.open(runner).swap(a_source(card), aligned(a_picture(card.size_px)))


@pytest.mark.parametrize("card", hyperswap.CARDS, ids=lambda card: card.name)
def test_the_mask_is_the_networks_within_0_and_1(card, tmp_path) -> None:
    crop = a_picture(card.size_px)
    runner = Runner(make_echo(tmp_path / "echo.onnx", card))
    mask = card.open(runner).swap(a_source(card), aligned(crop)).mask
    red = crop[..., 2] / 127.5 - 1
    assert mask.shape == crop.shape[:2]
    assert mask.dtype == np.float32
    assert np.abs(mask - np.clip(red * 2 - 0.5, 0, 1)).max() < 1e-5
    assert 0 < (mask == 0).mean() < 1  # the network's mask did go beyond
    assert mask.max() == 1


def test_a_mask_that_is_not_a_number_is_an_error(tmp_path) -> None:
    card = hyperswap.CARDS[0]
    runner = Runner(make_echo(tmp_path / "echo.onnx", card))

    class Broken:
        input_shapes, output_names = runner.input_shapes, runner.output_names

        def __call__(self, feeds):
            image, mask = runner(feeds)
            mask[0, 0, 5, 5] = np.nan
            return [image, mask]

    with pytest.raises(BrokenOutputError):
        card.open(Broken()).swap(a_source(card), aligned(a_picture(card.size_px)))


def test_a_projection_in_half_precision_is_used_in_full(tmp_path) -> None:
    card = inswapper.CARDS[1]
    runner = Runner(make_swapper(tmp_path / "half.onnx", card, dtype=np.float16))
    source = a_source(card)
    card.open(runner).swap(source, aligned(a_picture(128)))
    wanted = unit(unit(source.embedding) @ runner.last_initializer().astype(np.float32))
    assert runner.last_initializer().dtype == np.float16
    assert np.abs(runner.feeds["source"][0] - wanted).max() < 1e-6


def make_mixer(path: Path) -> Path:
    """Write a network whose picture depends on both inputs: target * a(latent) + b(latent)."""
    draw = np.random.default_rng(11)
    values = {
        "to_a": draw.standard_normal((LENGTH, 3)).astype(np.float32) * 4,
        "to_b": draw.standard_normal((LENGTH, 3)).astype(np.float32),
        "shape": np.int64([1, 3, 1, 1]),
        "emap": draw.standard_normal((LENGTH, LENGTH)).astype(np.float32),
    }
    nodes = [
        helper.make_node("MatMul", ["source", "to_a"], ["a3"]),
        helper.make_node("Sigmoid", ["a3"], ["a_gate"]),
        helper.make_node("Reshape", ["a_gate", "shape"], ["a"]),
        helper.make_node("MatMul", ["source", "to_b"], ["b3"]),
        helper.make_node("Sigmoid", ["b3"], ["b_gate"]),
        helper.make_node("Reshape", ["b_gate", "shape"], ["b"]),
        helper.make_node("Mul", ["target", "a"], ["scaled"]),
        helper.make_node("Sub", ["b", "scaled"], ["mixed"]),
        helper.make_node("Abs", ["mixed"], ["output"]),
    ]
    graph = helper.make_graph(
        nodes,
        "mixer",
        [
            helper.make_tensor_value_info("target", TensorProto.FLOAT, [1, 3, 128, 128]),
            helper.make_tensor_value_info("source", TensorProto.FLOAT, [1, LENGTH]),
        ],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, [1, 3, 128, 128])],
        [numpy_helper.from_array(value, name) for name, value in values.items()],
    )
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return path


@pytest.mark.filterwarnings("ignore:.*estimate.*:FutureWarning")  # scikit-image's, in insightface
@pytest.mark.parametrize("seed", range(4))
def test_inswapper_agrees_with_insightface(seed, tmp_path) -> None:
    path = make_mixer(tmp_path / "mixer.onnx")
    draw = np.random.default_rng(seed)
    frame = draw.integers(0, 256, (240, 320, 3), np.uint8)
    points = FIVE * 1.3 + draw.uniform(-3, 3, (5, 2)).astype(np.float32) + 40
    embedding = (draw.standard_normal(LENGTH) * 20).astype(np.float32)
    crop, _ = norm_crop2(frame, points, 128)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    theirs, _ = INSwapper(str(path), session).get(
        frame,
        SimpleNamespace(kps=points),
        SimpleNamespace(normed_embedding=unit(embedding)),
        paste_back=False,
    )
    source = Source((Portrait(frame, Face(np.zeros(4, np.float32), points, 1.0)),), embedding)
    ours = inswapper.CARDS[0].open(Runner(path)).swap(source, aligned(crop)).crop
    assert np.ptp(theirs) > 100
    # insightface cuts the fraction off, ours rounds
    assert np.abs(ours.astype(int) - theirs).max() <= 1


@pytest.mark.parametrize("card", crossface.CARDS, ids=lambda card: card.name)
def test_a_converter_hands_the_embedding_over_as_it_is(card, tmp_path) -> None:
    path, runner_input = tmp_path / "convert.onnx", (rng.standard_normal(LENGTH) * 9)
    matrix = np.random.default_rng(5).standard_normal((LENGTH, LENGTH)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["input", "matrix"], ["output"])],
        "convert",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, LENGTH])],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, [1, LENGTH])],
        [numpy_helper.from_array(matrix, "matrix")],
    )
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    embedding = runner_input.astype(np.float32)
    before = embedding.copy()
    converter = card.open(Runner(path))
    converted = converter.convert(embedding)
    assert converted.shape == (LENGTH,)
    assert converted.dtype == np.float32
    assert np.allclose(converted, before @ matrix, rtol=1e-4, atol=1e-2)
    assert np.array_equal(embedding, before)
    with pytest.raises(BrokenOutputError):
        converter.convert(np.full(LENGTH, np.nan, np.float32))


def test_a_swapper_that_names_a_converter_names_one_that_is_there() -> None:
    converters = {card.name for card in crossface.CARDS}
    assert {card.converter for card in SWAPPERS if card.converter} == converters
    assert all(card.recognizer == "arcface" for card in SWAPPERS if not card.source_template)
    assert not any(card.recognizer for card in SWAPPERS if card.source_template)


def test_no_two_files_share_a_name() -> None:
    cards = [*SWAPPERS, *crossface.CARDS]
    paths = [card.weights.path for card in cards]
    assert len(set(paths)) == len(paths)
    assert all(url.startswith("https://") for card in cards for url in card.weights.urls)
