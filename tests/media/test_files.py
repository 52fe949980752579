"""Guards against half files, lost inputs, foreign files removed, and names read as commands."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from clips import numbers
from PIL import Image

from facefusion_ui.errors import OutputError
from facefusion_ui.media.clip import open_reader, open_writer
from facefusion_ui.media.files import (
    check_output,
    check_suffix,
    remove_leftovers,
    work_path,
    write_whole,
)
from facefusion_ui.media.image import read_picture, write_picture
from facefusion_ui.media.probe import probe

POSIX_NAMES = [
    "-y",
    "a:b",
    "out%d",
    "out%03d",
    "a\nb",
    'it\'s "x" (1) [2];$(touch z)',
    "a*?",
    "a\\b",
]
NAMES = [
    "Фото",
    "空灵 Bücher",
    "e\u0301te\u0301",
    "😀 face",
    "a b",
    "a,b;c=d",
    "%d%s",
    "~",
    "a.b.c",
    "#1",
]
if sys.platform != "win32":
    NAMES += POSIX_NAMES


@pytest.mark.parametrize("name", NAMES)
def test_any_name_works_for_a_clip_and_its_folder(counter: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    source = folder / f"{name}.mp4"
    source.write_bytes(counter.read_bytes())
    output = check_output(folder / f"{name}-out.mp4", [source], kind="video")
    info = probe(source)
    reader = open_reader(info, output, end=5)
    writer = open_writer(
        output,
        info,
        size_wh=reader.size_wh,
        fps=reader.fps,
        encoder="libx264",
        quality=95,
        preset="ultrafast",
        end=5,
    )
    with reader, writer:
        for frame in reader:
            writer.write(frame)
    assert numbers(output) == [0, 1, 2, 3, 4]
    assert sorted(folder.iterdir()) == sorted([source, output])
    assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.parametrize("name", NAMES)
def test_any_name_works_for_a_photo(tmp_path: Path, name: str) -> None:
    source = tmp_path / f"{name}.png"
    Image.new("RGB", (30, 20), "red").save(source)
    picture = read_picture(source)
    write_picture(picture, picture.frame, tmp_path / f"{name}-out.png", 90)
    assert (read_picture(tmp_path / f"{name}-out.png").frame == picture.frame).all()
    assert len(list(tmp_path.iterdir())) == 2


def test_a_relative_name_that_looks_like_an_option_works(
    counter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("-i.mp4").write_bytes(counter.read_bytes())
    assert probe(Path("-i.mp4")).frames == 75
    assert check_output(Path("-out.mp4"), [], kind="video") == tmp_path / "-out.mp4"


def test_the_folder_is_made_and_left_empty(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "out.mp4"
    assert check_output(path, [], kind="video") == path
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "kind", "known"),
    [
        ("out.xyz", "video", ".mp4"),
        ("out.avi", "video", ".mkv"),
        ("out", "image", ".png"),
        ("out.mp4", "image", ".jpg"),
        ("out.heic", "image", ".avif"),
        ("out.jpg", "video", ".mp4"),
    ],
)
def test_an_unknown_kind_of_output_is_refused_with_the_known_ones(
    tmp_path: Path, name: str, kind: str, known: str
) -> None:
    with pytest.raises(OutputError) as caught:
        check_output(tmp_path / name, [], kind=kind)  # type: ignore[arg-type]
    assert known in caught.value.hint


def test_capitals_in_the_ending_are_fine(tmp_path: Path) -> None:
    assert check_suffix(tmp_path / "a.JPG", (".jpg",), "a photo") == ".jpg"


def test_the_output_is_never_an_input(tmp_path: Path) -> None:
    source = tmp_path / "in.png"
    Image.new("RGB", (3, 3)).save(source)
    links = [source, tmp_path / "x" / ".." / "in.png"]
    (tmp_path / "x").mkdir()
    try:
        (tmp_path / "soft.png").symlink_to(source)
        (tmp_path / "hard.png").hardlink_to(source)
        (tmp_path / "folder").symlink_to(tmp_path)
        links += [tmp_path / "soft.png", tmp_path / "hard.png", tmp_path / "folder" / "in.png"]
    except OSError:
        pass  # Windows without the right to make links
    for output in links:
        with pytest.raises(OutputError, match="one of the inputs"):
            check_output(output, [source], kind="image")


def test_a_folder_or_a_path_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "dir.png").mkdir()
    (tmp_path / "file").write_bytes(b"x")
    for path in (tmp_path / "dir.png", tmp_path / "file" / "sub" / "out.png"):
        with pytest.raises(OutputError) as caught:
            check_output(path, [], kind="image")
        assert str(path) in str(caught.value)
        assert caught.value.hint


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write")
def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o555)
    with pytest.raises(OutputError, match="cannot be written"):
        check_output(tmp_path / "locked" / "out.png", [], kind="image")


def test_only_leftovers_of_dead_runs_of_ours_are_removed(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from pathlib import Path; from facefusion_ui.media.files import work_path;"
            "work_path(Path(sys.argv[1])).write_bytes(b'half')",
            tmp_path / "out.mp4",
        ],
        check=True,
    )
    assert done.returncode == 0
    (dead,) = tmp_path.iterdir()
    alive = work_path(tmp_path / "out.mp4")
    elsewhere = tmp_path / dead.name.replace(dead.name.split("-")[2], "00000000")
    others = [alive, elsewhere, tmp_path / ".facefusion-ui-notes.txt", tmp_path / "out.mp4"]
    for path in others:
        path.write_bytes(b"x")
    remove_leftovers(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted(others)


def test_a_process_number_used_again_is_not_mistaken_for_the_old_run(tmp_path: Path) -> None:
    path = work_path(tmp_path / "out.mp4")
    started = str(int(psutil.Process().create_time()))
    old = path.with_name(path.name.replace(started, str(int(started) - 5000)))
    old.write_bytes(b"half")
    remove_leftovers(tmp_path)
    assert not old.exists()


def test_a_write_that_fails_keeps_the_older_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"older")

    def parts() -> object:
        yield b"new"
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_whole(path, parts())  # type: ignore[arg-type]
    assert [item.read_bytes() for item in tmp_path.iterdir()] == [b"older"]


def test_a_folder_that_has_gone_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        write_whole(tmp_path / "never" / "a.json", [b"x"])
