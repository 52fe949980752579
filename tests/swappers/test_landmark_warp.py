"""Guards the picture a newcomer sees first: a swap that is not the source, moves the target's face,
shows a seam, changes what lies beyond the face, mixes colours up or flickers.

Figures are of the public-domain pair, in both directions, with the models of the embedded engine.
"""

from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np
import pytest

from facefusion_ui.arrays import Frame, Mask
from facefusion_ui.faces import Face, Portrait, Source, SwappedFace
from facefusion_ui.processor.analyser import Analyser
from facefusion_ui.processor.record import Record
from facefusion_ui.registry.catalog import card
from facefusion_ui.settings import Settings
from facefusion_ui.steps.align import align, paste
from facefusion_ui.swappers.landmark_warp.glasses import wears_glasses
from facefusion_ui.swappers.landmark_warp.masks import cheeks
from facefusion_ui.swappers.landmark_warp.mesh import eyes_px


@dataclass
class Person:
    frame: Frame
    face: Face


@dataclass
class Swap:
    source: Person
    target: Person
    result: Person
    mask: Mask  # in the frame


@pytest.fixture(scope="session")
def analyser(registry) -> Analyser:
    settings = Settings()
    return Analyser(settings, Record(settings, registry))


@pytest.fixture(scope="session")
def people(analyser, astronaut, hopper, crowd_path) -> dict[str, list[Person]]:
    crowd = cv2.imread(str(crowd_path))
    return {
        name: [
            Person(frame, analyser.with_embedding(frame, face, analyser.recognizer))
            for face in analyser.find(frame)
        ]
        for name, frame in (("astronaut", astronaut), ("hopper", hopper), ("crowd", crowd))
    }


@pytest.fixture(scope="session")
def swap(registry, analyser):
    swapper = card("landmark_warp", "face_swapper")

    def run(source: Person, target: Person) -> Swap:
        aligned = align(target.frame, target.face, swapper.template, swapper.size_px)
        whom = Source((Portrait(source.frame, source.face),), None)
        swapped: SwappedFace = registry.run(swapper, lambda model: model.swap(whom, aligned))
        frame = paste(target.frame, swapped.crop, swapped.mask, aligned.to_crop)
        nothing = np.zeros_like(target.frame)
        white = np.full_like(swapped.crop, 255)
        mask = paste(nothing, white, swapped.mask, aligned.to_crop)[..., 0] / np.float32(255)
        near = min(analyser.find(frame), key=lambda face: np.abs(face.box - target.face.box).sum())
        return Swap(
            source,
            target,
            Person(frame, analyser.with_embedding(frame, near, analyser.recognizer)),
            mask,
        )

    return run


@pytest.fixture(scope="session")
def pair(swap, people) -> dict[str, Swap]:
    (astronaut,), (hopper,) = people["astronaut"], people["hopper"]
    return {
        "hopper on astronaut": swap(hopper, astronaut),
        "astronaut on hopper": swap(astronaut, hopper),
    }


WAYS = ["hopper on astronaut", "astronaut on hopper"]


def apart(a: Person, b: Person) -> float:
    """Return dlib's distance of two faces: below about 0.6 they pass for one person."""
    return float(np.linalg.norm(a.face.embedding - b.face.embedding))


@pytest.mark.parametrize(
    ("way", "farthest", "gap"),
    [("hopper on astronaut", 0.42, 0.18), ("astronaut on hopper", 0.58, 0.05)],
)
def test_the_result_is_the_source_and_no_longer_the_target(pair, way, farthest, gap) -> None:
    done = pair[way]
    to_source, to_target = apart(done.result, done.source), apart(done.result, done.target)
    assert to_source <= farthest
    assert to_target - to_source >= gap


@pytest.mark.parametrize("way", WAYS)
def test_the_face_stays_where_the_targets_was(pair, way) -> None:
    wanted, got = pair[way].target.face.landmarks, pair[way].result.face.landmarks
    error = np.linalg.norm(wanted - got, axis=1).mean() / eyes_px(wanted)
    assert error <= 0.04


