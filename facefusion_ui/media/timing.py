"""The constant frame rate behind the time stamps of a clip.

Time stamps are rounded to the container's clock, so a steady clip never looks perfectly steady.
A rate explains a clip when each frame, put to the nearest tick of that rate, has a tick of its
own near by; the clip is steady when no tick is left empty.
"""

from collections.abc import Iterable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

STANDARD_RATES = tuple(
    Fraction(rate)
    for rate in (
        *("8", "10", "12", "12.5", "15", "16", "20", "24000/1001", "24", "25", "30000/1001", "30"),
        *("48", "50", "60000/1001", "60", "72", "90", "100", "120000/1001", "120", "144", "240"),
    )
)
MOST_COLLISIONS = 0.005  # of the frames; a single late frame must not make a 240 fps clip
EXACT_S = 0.002  # what clocks of a millisecond make of an exact rate
MOST_MOVED_S = 0.021  # of a frame by being put to its tick: half a frame at 24 fps, nobody sees it
FASTEST_GUESS = Fraction(
    60
)  # an uneven clip is not put on a faster timeline, unless faster on average


def find_rate(times_s: NDArray[np.float64], hints: Iterable[Fraction]) -> tuple[Fraction, bool]:
    """Return the base rate of frames shown at `times_s`, and whether they come at uneven times.

    Args:
        times_s: (N,) float64, ascending, seconds; N >= 2 and the last later than the first.
        hints: rates the container claims; used where they fit, never trusted.

    >>> find_rate(np.array([0, 0.033, 0.067, 0.1]), [])
    (Fraction(30, 1), False)
    >>> find_rate(np.array([0, 0.04, 0.08, 0.28, 0.32]), [])
    (Fraction(25, 1), True)
    """
    steps = len(times_s) - 1
    average = Fraction(steps / float(times_s[-1] - times_s[0])).limit_denominator(1001)
    claimed = list(hints)
    near = sorted(STANDARD_RATES, key=lambda rate: abs(rate / average - 1))
    steady = (
        [rate for rate in claimed if rate in STANDARD_RATES]
        + [rate for rate in near if abs(rate / average - 1) < Fraction(1, 100)]
        + [*claimed, average]
    )
    for rate in steady:
        ticks = frame_ticks(times_s, rate)
        if bool((np.diff(ticks) == 1).all()) and _moved_s(times_s, rate) <= MOST_MOVED_S:
            return rate, False

    fastest = average if average > FASTEST_GUESS else FASTEST_GUESS
    possible = sorted({*STANDARD_RATES, *claimed})
    possible = [rate for rate in possible if average * Fraction(99, 100) <= rate <= fastest]
    for most_moved_s in (EXACT_S, MOST_MOVED_S):
        for rate in possible:
            collisions = int((np.diff(frame_ticks(times_s, rate)) == 0).sum())
            if collisions <= MOST_COLLISIONS * steps and _moved_s(times_s, rate) <= most_moved_s:
                return rate, True
    return fastest, True


def frame_ticks(times_s: NDArray[np.float64], rate: Fraction) -> NDArray[np.int64]:
    """Return, for each time, the nearest tick of `rate`, counted from the first time."""
    ticks: NDArray[np.int64] = np.floor((times_s - times_s[0]) * float(rate) + 0.5).astype(np.int64)
    return ticks


def _moved_s(times_s: NDArray[np.float64], rate: Fraction) -> float:
    exact = (times_s - times_s[0]) * float(rate)
    return float(np.abs(exact - frame_ticks(times_s, rate)).max()) / float(rate)
