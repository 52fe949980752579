"""Guards the page in a real browser: a first click without a result, a video that does not play, a
Stop that does not stop, an error nobody sees, a request to another machine."""

import time
from pathlib import Path

import cv2
import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.ui.conftest import Served

pytestmark = pytest.mark.browser

DONE_MS = 60_000


def choose(page: Page, slot: str, path: Path) -> None:
    """Replace the file in a slot by `path`, as a visitor does."""
    page.click(f"#{slot} button[aria-label='Clear'], #{slot} button[aria-label='Remove']")
    page.set_input_files(f"#{slot} input[type=file]", path)
    expect(page.locator(f"#{slot}")).to_contain_text(path.suffix)


def until(condition) -> None:
    for _ in range(100):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("it did not come to be")


def test_the_first_click_swaps_the_sample_pair(page: Page, served: Served) -> None:
    page.click("#swap")
    expect(page.locator("#status")).to_contain_text("1 face swapped", timeout=DONE_MS)
    expect(page.locator("#pair img")).to_have_count(2)
    before, after = page.locator("#pair img").all()
    for image in (before, after):
        assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") == 512
    assert before.get_attribute("src") != after.get_attribute("src")
    with page.expect_download() as kept:
        page.click("#files a >> nth=0")
    assert kept.value.suggested_filename == "astronaut-swapped.png"
    assert cv2.imread(str(kept.value.path())).shape == (512, 512, 3)


def test_a_video_is_swapped_and_plays(page: Page, face_clip: Path) -> None:
    choose(page, "target", face_clip)
    expect(page.locator("#inputs")).to_contain_text("256 × 192, 12 frames, 25 fps")
    page.click("#swap")
    expect(page.locator("#status")).to_contain_text("in 12 frames", timeout=DONE_MS)
    video = page.locator("#player video")
    video.evaluate("video => video.play()")
    page.wait_for_function("() => document.querySelector('#player video').currentTime > 0.1")
    assert video.evaluate("video => [video.videoWidth, video.videoHeight]") == [256, 192]


def test_stop_ends_the_job_and_the_next_one_starts(
    page: Page, served: Served, long_clip: Path, astronaut_path: Path
) -> None:
    before = served.results()
    choose(page, "target", long_clip)
    page.click("#swap")
    expect(page.locator("#status")).to_contain_text("of 300", timeout=DONE_MS)
    expect(page.locator("#live img")).to_be_visible()
    assert served.works()
    page.click("#stop")
    expect(page.locator("#status")).to_contain_text("Stopped")
    until(lambda: not served.works())
    assert served.results() == before
    choose(page, "target", astronaut_path)
    page.click("#swap")
    expect(page.locator("#status")).to_contain_text("1 face swapped", timeout=DONE_MS)


def test_a_job_started_right_after_stop_is_not_called_stopped(page: Page, long_clip: Path) -> None:
    choose(page, "target", long_clip)
    page.click("#swap")
    expect(page.locator("#status")).to_contain_text("of 300", timeout=DONE_MS)
    page.click("#stop")
    expect(page.locator("#status")).to_contain_text("Stopped")
    page.evaluate(
        """() => {
            const status = document.getElementById('status');
            window.said = [];
            new MutationObserver(() => window.said.push(status.innerText)).observe(
                status, {childList: true, subtree: true, characterData: true});
        }"""
    )
    page.click("#swap")
    expect(page.locator("#status")).to_contain_text("of 300", timeout=DONE_MS)
    expect(page.locator("#stop")).to_be_enabled()
    page.wait_for_timeout(1000)
    said = page.evaluate("window.said")
    started = next(i for i, text in enumerate(said) if "Starting" in text)
    assert not [text for text in said[started:] if "Stopped" in text]
    page.click("#stop")


def test_a_second_visitor_waits_and_may_give_up(
    page: Page, served: Served, long_clip: Path
) -> None:
    choose(page, "target", long_clip)
    page.click("#swap")
    expect(page.locator("#status")).to_contain_text("of 300", timeout=DONE_MS)
    other = page.context.browser.new_page()
    other.goto(served.address)
    other.wait_for_selector("#scene img")
    other.click("#swap")
    expect(other.locator("#status")).to_contain_text("Waiting for its turn")
    other.click("#stop")
    expect(other.locator("#status")).to_contain_text("Stopped")
    expect(page.locator("#status")).to_contain_text("of 300")
    page.click("#stop")
    until(lambda: not served.works())
    other.click("#swap")
    expect(other.locator("#status")).to_contain_text("1 face swapped", timeout=DONE_MS)
    other.close()


def test_closing_the_tab_ends_its_job(page: Page, served: Served, long_clip: Path) -> None:
    before = served.results()
    choose(page, "target", long_clip)
    page.click("#swap")
    expect(page.locator("#status")).to_contain_text("of 300", timeout=DONE_MS)
    page.close()
    until(lambda: not served.works())
    assert served.results() == before


def test_a_picture_without_a_face_is_named_and_nothing_is_lost(page: Page, tmp_path: Path) -> None:
    wall = tmp_path / "wall.png"
    cv2.imwrite(str(wall), np.full((300, 400, 3), 128, np.uint8))
    choose(page, "target", wall)
    page.click("#swap")
    message = page.locator("#messages [role=alert]")
    expect(message).to_contain_text("No face was found in the target wall.png", timeout=DONE_MS)
    expect(message).to_contain_text("Use a picture that shows the face from the front")
    expect(page.locator("#sources")).to_contain_text(".jpg")
    expect(page.locator("#target")).to_contain_text(".png")
    expect(page.locator("#swap")).to_be_enabled()


def test_an_empty_slot_is_named(page: Page) -> None:
    page.click("#sources button[aria-label='Clear'], #sources button[aria-label='Remove']")
    page.click("#swap")
    expect(page.locator("#messages")).to_contain_text("There is no face to put on")


def test_the_page_fits_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator("#inputs").bounding_box()["width"] > 360
    page.click("#swap")
    expect(page.locator("#status")).to_contain_text("1 face swapped", timeout=DONE_MS)
    expect(page.locator("#status")).to_be_in_viewport()


def test_a_preset_sets_the_options_and_the_memory_can_be_freed(page: Page) -> None:
    page.click("#preset input")
    page.click("li[role=option]:has-text('12gb')")
    page.click("#more button:has-text('More about faces')")
    expect(page.locator("#face_detector_size input[type=number]")).to_have_value("960")
    page.click("#swap")
    expect(page.locator("#status")).to_contain_text("1 face swapped", timeout=DONE_MS)
    page.click("#machine button")
    expect(page.locator("#memory")).to_contain_text("dlib_68: 100 MB on the processor")
    page.click("#free")
    expect(page.locator("#memory")).to_contain_text("No model is open")