@pytest.mark.parametrize("way", WAYS)
def test_nothing_beyond_the_mask_changes(pair, way) -> None:
    done = pair[way]
    outside = done.mask == 0
    assert np.array_equal(done.result.frame[outside], done.target.frame[outside])
    assert 0.01 < (done.mask > 0.5).mean() < 0.2


def edge_step(frame: Frame, mask: Mask, reach_px: float = 3) -> float:
    """Return the mean Lab distance between 3 px inside and 3 px outside the mask's edge."""
    lab = cv2.cvtColor(frame.astype(np.float32) / 255, cv2.COLOR_BGR2LAB)
    soft = cv2.GaussianBlur(mask, (0, 0), 2)
    inwards = np.dstack([cv2.Sobel(soft, cv2.CV_32F, 1, 0), cv2.Sobel(soft, cv2.CV_32F, 0, 1)])
    inwards /= np.linalg.norm(inwards, axis=-1, keepdims=True) + 1e-9
    solid = (mask > 0.5).astype(np.uint8)
    rows, columns = np.nonzero(solid - cv2.erode(solid, np.ones((3, 3), np.uint8)))
    way = inwards[rows, columns] * reach_px
    sides = [
        cv2.remap(
            lab,
            (columns + sign * way[:, 0]).astype(np.float32)[None],
            (rows + sign * way[:, 1]).astype(np.float32)[None],
            cv2.INTER_LINEAR,
        )[0]
        for sign in (1, -1)
    ]
    return float(np.linalg.norm(sides[0] - sides[1], axis=-1).mean())


@pytest.mark.parametrize("way", WAYS)
def test_no_seam_shows_at_the_masks_edge(pair, way) -> None:
    done = pair[way]
    before = edge_step(done.target.frame, done.mask)
    assert edge_step(done.result.frame, done.mask) <= 1.3 * before


@pytest.mark.parametrize("way", WAYS)
def test_the_swapped_skin_is_as_grainy_as_the_frames(pair, way) -> None:
    done = pair[way]
    points = done.target.face.landmarks
    plain = cheeks((done.mask.shape[1], done.mask.shape[0]), points) * (done.mask > 0.9) > 0

    def grain(frame: Frame) -> float:
        grey = cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY).astype(np.float32)
        return float(np.median(np.abs(grey - cv2.GaussianBlur(grey, (0, 0), 1.0))[plain]))

    assert grain(done.result.frame) == pytest.approx(grain(done.target.frame), rel=0.35)


def test_the_targets_wrinkles_and_rims_do_not_show_through(pair) -> None:
    done = pair["astronaut on hopper"]
    points = done.target.face.landmarks
    eyes = cv2.convexHull(np.concatenate([points[36:48], points[[1, 15, 30]]]).astype(np.int32))
    under = np.zeros(done.mask.shape, np.uint8)
    cv2.fillConvexPoly(under, eyes, 1)  # her glasses lie here
    under = (under > 0) & (done.mask > 0.95)

    def fine(frame: Frame) -> np.ndarray:
        grey = cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY).astype(np.float32)
        return (grey - cv2.GaussianBlur(grey, (0, 0), 1.0))[under]

    alike = np.corrcoef(fine(done.result.frame), fine(done.target.frame))[0, 1]
    assert alike < 0.2


def test_shadows_take_the_colour_of_the_targets_shadows(swap, people) -> None:
    (astronaut,) = people["astronaut"]
    differences = []
    for target in people["crowd"]:  # warmly lit: their shadows are orange, hers are grey
        done = swap(astronaut, target)
        size_wh = (done.mask.shape[1], done.mask.shape[0])
        plain = (cheeks(size_wh, target.face.landmarks) > 0) & (done.mask > 0.9)
        colours = []
        for frame in (done.result.frame, target.frame):
            skin = cv2.cvtColor(frame, cv2.COLOR_BGR2LAB).astype(int)[plain]
            dark = skin[:, 0] <= np.quantile(skin[:, 0], 0.2)
            colours.append(skin[dark, 1:].mean(axis=0))
        differences.append(np.linalg.norm(colours[0] - colours[1]))
    assert np.mean(differences) < 9


