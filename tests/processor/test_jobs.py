"""Guards whole jobs: wrong person swapped, half files, settings that are read and not obeyed."""

import json
import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest

from facefusion_ui.errors import InputError, NoFaceError, OutputError, SettingsError
from facefusion_ui.events import Done, FrameReady
from facefusion_ui.notices import Warned
from facefusion_ui.processor.jobs import run_job
from facefusion_ui.registry.registry import Registry
from facefusion_ui.settings import make_settings
from tests.conftest import load


def run(registry: Registry, **settings) -> list:
    return list(run_job(make_settings(settings), registry))


def warnings_of(events: list) -> list[str]:
    return [event.message for event in events if isinstance(event, Warned)]


def changed(before, after):
    """Return the rectangle (left, top, right, bottom) in which two pictures differ."""
    rows, columns = np.nonzero((before != after).any(axis=-1))
    return columns.min(), rows.min(), columns.max() + 1, rows.max() + 1


@pytest.fixture(scope="session")
def couple(tmp_path_factory, astronaut, hopper) -> Path:
    """Both people side by side, the astronaut left."""
    path = tmp_path_factory.mktemp("couple") / "couple.png"
    cv2.imwrite(str(path), np.hstack([astronaut, hopper[:512]]))
    return path


def test_a_photo_is_swapped_and_nothing_but_the_face_changes(
    registry, tmp_path, astronaut_path, astronaut, hopper_path
) -> None:
    out = tmp_path / "out.png"
    events = run(registry, source_paths=[hopper_path], target_path=astronaut_path, output_path=out)
    assert isinstance(events[-1], Done)
    left, top, right, bottom = changed(astronaut, load(out))
    assert 150 < left < right < 300
    assert 20 < top < bottom < 220
    (shown,) = [event.frame for event in events if isinstance(event, FrameReady)]
    assert np.array_equal(shown, load(out))


def test_the_report_says_what_ran(registry, tmp_path, astronaut_path, hopper_path) -> None:
    report_path = tmp_path / "report.json"
    run(
        registry,
        source_paths=[hopper_path],
        target_path=astronaut_path,
        output_path=tmp_path / "out.png",
        report_path=report_path,
    )
    report = json.loads(report_path.read_text(encoding="utf-8"))
    assert (report["frames"], report["faces_swapped"], report["device"]) == (1, 1, "cpu")
    licences = {model["name"]: model["licence"] for model in report["models"]}
    assert set(licences) == {"centerface", "dlib_68", "landmark_warp"}
    assert licences["centerface"] == "MIT"
    assert set(report["seconds"]) >= {"face_detector", "face_landmarker", "face_swapper", "write"}
    assert sum(report["seconds"].values()) <= report["total_seconds"] + 0.01
    assert report["peak_memory_bytes"] > 50e6
    assert report["settings"]["face_swapper_model"] == "landmark_warp"


@pytest.mark.parametrize(
    ("mode", "sides"), [("one", {"left"}), ("many", {"left", "right"}), ("reference", {"right"})]
)
def test_the_chosen_people_are_swapped_and_nobody_else(
    registry, tmp_path, couple, crowd_path, mode, sides
) -> None:
    out = tmp_path / "out.png"
    run(
        registry,
        source_paths=[crowd_path],
        target_path=couple,
        output_path=out,
        face_selector_mode=mode,
        face_selector_order="left-right",
        reference_face_position=1,
    )
    differs = (load(couple) != load(out)).any(axis=-1)
    halves = {"left": differs[:, :512].any(), "right": differs[:, 512:].any()}
    assert {side for side, swapped in halves.items() if swapped} == sides


def test_a_source_with_several_people_is_said(registry, tmp_path, astronaut_path, crowd_path):
    events = run(
        registry,
        source_paths=[crowd_path],
        target_path=astronaut_path,
        output_path=tmp_path / "out.png",
    )
    assert warnings_of(events) == ["The source t1.jpg shows 6 faces; the largest is used."]


def test_a_folder_as_output_gets_a_named_file(registry, tmp_path, astronaut_path, hopper_path):
    done = run(
        registry, source_paths=[hopper_path], target_path=astronaut_path, output_path=tmp_path
    )[-1]
    assert done.output_path == tmp_path / "astronaut-swapped.png"
    assert done.output_path.is_file()


@pytest.mark.parametrize("side", ["source", "target"])
def test_the_input_without_a_face_is_named(registry, tmp_path, astronaut_path, side) -> None:
    empty = tmp_path / "wall.png"
    cv2.imwrite(str(empty), np.full((300, 400, 3), 128, np.uint8))
    source, target = (empty, astronaut_path) if side == "source" else (astronaut_path, empty)
    out = tmp_path / "out" / "out.png"
    with pytest.raises(NoFaceError, match=f"No face was found in the {side} wall.png"):
        run(registry, source_paths=[source], target_path=target, output_path=out)
    assert list(out.parent.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"target_path": None}, SettingsError, "no target"),
        ({"output_path": None}, SettingsError, "no output path"),
        ({"source_paths": []}, InputError, "no source picture"),
        ({"source_paths": ["gone.png"]}, InputError, "gone.png"),
        ({"target_path": "gone.png"}, InputError, "gone.png"),
        ({"output_path": "out.docx"}, OutputError, "docx"),
        ({"reference_face_position": 7, "face_selector_mode": "reference"}, NoFaceError, "shows 1"),
    ],
)
def test_bad_input_is_said_in_one_sentence_with_a_next_step(
    registry, tmp_path, monkeypatch, astronaut_path, hopper_path, change, error, message
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = {
        "source_paths": [hopper_path],
        "target_path": astronaut_path,
        "output_path": "out.png",
    }
    with pytest.raises(error, match=message) as caught:
        run(registry, **settings | change)
    assert caught.value.hint
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_the_output_may_not_be_an_input(registry, tmp_path, astronaut_path, hopper_path) -> None:
    target = tmp_path / "target.png"
    shutil.copy(astronaut_path, target)
    before = target.read_bytes()
    with pytest.raises(OutputError, match="one of the inputs"):
        run(registry, source_paths=[hopper_path], target_path=target, output_path=target)
    assert target.read_bytes() == before
