"""What can go wrong, and the next thing to do about it.

FaceFusionError          every error of ours; `.hint` is the next step, in one sentence
├── SettingsError        an option is unknown, out of range, or does not fit another one
├── InputError           a file the user named is missing, unreadable, damaged or too large
├── NoFaceError          a picture that must show a face shows none
├── OutputError          the output cannot be written (folder, disk, name)
├── ModelError           a model is unknown, missing, or its file is not what its card says
│   └── BrokenOutputError  a model answered with no picture: not numbers, or one flat colour
├── OutOfMemoryError     a model does not fit in memory, and nothing that may be tried is left
├── DeviceError          the asked execution provider does not run on this machine
└── FfmpegError          ffmpeg is missing, lacks an encoder, or failed; its last words are kept
"""

from functools import partial
from typing import Any


class FaceFusionError(Exception):
    """An error with a next step.

    >>> error = InputError("a.jpg is not there", hint="Check the path.")
    >>> str(error), error.hint
    ('a.jpg is not there', 'Check the path.')
    """

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(message)
        self.hint = hint

    def __reduce__(self) -> tuple[Any, ...]:  # so that it passes from one process to another
        return partial(type(self), hint=self.hint), self.args


class SettingsError(FaceFusionError):
    """An option is unknown, out of range, or does not fit another one."""


class InputError(FaceFusionError):
    """A file the user named is missing, unreadable, damaged or too large."""


class NoFaceError(FaceFusionError):
    """A picture that must show a face shows none."""


class OutputError(FaceFusionError):
    """The output cannot be written."""


class ModelError(FaceFusionError):
    """A model is unknown, missing, or its file is not what its card says."""


class BrokenOutputError(ModelError):
    """A model answered with no picture."""


class DeviceError(FaceFusionError):
    """The asked execution provider does not run on this machine."""


class OutOfMemoryError(FaceFusionError):
    """A model does not fit in memory, and nothing that may be tried is left."""


class FfmpegError(FaceFusionError):
    """ffmpeg is missing, lacks an encoder, or failed."""