@pytest.mark.parametrize("index", range(6))
def test_what_is_dark_and_grey_on_a_colourful_source_does_not_turn_green(
    swap, people, index
) -> None:
    (astronaut,) = people["astronaut"]
    done = swap(people["crowd"][index], astronaut)
    lab = cv2.cvtColor(done.result.frame, cv2.COLOR_BGR2LAB).astype(int)
    points = astronaut.face.landmarks
    eyes = np.zeros(done.mask.shape, np.uint8)
    for part in (points[36:42], points[42:48]):
        cv2.fillConvexPoly(eyes, cv2.convexHull(part.astype(np.int32)), 1)
    eyes = cv2.dilate(eyes, np.ones((5, 5), np.uint8)) > 0
    dark = eyes & (done.mask > 0.9) & (lab[..., 0] < 130)
    assert dark.sum() > 20
    assert np.quantile(lab[dark][:, 1] - 128, 0.1) > 0  # below 0 is green


@pytest.mark.parametrize("name", ["astronaut", "hopper"])
def test_a_face_put_on_itself_changes_little(swap, people, name) -> None:
    (person,) = people[name]
    done = swap(person, person)
    difference = np.abs(done.result.frame.astype(int) - person.frame)[done.mask > 0]
    assert difference.mean() < 3
    assert apart(done.result, person) < 0.1


def test_a_red_source_does_not_come_out_blue(swap, people) -> None:
    (astronaut,), (hopper,) = people["astronaut"], people["hopper"]
    red = hopper.frame.copy()
    points = hopper.face.landmarks[48:60].astype(np.int32)  # lips: colour that is the source's own
    cv2.fillPoly(red, [points], (20, 20, 230))
    done = swap(Person(red, hopper.face), astronaut)
    lips = np.zeros(done.mask.shape, np.uint8)
    cv2.fillPoly(lips, [astronaut.face.landmarks[[49, 51, 53, 62]].astype(np.int32)], 1)
    blue, _, new_red = done.result.frame[(lips > 0) & (done.mask > 0.9)].mean(axis=0)
    assert new_red > blue + 60


def test_the_open_mouth_of_the_target_stays_when_the_source_keeps_hers_shut(pair) -> None:
    done = pair["hopper on astronaut"]
    teeth = np.zeros(done.mask.shape, np.uint8)
    cv2.fillPoly(teeth, [done.target.face.landmarks[60:68].astype(np.int32)], 1)
    teeth = cv2.erode(teeth, np.ones((3, 3), np.uint8)) > 0
    kept = np.abs(done.result.frame.astype(int) - done.target.frame)[teeth]
    assert np.median(kept) <= 8


def test_a_hat_stays_on(pair, people) -> None:
    done = pair["astronaut on hopper"]
    hat = cv2.cvtColor(done.target.frame, cv2.COLOR_BGR2GRAY) < 40
    hat[int(done.target.face.landmarks[17:27, 1].min()) :] = False
    changed = np.abs(done.result.frame.astype(int) - done.target.frame).max(axis=-1)
    assert hat.sum() > 2000
    assert changed[hat].max() <= 2


def test_a_fringe_down_to_the_brows_stays_in_front(swap, people) -> None:
    (astronaut,), (hopper,) = people["astronaut"], people["hopper"]
    points = astronaut.face.landmarks
    brow = int(points[17:27, 1].min()) - 2
    left, right = int(points[0, 0]), int(points[16, 0])
    frame = astronaut.frame.copy()
    strands = np.random.default_rng(0).integers(20, 60, (40, right - left, 1), np.uint8)
    frame[brow - 40 : brow, left:right] = strands
    done = swap(hopper, Person(frame, astronaut.face))
    assert done.mask.max() == 1
    changed = np.abs(done.result.frame.astype(int) - frame)[brow - 40 : brow - 1, left:right]
    assert np.quantile(changed, 0.99) <= 2


def test_glasses_are_seen_and_bare_faces_are_not_taken_for_wearers(people) -> None:
    wearers = [
        (name, index)
        for name, persons in people.items()
        for index, person in enumerate(persons)
        if wears_glasses(person.frame, person.face.landmarks)
    ]
    assert wearers == [("hopper", 0)]


