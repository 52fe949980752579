"""What a user is told while a job runs."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Warned:
    """Something the user should know; the job goes on. Each message is sent once per job."""

    message: str
    hint: str


@dataclass(frozen=True)
class SteppedDown:
    """Memory is short, and the job goes on with less. The first of its kind in a job is shown.

    Attributes:
        stage: the model's task.
        rung: what is done now; a name of `registry/ladder.py`.
        need_bytes: what the model was thought to need; None where nobody knows.
        free_bytes: of the card at that moment; None where it cannot be read.
        reason: the runtime's own words, or what was foreseen, in one line.
        lossless: whether the picture stays the same.
        message, hint: the same in plain words.
    """

    stage: str
    model: str
    rung: str
    need_bytes: int | None
    free_bytes: int | None
    reason: str
    lossless: bool
    message: str
    hint: str


@dataclass(frozen=True)
class SteppedUp:
    """Memory has come back, and a model takes `rung` again, which it had left."""

    stage: str
    model: str
    rung: str
    free_bytes: int | None
    message: str


def told_bytes(count: int) -> str:
    """Return a size as people say it.

    >>> told_bytes(7_304_518), told_bytes(1_614_656_396)
    ('7 MB', '1.61 GB')
    """
    return f"{count / 1e9:.2f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"
