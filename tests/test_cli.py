"""Guards the command line: an exit code that lies, a traceback instead of a sentence, an option
without a flag, a batch that one bad file ends, a stopped job that leaves things behind."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import cv2
import psutil
import pytest

from facefusion_ui.cli.batch import expand_batch
from facefusion_ui.cli.flags import GROUPS, VERBS, parse
from facefusion_ui.cli.main import main
from facefusion_ui.errors import InputError, SettingsError
from facefusion_ui.media.image import read_picture
from facefusion_ui.media.probe import count_frames, probe
from facefusion_ui.settings import Settings, make_settings, option
from tests.conftest import load
from tests.face_clip import make_face_clip

ROOT = Path(__file__).parents[1]
HEAVY = ("gradio", "onnxruntime", "torch", "dlib", "av", "scipy", "PIL")


def command(*words: str | Path) -> list[str]:
    return [sys.executable, str(ROOT / "app.py"), *map(str, words)]


def start(*words: str | Path, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*words), capture_output=True, encoding="utf-8", check=False, **options
    )


def heeding_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def started_job(tmp_path: Path, source: Path) -> subprocess.Popen[str]:
    """Start a job of 300 frames and return when its first frames are done."""
    clip = make_face_clip(tmp_path / "long.mp4", frames=300)
    out = tmp_path / "out"
    out.mkdir()
    job = subprocess.Popen(
        command("headless-run", "-s", source, "-t", clip, "-o", out / "out.mp4"),
        stderr=subprocess.PIPE,
        encoding="utf-8",
        # a shell that runs the tests in the background has them, and what they start, not hear it
        preexec_fn=heeding_interrupts if os.name == "posix" else None,
    )
    assert job.stderr is not None
    for line in job.stderr:
        if line.startswith("frame "):
            return job
    raise AssertionError("the job told of no frame")


@pytest.mark.parametrize("verb", list(VERBS))
def test_help_is_complete_and_loads_nothing_heavy(verb: str) -> None:
    code = (
        "import sys; from facefusion_ui.cli.main import main\n"
        f"try: main([{verb!r}, '--help'])\n"
        f"except SystemExit: print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
    groups = ("face", "swapping", "mask", "machine")
    shown = {
        name: field
        for name, field in Settings.model_fields.items()
        if verb == "headless-run" or option(field).group in groups
    }
    if verb in ("doctor", "models"):  # no job: only how much is told
        shown = {"log_level": Settings.model_fields["log_level"]}
    for name, field in shown.items():
        assert f"--{name.replace('_', '-')}" in done.stdout
        assert field.description
    for group in {option(field).group for field in shown.values()}:
        assert f"{GROUPS[group]}:" in done.stdout


def test_the_overview_names_every_verb(capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert all(verb in said for verb in VERBS)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["headles-run"], "Did you mean headless-run?"),
        (["headless-run", "--face-mask-blurr", "1"], "Did you mean --face-mask-blur?"),
        (["headless-run", "--face-mask-blurr=1"], "Did you mean --face-mask-blur?"),
        (["headless-run", "--face-mask-blur", "7"], "less than or equal to 1, got '7'"),
        (["headless-run", "--face-detector-angles", "45"], "0, 90, 180 or 270"),
        (["headless-run", "--face-swapper-model", "landmark_wrap"], "Did you mean landmark_warp?"),
        (["headless-run", "--face-mask-blur"], "expected one argument"),
        (["headless-run", "stray"], "stray belongs to no option"),
        (["batch-run", "-s", "*.png"], "-t/--target-pattern"),
        (["run", "--port", "99999"], "from 1 to 65535"),
    ],
)
def test_a_wrong_command_gets_one_sentence_and_exit_code_2(capsys, words, sentence) -> None:
    assert main(words) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.startswith("error: ")
    assert len(said.splitlines()) == 2


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"-s": "gone.png"}, "gone.png is not there"),
        ({"-t": "gone.png"}, "gone.png is not there"),
        ({"-s": "wall.png"}, "No face was found in the source wall.png"),
        ({"-t": "wall.png"}, "No face was found in the target wall.png"),
        ({"-t": "text.png"}, "text.png is not a photo or a video"),
        ({"-o": "out.docx"}, ".docx"),
        ({"-o": "text.png/out.png"}, "cannot be written"),
        ({"-o": "target.png"}, "one of the inputs"),
    ],
)
def test_a_failed_job_gets_one_sentence_a_next_step_and_exit_code_1(
    capsys, tmp_path, monkeypatch, astronaut_path, hopper_path, change, sentence
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(astronaut_path, "target.png")
    shutil.copy(hopper_path, "source.jpg")
    Path("text.png").write_text("no picture", encoding="utf-8")
    cv2.imwrite("wall.png", load(astronaut_path)[:40, :40])
    before = sorted(tmp_path.iterdir())
    flags = {"-s": "source.jpg", "-t": "target.png", "-o": "out.png"} | change
    words = [word for pair in flags.items() for word in pair]
    assert main(["headless-run", *words, "--log-level", "error"]) == 1
    said = capsys.readouterr().err.splitlines()
    assert sentence in said[0]
    assert said[0].startswith("error: ")
    assert len(said) == 2
    assert said[1].strip()
    assert sorted(tmp_path.iterdir()) == before


def test_one_photo_end_to_end_in_a_folder_with_foreign_letters(
    tmp_path, astronaut_path, hopper_path
) -> None:
    folder = tmp_path / "空灵 Bücher 🎬"
    folder.mkdir()
    source, target = folder / "Фото.jpg", folder / 'it\'s "x" (1) [2];$(touch z).png'
    shutil.copy(hopper_path, source)
    shutil.copy(astronaut_path, target)
    out = folder / "out%d é.png"
    old_console = os.environ | {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    done = start("headless-run", "-s", source, "-t", target, "-o", out, "--report", env=old_console)
    assert done.returncode == 0, done.stderr
    assert "frame 1 of 1" in done.stderr
    assert "空灵" in done.stderr
    assert (read_picture(target).frame != read_picture(out).frame).any()
    report = json.loads(out.with_name(f"{out.name}.json").read_text(encoding="utf-8"))
    assert Path(report["output_path"]) == out
    assert {path.name for path in folder.iterdir()} == {
        source.name, target.name, out.name, f"{out.name}.json",
    }  # fmt: skip


def test_one_clip_end_to_end_under_names_that_look_like_options(
    tmp_path, hopper_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make_face_clip(tmp_path / "-y.mp4", frames=12)
    done = start(
        "headless-run", "-s", hopper_path, "--target-path=-y.mp4", "--output-path=-n.mp4",
        "--report", "said.json", "--log-level", "error",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert count_frames(tmp_path / "-n.mp4") == 12
    assert [track.kind for track in probe(tmp_path / "-n.mp4").tracks] == ["audio"]
    assert json.loads((tmp_path / "said.json").read_text(encoding="utf-8"))["frames"] == 12


@pytest.mark.skipif(os.name != "posix", reason="Windows has no signal a test could send")
@pytest.mark.parametrize(
    ("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 128 + signal.SIGTERM)]
)
def test_a_stopped_job_leaves_nothing_behind(tmp_path, hopper_path, sent, code) -> None:
    job = started_job(tmp_path, hopper_path)
    children = psutil.Process(job.pid).children(recursive=True)
    assert children
    job.send_signal(sent)
    _, said = job.communicate(timeout=30)
    assert job.returncode == code
    assert "Traceback" not in said
    psutil.wait_procs(children, timeout=5)
    assert not [child for child in children if child.is_running()]
    assert list((tmp_path / "out").iterdir()) == []


def test_a_batch_goes_on_after_a_bad_file_and_says_so(
    tmp_path, astronaut_path, hopper_path
) -> None:
    targets = tmp_path / "in"
    targets.mkdir()
    shutil.copy(astronaut_path, targets / "a.png")
    (targets / "b.png").write_bytes(b"no picture")
    shutil.copy(astronaut_path, targets / "c.png")
    done = start(
        "batch-run", "-s", hopper_path, "-t", targets / "*.png",
        "-o", tmp_path / "out" / "{index}-{target_name}-{source_name}{target_extension}",
        "--report",
    )  # fmt: skip
    assert done.returncode == 1
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "0-a-grace_hopper.png", "0-a-grace_hopper.png.json",
        "2-c-grace_hopper.png", "2-c-grace_hopper.png.json",
    }  # fmt: skip
    assert "2 of 3 done" in done.stderr
    assert f"failed: {targets / 'b.png'}" in done.stderr
    assert "b.png is not a photo or a video" in done.stderr


def test_a_batch_puts_every_source_on_every_target(tmp_path) -> None:
    for name in ("s1.png", "s2.png", "t1.png", "t2.jpg", "[x].png"):
        (tmp_path / name).touch()
    jobs = expand_batch(
        Settings(),
        [f"{tmp_path}/s*.png"],
        [f"{tmp_path}/t*", f"{tmp_path}/[[]x].png", f"{tmp_path}/[x].png"],
        "{source_name}/{target_name}{target_extension}",
    )
    assert [job.output_path.as_posix() for job in jobs] == [
        "s1/t1.png", "s1/t2.jpg", "s1/[x].png", "s2/t1.png", "s2/t2.jpg", "s2/[x].png",
    ]  # fmt: skip
    assert jobs[1].source_paths == (tmp_path / "s1.png",)
    assert jobs[1].target_path == tmp_path / "t2.jpg"


@pytest.mark.parametrize(
    ("target", "output", "error", "message"),
    [
        ("*.gif", "{index}.png", InputError, "No file matches"),
        ("*.png", "out.png", SettingsError, "Two jobs would write out.png"),
        ("*.png", "{target}.png", SettingsError, "{target} is not a placeholder"),
    ],
)
def test_a_batch_that_cannot_be_right_is_refused_at_once(
    tmp_path, monkeypatch, target, output, error, message
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.png").touch()
    Path("b.png").touch()
    with pytest.raises(error, match=message):
        expand_batch(make_settings({}), None, [target], output)


@pytest.mark.slow
def test_a_plan_is_told_and_nothing_is_run(capsys, astronaut_path) -> None:
    words = ["plan", "-t", str(astronaut_path), "--emulate-vram", "32MB", "--preset", "8gb"]
    assert main(words) == 0
    told = capsys.readouterr()
    assert "centerface 7 MB with half input resident" in told.out
    assert "peak 18 MB of 32 MB" in told.out
    assert "opened" not in told.err
    assert main([*words, "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["budget_bytes"] == 32_000_000
    assert [stage["rung"] for stage in plan["stages"]] == ["half input", "card", "card"]


@pytest.mark.parametrize(
    ("flags", "size", "limit"),
    [
        (["--preset", "12gb"], 960, 12_000_000_000),
        (["--preset", "12gb", "--face-detector-size", "320"], 320, 12_000_000_000),
        (["--emulate-vram", "6GB"], 640, 6_000_000_000),
        (["--preset", "cpu"], 640, None),
    ],
)
def test_a_preset_gives_way_to_flags_and_is_chosen_by_the_card(flags, size, limit) -> None:
    settings = parse(["headless-run", *flags]).settings
    assert settings.face_detector_size == size
    assert settings.video_memory_limit == limit


def test_a_job_on_a_tiny_card_ends_with_a_report_of_each_step(
    tmp_path, astronaut_path, hopper_path
) -> None:
    report = tmp_path / "report.json"
    done = start(
        "headless-run", "-s", hopper_path, "-t", astronaut_path, "-o", tmp_path / "out.png",
        "--emulate-vram", "24MB", "--report", report,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert load(tmp_path / "out.png").shape == (512, 512, 3)
    told = json.loads(report.read_text(encoding="utf-8"))
    assert told["device"] == "emulated card of 24 MB"
    assert told["steps_down"]
    for step in told["steps_down"]:
        assert step["reason"]
        assert step["message"] in done.stderr


def test_the_demo_swaps_a_photo_and_a_clip_with_sound(tmp_path) -> None:
    done = start("demo", "--picture", "docs/side.png", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "outputs" / "demo"
    assert str(folder) in done.stderr
    assert probe(folder / "photo.png").kind == "image"
    before, after = probe(folder / "clip-before.mp4"), probe(folder / "clip.mp4")
    assert before.frames == after.frames
    assert [track.kind for track in after.tracks] == ["audio"]
    assert probe(tmp_path / "docs" / "side.png").size_wh[0] > 3 * 400