def test_the_targets_glasses_are_taken_off_whole(pair) -> None:
    done = pair["astronaut on hopper"]
    assert not wears_glasses(done.result.frame, done.result.face.landmarks)
    # the dark tips beside the eyes go too
    left, right = done.target.face.landmarks[0], done.target.face.landmarks[16]
    brow = int(done.target.face.landmarks[36, 1])
    grey = cv2.cvtColor(done.result.frame, cv2.COLOR_BGR2GRAY)
    tips = [grey[brow - 20 : brow, int(x) - 6 : int(x) + 12] for x in (left[0], right[0] - 6)]
    assert min(tip.min() for tip in tips) > 45


def test_the_sources_glasses_are_carried_over_whole(pair) -> None:
    done = pair["hopper on astronaut"]
    assert wears_glasses(done.result.frame, done.result.face.landmarks)


@pytest.mark.parametrize("index", range(6))
@pytest.mark.parametrize("name", ["astronaut", "hopper"])
def test_turned_and_tilted_faces_move_towards_the_source(swap, people, name, index) -> None:
    (source,) = people[name]
    target = people["crowd"][index]
    done = swap(source, target)
    assert apart(done.result, source) < apart(target, source) - 0.08
    # looser than for the pair: rims of glasses reach a turned face's edge
    assert edge_step(done.result.frame, done.mask) <= 1.4 * edge_step(target.frame, done.mask)


def test_a_face_cut_by_the_border_has_no_dark_rim(analyser, swap, people) -> None:
    (hopper,), (astronaut,) = people["hopper"], people["astronaut"]
    cut = np.ascontiguousarray(astronaut.frame[:, 205:])  # a quarter of the face is outside
    face = analyser.with_embedding(cut, analyser.find(cut)[0], analyser.recognizer)
    done = swap(hopper, Person(cut, face))
    rim, before = (
        cv2.cvtColor(frame[60:180, :3], cv2.COLOR_BGR2GRAY).astype(int)
        for frame in (done.result.frame, cut)
    )
    assert np.median(np.abs(rim - before)) < 40
    assert rim.min() > before.min() - 25


def test_the_same_frame_gives_the_same_picture(swap, people) -> None:
    (astronaut,), (hopper,) = people["astronaut"], people["hopper"]
    first, second = (swap(astronaut, hopper).result.frame for _ in range(2))
    assert np.array_equal(first, second)


def test_a_slowly_moving_face_does_not_flicker(analyser, swap, people) -> None:
    (hopper,), (astronaut,) = people["hopper"], people["astronaut"]
    shown = []
    for step in range(4):
        move = np.asarray([[1, 0, 0.25 * step], [0, 1, 0.25 * step]], np.float32)
        frame = cv2.warpAffine(astronaut.frame, move, (512, 512), borderMode=cv2.BORDER_REFLECT)
        face = analyser.with_embedding(frame, analyser.find(frame)[0], analyser.recognizer)
        done = swap(hopper, Person(frame, face))
        back = np.asarray([[1, 0, -0.25 * step], [0, 1, -0.25 * step]], np.float32)
        shown.append(cv2.warpAffine(done.result.frame, back, (512, 512)).astype(np.float32))
    inside = cv2.erode((done.mask > 0.5).astype(np.uint8), np.ones((7, 7), np.uint8)) > 0
    changes = [np.abs(b - a)[inside].mean() for a, b in pairwise(shown)]
    assert max(changes) < 6


def test_several_portraits_give_one_face_whatever_the_target(registry, people) -> None:
    (hopper,), (astronaut,) = people["hopper"], people["astronaut"]
    swapper = card("landmark_warp", "face_swapper")
    turned = people["crowd"][4]
    both = Source((Portrait(turned.frame, turned.face), Portrait(hopper.frame, hopper.face)), None)
    one = Source((Portrait(hopper.frame, hopper.face),), None)
    for target in (astronaut, people["crowd"][5]):  # frontal, and turned as the first portrait is
        aligned = align(target.frame, target.face, swapper.template, swapper.size_px)
        crops = [
            registry.run(swapper, lambda model, who=who, cut=aligned: model.swap(who, cut)).crop
            for who in (both, one)
        ]
        assert np.array_equal(*crops)
