"""Guards what the page does, without a browser: swapped colours, an error that hides or loses its
hint, a message that runs as HTML, a job that goes on after Stop."""

import json
import threading
import time
from pathlib import Path

import cv2
import numpy as np
import psutil
import pytest
from PIL import Image

from facefusion_ui.registry.registry import Registry
from facefusion_ui.settings import Settings, make_settings
from facefusion_ui.ui import handlers, texts
from facefusion_ui.ui.controls import shown_fields
from facefusion_ui.ui.handlers import Desk, View
from tests.conftest import load

DEFAULTS = {
    name: getattr(Settings(), name) for basic in (True, False) for name in shown_fields(basic=basic)
}


def views_of(desk: Desk, sources: list[Path], target: Path | None, **changes) -> list[View]:
    named = None if target is None else str(target)
    return list(handlers.swap(desk, list(map(str, sources)), named, DEFAULTS | changes))


def test_a_photo_becomes_a_pair_of_files(desk: Desk, astronaut_path, hopper_path) -> None:
    first, *_, last = views_of(desk, [hopper_path], astronaut_path)
    assert first.running
    assert not last.running
    assert last.pair is not None
    before, after = last.pair
    assert before == str(astronaut_path)
    assert (load(Path(before)) != load(Path(after))).any()
    assert last.files[0] == after
    assert all(Path(file).is_file() for file in last.files)
    assert "1 face swapped" in last.status
    assert last.messages == ""


def test_what_a_browser_cannot_show_is_shown_as_rgb(
    desk: Desk, tmp_path, astronaut, hopper_path
) -> None:
    target = tmp_path / "scan.tiff"
    cv2.imwrite(str(target), astronaut)
    pair = views_of(desk, [hopper_path], target)[-1].pair
    assert pair is not None
    for picture in pair:
        red, _, blue = np.asarray(picture)[330, 240]  # the orange suit
        assert red > blue + 80


def test_a_clip_shows_progress_and_becomes_a_player(desk: Desk, face_clip, hopper_path) -> None:
    views = views_of(desk, [hopper_path], face_clip, output_video_preset="ultrafast")
    assert any(view.live is not None and "of 12" in view.status for view in views)
    assert "<video" in views[-1].player
    assert views[-1].files[0].endswith("short-swapped.mp4")


def test_an_animation_stays_one(desk: Desk, tmp_path, astronaut_path, hopper_path) -> None:
    target = tmp_path / "moving.gif"
    frames = [Image.open(astronaut_path).rotate(angle) for angle in (0, 2)]
    frames[0].save(target, save_all=True, append_images=frames[1:], duration=100)
    last = views_of(desk, [hopper_path], target)[-1]
    assert "<img" in last.player
    assert last.files[0].endswith("moving-swapped.gif")


def test_a_warning_is_kept_beside_the_result(desk: Desk, astronaut_path, crowd_path) -> None:
    last = views_of(desk, [crowd_path], astronaut_path)[-1]
    assert "shows 6 faces; the largest is used" in last.messages
    assert "Cut the picture to one face" in last.messages
    assert last.pair is not None


@pytest.mark.parametrize(
    ("sources", "target", "sentence", "hint"),
    [
        ([], "target", texts.NEEDS_SOURCE, texts.ADD_SOURCE),
        (["source"], None, texts.NEEDS_TARGET, texts.ADD_TARGET),
        (["wall"], "target", "No face was found in the source wall.png", "from the front"),
        (["source"], "wall", "No face was found in the target wall.png", "from the front"),
        (["source"], "text", "&lt;b&gt;.png is not a photo or a video", "JPEG"),
    ],
)
def test_an_error_is_a_sentence_and_a_next_step(
    desk: Desk, tmp_path, astronaut_path, hopper_path, sources, target, sentence, hint
) -> None:
    wall, text = tmp_path / "wall.png", tmp_path / "<b>.png"
    cv2.imwrite(str(wall), np.full((300, 400, 3), 128, np.uint8))
    text.write_text("no picture", encoding="utf-8")
    known = {"source": hopper_path, "target": astronaut_path, "wall": wall, "text": text}
    last = views_of(desk, [known[name] for name in sources], known[target] if target else None)[-1]
    assert sentence in last.messages
    assert hint in last.messages
    assert "role='alert'" in last.messages
    assert not last.running
    assert list((tmp_path / "desk").iterdir()) == []


def test_an_option_out_of_range_is_named(desk: Desk, astronaut_path, hopper_path) -> None:
    last = views_of(desk, [hopper_path], astronaut_path, face_mask_padding="1 2 three 4")[-1]
    assert "face_mask_padding" in last.messages


