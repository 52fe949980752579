"""Guards the set-up: installing twice, skipping a change, starting half installed.

Real virtual environments and a real pip, on a project of one small package, without a network.
"""

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import bootstrap

SCRIPT = Path(__file__).parents[1] / "bootstrap.py"

Bootstrap = Callable[..., subprocess.CompletedProcess[str]]


def make_wheel(folder: Path, name: str, version: str) -> None:
    """Write a wheel that holds one module `name`, which knows its version."""
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": f"VERSION = {version!r}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{file},,\n" for file in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for file, text in files.items():
            wheel.writestr(file, text)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that is installed, to be copied."""
    project = tmp_path_factory.mktemp("projects") / "installed"
    (project / "vendor" / "alias").mkdir(parents=True)
    (project / "vendor" / "alias" / "pyproject.toml").write_text("")
    (project / "wheels").mkdir()
    shutil.copy(SCRIPT, project)
    for name, version in [("setuptools", "99"), ("small", "1"), ("small", "2"), ("tool", "1")]:
        make_wheel(project / "wheels", name, version)
    (project / "requirements.txt").write_text("small==1\n")
    (project / "requirements-dev.txt").write_text("-r requirements.txt\ntool\n")
    (project / "app.py").write_text("import sys, small; print(small.VERSION, *sys.argv[1:])\n")
    done = bootstrap_in(project)("install")
    assert done.returncode == 0, done.stdout + done.stderr
    return project


@pytest.fixture
def project(installed: Path, tmp_path: Path) -> Path:
    return shutil.copytree(installed, tmp_path / "project", symlinks=True)


def bootstrap_in(project: Path, *, cwd: Path | None = None) -> Bootstrap:
    """Return a call of `project`'s bootstrap.py, which has no network."""
    wheels = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(project / "wheels")}
    environment = {**os.environ, **wheels, "PIP_CONFIG_FILE": os.devnull}

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, project / "bootstrap.py", *arguments],
            cwd=cwd or project,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    return call


def metadata_of(project: Path, name: str) -> Path:
    (found,) = (project / ".venv").rglob(f"{name}-*.dist-info")
    return found


def test_the_second_call_does_nothing(project: Path) -> None:
    done = bootstrap_in(project)("install")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_arguments_reach_the_program_and_its_exit_code_comes_back(project: Path) -> None:
    done = bootstrap_in(project)("run", "--port", "7861")
    assert (done.returncode, done.stdout) == (0, "1 run --port 7861\n")
    (project / "app.py").write_text("raise SystemExit(7)")
    assert bootstrap_in(project)("demo").returncode == 7


def test_the_folder_it_is_called_from_does_not_matter(project: Path, tmp_path: Path) -> None:
    (project / "requirements.txt").write_text("small==2\n")
    done = bootstrap_in(project, cwd=tmp_path)("run")
    assert done.stdout.endswith("2 run\n"), done.stderr


@pytest.mark.parametrize("file", ["requirements.txt", "vendor/alias/pyproject.toml"])
def test_a_change_of_what_is_needed_is_installed(project: Path, file: str) -> None:
    with (project / file).open("a") as text:
        text.write("# changed\n")
    assert "Installing what running needs" in bootstrap_in(project)("install").stdout
    assert bootstrap_in(project)("install").stdout == ""


def test_checking_needs_more_than_running(project: Path) -> None:
    (project / "tests").mkdir()
    first = bootstrap_in(project)("test")
    assert "Installing what checking needs" in first.stdout
    assert metadata_of(project, "tool")
    assert bootstrap_in(project)("install").stdout == ""


def test_a_package_that_was_half_installed_is_installed_again(project: Path) -> None:
    half = metadata_of(project, "small")
    (half / "INSTALLER").unlink()
    (half / "RECORD").unlink()
    (half.parent / "small.py").unlink()
    (project / ".venv" / "installed-for-running").unlink()
    done = bootstrap_in(project)("run")
    assert "Repairing small-1" in done.stdout
    assert done.stdout.endswith("1 run\n")


def test_an_install_that_fails_is_said_with_its_reason_and_tried_again(project: Path) -> None:
    (project / "requirements.txt").write_text("small==3\n")
    for _ in range(2):
        done = bootstrap_in(project)("run")
        assert done.returncode == 1
        assert "small==3" in done.stderr
        assert "Traceback" not in done.stderr
    (project / "requirements.txt").write_text("small==2\n")
    assert bootstrap_in(project)("run").stdout.endswith("2 run\n")


@pytest.mark.parametrize("damage", ["no python", "no pip"])
def test_a_broken_environment_is_built_anew(project: Path, damage: str) -> None:
    if damage == "no python":
        shutil.rmtree(project / ".venv" / ("Scripts" if os.name == "nt" else "bin"))
    else:
        shutil.rmtree(metadata_of(project, "pip").parent / "pip")
    done = bootstrap_in(project)("run")
    assert "Removing .venv, which does not work" in done.stdout
    assert done.stdout.endswith("1 run\n")


def test_an_unknown_verb_is_refused_with_the_known_ones(project: Path) -> None:
    done = bootstrap_in(project)("instal")
    assert done.returncode == 2
    assert "install" in done.stderr


@pytest.mark.parametrize(
    ("said", "step"),
    [
        ("ERROR: [Errno 28] No space left on device", "A disk is full"),
        ("NameResolutionError: files.pythonhosted.org", "Check the network"),
        ("PermissionError: [Errno 13] Permission denied: '.venv'", "Change what it names"),
    ],
    ids=["full disk", "no network", "folder that may not be written"],
)
def test_a_failure_is_said_with_the_next_step(said: str, step: str) -> None:
    assert step in bootstrap.next_step(said)
