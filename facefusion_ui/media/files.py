"""Where results are written: checked before frame 1, whole under their final name or not there.

A work file lies in the output's own folder, so that the last step is one rename. Its name carries
the machine, the process and the process's start, so that what a killed run left behind is known
for certain to be nobody's.
"""

import errno
import logging
import os
import platform
import re
import shutil
import uuid
import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from facefusion_ui.errors import OutputError
from facefusion_ui.media.info import Kind

PICTURE_SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".avif", ".bmp", ".tif", ".tiff")
ANIMATION_SUFFIXES = (".gif", ".webp", ".png", ".apng")
VIDEO_SUFFIXES = (".mp4", ".m4v", ".mov", ".mkv", ".webm")

SUFFIXES: dict[Kind, tuple[str, ...]] = {
    "image": PICTURE_SUFFIXES,
    "animation": VIDEO_SUFFIXES + ANIMATION_SUFFIXES,
    "video": (*VIDEO_SUFFIXES, ".gif", ".webp"),
}

WHAT: dict[Kind, str] = {"image": "a photo", "animation": "an animation", "video": "a video"}

_WORK_NAME = re.compile(r"\.facefusion-ui-(?P<node>[0-9a-f]{8})-(?P<pid>\d+)-(?P<started>\d+)-")

logger = logging.getLogger(__name__)


def check_output(output_path: Path, inputs: Collection[Path], *, kind: Kind) -> Path:
    """Make sure, before any work, that the result of a `kind` target can be written there.

    The folder is made if needed, a file is written in it and removed, and what killed runs left
    there is removed.

    Returns:
        The absolute path to write.

    Raises:
        OutputError: unknown extension, a folder, one of the `inputs` (also through a link
            or another spelling), or a folder that cannot be made or written.
    """
    path = Path(os.path.abspath(output_path.expanduser()))  # noqa: PTH100  keeps links as they are
    check_suffix(path, SUFFIXES[kind], WHAT[kind])
    if path.is_dir():
        raise OutputError(f"{path} is a folder", hint="Add a file name to it.")
    if any(_is_same_file(path, given) for given in inputs):
        raise OutputError(
            f"the output {path} is one of the inputs", hint="Choose another name; inputs are kept."
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(path.parent)
        trial = work_path(path)
        try:
            trial.write_bytes(b"?")
        finally:
            trial.unlink(missing_ok=True)
    except OSError as error:
        raise _output_error(error, path) from error
    return path


def check_suffix(path: Path, known: Collection[str], what: str) -> str:
    """Return `path`'s extension in lower case.

    Raises:
        OutputError: it is not one of `known`, those in which `what` can be written.
    """
    suffix = path.suffix.lower()
    if suffix not in known:
        raise OutputError(
            f"{path.name} has no extension" if not suffix else f"{what} cannot become a {suffix}",
            hint=f"Use one of {' '.join(dict.fromkeys(known))}.",
        )
    return suffix


def check_space(path: Path, need_bytes: int) -> None:
    """Raise OutputError unless the disk of `path` has `need_bytes` free."""
    try:
        free_bytes = shutil.disk_usage(path.parent).free
    except OSError as error:
        raise _output_error(error, path) from error
    if free_bytes < need_bytes:
        raise OutputError(
            f"{path.parent} has {free_bytes / 1e6:.0f} MB free, the result needs about "
            f"{need_bytes / 1e6:.0f} MB",
            hint="Free some space or choose another folder.",
        )


def work_path(path: Path) -> Path:
    """Name a new work file beside `path`: safe characters, the same extension, surely ours."""
    process = psutil.Process()
    token = f"{_node()}-{process.pid}-{int(process.create_time())}-{uuid.uuid4().hex[:8]}"
    return path.with_name(f".facefusion-ui-{token}{path.suffix.lower()}")


def remove_leftovers(folder: Path) -> None:
    """Remove the work files in `folder` whose process, on this machine, is gone."""
    for path in folder.iterdir():
        match = _WORK_NAME.match(path.name)
        if match is None or match["node"] != _node():
            continue
        if _is_running(int(match["pid"]), int(match["started"])):
            continue
        discard(path)
        logger.info("removed the leftover %s of a run that was killed", path)


def give_name(work: Path, path: Path) -> None:
    """Rename the finished `work` to `path`, in one step.

    Raises:
        OutputError: it cannot be done.
    """
    try:
        work.replace(path)
    except OSError as error:
        raise _output_error(error, path) from error


def discard(work: Path) -> None:
    """Remove a work file, if it is there; one that cannot be removed is left to the next run."""
    try:
        work.unlink(missing_ok=True)
    except OSError as error:
        logger.warning("could not remove %s: %s", work, error)


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Give a work file to write; it gets the name `path` if the block ends well, else it goes.

    Raises:
        OutputError: the disk is full, or the folder cannot be written (any OSError of the block).
    """
    work = work_path(path)
    try:
        yield work
        work.replace(path)
    except OSError as error:
        raise _output_error(error, path) from error
    finally:
        discard(work)


def write_whole(path: Path, parts: Iterable[bytes]) -> None:
    """Write `parts` one after the other as the file `path`, whole or not at all.

    Raises:
        OutputError: it cannot be written.
    """
    with written_whole(path) as work, work.open("xb") as file:
        file.writelines(parts)


def disk_full(path: Path) -> OutputError:
    """Make the error for a disk that filled up while `path` was written."""
    return OutputError(
        f"no space is left to write {path}", hint="Free some space or choose another folder."
    )


def _output_error(error: OSError, path: Path) -> OutputError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return disk_full(path)
    reason = error.strerror or str(error)
    return OutputError(
        f"{path} cannot be written: {reason}", hint="Choose a folder you may write to."
    )


def _is_same_file(path: Path, other: Path) -> bool:
    return path.exists() and other.exists() and path.samefile(other)


def _is_running(pid: int, started: int) -> bool:
    try:
        return abs(int(psutil.Process(pid).create_time()) - started) <= 1
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True


def _node() -> str:
    return f"{zlib.crc32(platform.node().encode()):08x}"