def test_closing_a_job_ends_its_processes_and_removes_its_files(
    desk: Desk, tmp_path, long_clip, hopper_path
) -> None:
    views = handlers.swap(desk, [str(hopper_path)], str(long_clip), DEFAULTS)
    while next(views).live is None:
        pass
    assert psutil.Process().children()
    views.close()
    assert psutil.Process().children() == []
    assert list((tmp_path / "desk").iterdir()) == []


def test_closing_the_desk_ends_the_job_in_hand(desk: Desk, long_clip, hopper_path) -> None:
    views = handlers.swap(desk, [str(hopper_path)], str(long_clip), DEFAULTS)
    while next(views).live is None:
        pass
    desk.close(patience_s=0)
    assert len(list(views)) <= 1
    assert psutil.Process().children() == []


def test_the_target_is_looked_at_before_any_job(tmp_path, face_clip, hopper_path) -> None:
    picture, said = handlers.show_target(str(face_clip))
    assert picture is not None
    assert picture.shape == (192, 256, 3)
    assert said == "256 × 192, 12 frames, 25 fps, 0.48 s"
    assert handlers.show_target(str(hopper_path))[1] == "512 × 600"
    assert handlers.show_target(None) == (None, texts.TARGET_HELP)
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(face_clip.read_bytes()[:2000])
    picture, said = handlers.show_target(str(broken))
    assert picture is None
    assert "cut off" in said


def test_sources_are_looked_at_before_any_job(tmp_path, hopper_path) -> None:
    broken = tmp_path / "broken.jpg"
    broken.write_bytes(b"")
    pictures, said = handlers.show_sources([str(hopper_path), str(broken)])
    assert [picture.shape for picture in pictures] == [(480, 410, 3)]
    assert "broken.jpg is empty" in said


def test_a_preset_reaches_the_job_where_the_page_has_no_control(
    desk: Desk, astronaut_path, hopper_path
) -> None:
    named = handlers.swap(desk, [str(hopper_path)], str(astronaut_path), DEFAULTS, "4gb")
    *_, last = named
    report = json.loads(Path(last.files[1]).read_text(encoding="utf-8"))
    assert report["settings"]["video_memory_strategy"] == "strict"
    assert report["settings"]["video_memory_limit"] == 4_000_000_000
    assert report["settings"]["face_detector_size"] == DEFAULTS["face_detector_size"]


def test_options_given_at_the_start_hold_for_the_pages_jobs(
    registry, tmp_path, astronaut_path, hopper_path
) -> None:
    started = make_settings({"allow_lossy_fallback": False, "video_memory_strategy": "tolerant"})
    desk = Desk(registry, tmp_path, started, "cpu")
    *_, last = handlers.swap(desk, [str(hopper_path)], str(astronaut_path), DEFAULTS, "cpu")
    report = json.loads(Path(last.files[1]).read_text(encoding="utf-8"))
    assert report["settings"]["allow_lossy_fallback"] is False
    assert report["settings"]["video_memory_strategy"] == "tolerant"


def test_choosing_a_preset_sets_its_controls_and_resets_what_it_leaves_alone() -> None:
    assert handlers.preset_controls("12gb")["face_detector_size"] == 960
    assert handlers.preset_controls("12gb")["target_face_size"] is None
    assert handlers.preset_controls("4gb")["target_face_size"] == 720
    assert set(handlers.preset_controls("4gb")) == set(handlers.preset_controls("cpu"))
    assert "video_memory_limit" not in handlers.preset_controls("4gb")


def test_the_memory_is_freed_at_once_or_when_nobody_works(
    tmp_path, astronaut_path, hopper_path
) -> None:
    with Registry(("cpu",), emulate_bytes=100_000_000) as registry:
        desk = Desk(registry, tmp_path)
        views_of(desk, [hopper_path], astronaut_path)
        assert "centerface: 7 MB on the card" in handlers.memory_html(desk)
        assert "93 MB free of 100 MB" in handlers.memory_html(desk)
        assert desk.release()
        assert "No model is open" in handlers.memory_html(desk)
        assert "100 MB free of 100 MB" in handlers.memory_html(desk)

        views_of(desk, [hopper_path], astronaut_path)
        watcher = threading.Thread(target=desk.release_when_idle, args=(0.05,))
        watcher.start()
        for _ in range(100):
            if not registry.status():
                break
            time.sleep(0.05)
        assert registry.status() == []
        desk.close()
        watcher.join(timeout=5)
        assert not watcher.is_alive()


def test_a_running_job_keeps_its_models(desk: Desk, astronaut_path, hopper_path) -> None:
    views = handlers.swap(desk, [str(hopper_path)], str(astronaut_path), DEFAULTS)
    events = desk.events(
        make_settings(
            {
                "source_paths": [hopper_path],
                "target_path": astronaut_path,
                "output_path": desk.new_folder(),
            }
        )
    )
    next(events)
    assert not desk.release()
    assert desk.registry.status()
    events.close()
    views.close()
