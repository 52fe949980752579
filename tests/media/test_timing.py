"""Guards against sound that drifts from the picture: a base rate read wrongly from time stamps."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facefusion_ui.media.timing import STANDARD_RATES, find_rate, frame_ticks


@given(
    rate=st.sampled_from([rate for rate in STANDARD_RATES if rate <= 120]),
    clock=st.sampled_from([1000, 12800, 90000]),
    frames=st.integers(30, 2000),
)
def test_a_steady_clip_keeps_its_exact_rate_on_any_clock(
    rate: Fraction, clock: int, frames: int
) -> None:
    times_s = np.round(np.arange(frames) / float(rate) * clock) / clock
    found, variable = find_rate(times_s, [rate])
    assert (found, variable) == (rate, False)


@pytest.mark.parametrize("rate", [Fraction(24), Fraction(25), Fraction(30000, 1001), Fraction(60)])
def test_without_a_claim_the_nearest_standard_rate_is_found(rate: Fraction) -> None:
    times_s = np.round(np.arange(300) / float(rate) * 1000) / 1000
    assert find_rate(times_s, []) == (rate, False)


def test_a_false_claim_of_240_fps_is_not_believed() -> None:
    times_s = np.arange(100) / 30
    assert find_rate(times_s, [Fraction(240), Fraction(90000)]) == (Fraction(30), False)


@given(st.sets(st.integers(1, 198), min_size=20, max_size=150))
def test_missing_frames_leave_the_base_rate_and_every_frame_its_own_tick(gone: set[int]) -> None:
    times_s = np.array([i / 25 for i in range(200) if i not in gone])
    rate, variable = find_rate(times_s, [Fraction(25)])
    assert variable
    assert (np.diff(frame_ticks(times_s, rate)) > 0).all()
    assert rate <= 25


def test_shaky_phone_times_do_not_make_a_240_fps_clip() -> None:
    shake = np.random.default_rng(0).uniform(-0.004, 0.004, 900)
    times_s = np.sort(np.arange(900) / 30 + shake)
    times_s[500] = times_s[499] + 0.005  # one frame much too early
    rate, _ = find_rate(times_s, [])
    assert rate <= 60


def test_a_slide_show_is_put_on_ticks_that_keep_each_slide_to_its_time() -> None:
    times_s = np.array([0, 0.4, 1.0])
    rate, variable = find_rate(times_s, [Fraction(2)])
    moved_s = np.abs(frame_ticks(times_s, rate) / float(rate) - times_s)
    assert variable
    assert moved_s.max() <= 0.021
