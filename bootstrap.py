"""Install what the program needs into .venv, once, and start it: python bootstrap.py VERB.

Uses the standard library alone, since it runs before anything is installed. The Makefile calls it;
on Windows call it as `py bootstrap.py run`. Python 3.7 can still read it, and be told that it is
too old.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
SITE_PACKAGES = "Lib/site-packages" if os.name == "nt" else "lib/python*/site-packages"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
LOG = VENV / "install.log"
REQUIREMENTS = {"running": "requirements.txt", "checking": "requirements-dev.txt"}

OLDEST = (3, 11)
NEWEST = (3, 12)  # basicsr, which gfpgan needs, does not build on 3.13
BUILD_TOOLS = ["setuptools>=77"]  # see install()
LARGE_DOWNLOAD = re.compile(
    r"Downloading (?:\S+/)?([^-\s]+)-.* \((\d{3,}(?:\.\d+)? MB|[\d.]+ GB)\)"
)
DISK_FULL = re.compile(r"No space left on device|\[Errno 28\]|\[WinError 112\]")
NOT_REACHED = re.compile(r"NewConnectionError|NameResolutionError|ConnectTimeoutError|ProxyError")
LIBRARIES = {"libGL.so.1": "libgl1", "libgthread-2.0.so.0": "libglib2.0-0"}  # by Debian package

# by file, so that clips, models and browsers are made once; `ARGS="-n 0"` undoes it
TWO_AT_ONCE = ["-n", "2", "--dist", "loadfile"]

VERBS = {
    "install": "install what running needs",
    "run": "open the page; ARGS go to app.py run",
    "demo": "swap the sample faces into outputs/demo; ARGS go to app.py demo",
    "test": "run the tests; ARGS go to pytest",
    "check": "lint, formatting, types",
    "gpu": "run the tests that need a graphics card; ARGS go to pytest",
    "bench": "time the stages of a swap",
}


def main() -> int:
    """Install what the verb needs, then do it; return the exit code."""
    parser = argparse.ArgumentParser(
        description="Set facefusion-ui up in .venv and start it.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="\n".join(f"  {verb:8} {text}" for verb, text in VERBS.items()),
    )
    parser.add_argument("verb", choices=VERBS, metavar="VERB")
    parser.add_argument("args", nargs=argparse.REMAINDER, metavar="ARGS")
    asked = parser.parse_args()
    try:
        install("checking" if asked.verb in ("test", "gpu", "check", "bench") else "running")
    except SetupError as error:
        print(f"bootstrap: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"bootstrap: {error}. {next_step(str(error))}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. The same command goes on from here.", file=sys.stderr)
        return 130
    if asked.verb in ("run", "demo"):
        return hand_over([ROOT / "app.py", asked.verb, *asked.args])
    if asked.verb == "test":
        return hand_over(["-m", "pytest", *TWO_AT_ONCE, *asked.args], folder=ROOT)
    if asked.verb == "gpu":
        return hand_over(["-m", "pytest", "-m", "gpu", *asked.args], folder=ROOT)
    if asked.verb == "bench":
        return hand_over(["-m", "benchmarks.engine", *asked.args], folder=ROOT)
    if asked.verb == "check":
        return check()
    return 0


class SetupError(Exception):
    """The set-up cannot go on; the text says what to do."""


def install(purpose: str) -> None:
    """Bring .venv to what the requirements for `purpose` say; return at once when it is there.

    pip builds a source package in an environment of its own, into which basicsr would pull a
    second torch of several GB. Without that isolation, and with setuptools in place first, it
    builds in two seconds and torch is not needed for it.

    Raises:
        SetupError: the Python does not fit, a library is missing, or venv or pip failed.
    """
    version = venv_version()
    if version is None:
        create_venv()
        version = venv_version()
    stamp = VENV / f"installed-for-{purpose}"
    wanted = digest(purpose, version)
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return
    check_libraries()
    for old in VENV.glob("installed-for-*"):
        old.unlink()
    remove_half_installed()
    LOG.unlink(missing_ok=True)
    print("Installing the build tools", flush=True)
    pip("install", *BUILD_TOOLS)
    print(f"Installing what {purpose} needs: minutes the first time, about 7 GB", flush=True)
    pip("install", "--no-build-isolation", "--use-pep517", "-r", REQUIREMENTS[purpose])
    stamp.write_text(wanted, encoding="utf-8")
    if purpose == "checking":  # which includes running
        (VENV / "installed-for-running").write_text(digest("running", version), encoding="utf-8")
    print("Installed", flush=True)


def digest(purpose: str, version: str | None) -> str:
    """Return a hash of all that decides what is installed for `purpose`."""
    files = [ROOT / "requirements.txt", *sorted((ROOT / "vendor").rglob("pyproject.toml"))]
    if purpose == "checking":
        files.append(ROOT / "requirements-dev.txt")
    seen = hashlib.sha256(f"{version} {BUILD_TOOLS}".encode())
    for file in files:
        seen.update(file.read_bytes())
    return seen.hexdigest()


def venv_version() -> str | None:
    """Return the version of .venv's Python, such as "3.11"; None when it is not usable."""
    probe = "import sys, pip; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([PYTHON, "-c", probe], capture_output=True, text=True, check=False)
    except OSError:
        return None
    version = done.stdout.strip()
    return version if not done.returncode and supported(version) else None


def supported(version: str) -> bool:
    """Whether the packages install on this version.

    >>> supported("3.10"), supported("3.11"), supported("3.13")
    (False, True, False)
    """
    major, minor = version.split(".")[:2]
    return OLDEST <= (int(major), int(minor)) <= NEWEST


def create_venv() -> None:
    """Make an empty .venv, in place of a broken one."""
    python = find_python()
    if VENV.exists():
        print("Removing .venv, which does not work", flush=True)
        shutil.rmtree(VENV)
    print(f"Creating .venv with {python}", flush=True)
    done = subprocess.run([python, "-m", "venv", VENV], capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stdout + done.stderr
        step = next_step(said)  # before room is made
        shutil.rmtree(VENV, ignore_errors=True)
        if subprocess.run(
            [python, "-c", "import ensurepip"], check=False, stderr=subprocess.DEVNULL
        ).returncode:
            step = "On Debian and Ubuntu: apt-get install python3-venv. Then try again."
        raise SetupError(f"{python} cannot make a virtual environment.\n{said}\n{step}")


def find_python() -> str:
    """Return a Python the packages install on: this one, or another on the machine."""
    if supported("{}.{}".format(*sys.version_info)):
        return sys.executable
    for minor in range(NEWEST[1], OLDEST[1] - 1, -1):
        command = ["py", f"-3.{minor}"] if os.name == "nt" else [f"python3.{minor}"]
        try:
            done = subprocess.run(
                [*command, "-c", "import sys; print(sys.executable)"],
                capture_output=True,
                text=True,
                check=True,
            )
        except (OSError, subprocess.CalledProcessError):
            continue
        return done.stdout.strip()
    raise SetupError(
        "this is Python {}.{}; the packages install on {}.{} to {}.{}. "
        "Install one of these from python.org, then try again.".format(
            *sys.version_info[:2], *OLDEST, *NEWEST
        )
    )


def check_libraries() -> None:
    """Make sure that opencv-python will load: it links libraries that a bare Linux server lacks."""
    if sys.platform != "linux":
        return
    missing = []
    for library, package in LIBRARIES.items():
        try:
            ctypes.CDLL(library)
        except OSError:
            missing.append(package)
    if missing:
        raise SetupError(
            "opencv-python needs system libraries that are not here. On Debian and Ubuntu: "
            f"apt-get install {' '.join(missing)}. Then try again."
        )


def remove_half_installed() -> None:
    """Forget packages whose installation was cut off, so that pip installs them again.

    pip believes a package is there once its METADATA is; INSTALLER is written when all files are.
    """
    for metadata in VENV.glob(f"{SITE_PACKAGES}/*.dist-info"):
        if not (metadata / "INSTALLER").is_file():
            print(f"Repairing {metadata.stem}, which was half installed", flush=True)
            shutil.rmtree(metadata)


def pip(*arguments: str) -> None:
    """Run .venv's pip from the project's root; all it says goes to LOG, large downloads are shown.

    Raises:
        SetupError: pip failed.
    """
    command = [str(PYTHON), "-m", "pip", *arguments, "--progress-bar", "off", "--no-input"]
    lines = []
    with LOG.open("a", encoding="utf-8") as log:
        child = subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        )
        assert child.stdout is not None
        for line in child.stdout:
            log.write(line)
            lines.append(line)
            large = LARGE_DOWNLOAD.search(line)
            if large:
                print("  downloading {}, {}".format(*large.groups()), flush=True)
            elif line.startswith("Installing collected packages"):
                print("  writing the files", flush=True)
        child.wait()
    if child.returncode:
        said = "".join(lines[-15:])
        raise SetupError(f"pip failed.\n\n{said}\nAll it said is in {LOG}. {next_step(said)}")


def next_step(said: str) -> str:
    """Return what to do after a failure in which a program said this.

    >>> next_step("NewConnectionError('refused')")
    'The package index cannot be reached. Check the network, then run the same command again.'
    """
    again = "then run the same command again"
    places = (ROOT, Path(tempfile.gettempdir()))  # pip unpacks in the second
    free_gb = {place: shutil.disk_usage(place).free / 1e9 for place in places}
    if DISK_FULL.search(said) or free_gb[ROOT] < 0.1:  # venv keeps the reason to itself
        room = ", ".join(f"{free:.1f} GB free at {place}" for place, free in free_gb.items())
        return f"A disk is full ({room}; about 7 GB are needed). Make room, {again}."
    if NOT_REACHED.search(said):
        return f"The package index cannot be reached. Check the network, {again}."
    return f"Change what it names, {again}: what was done is kept."


def check() -> int:
    """Lint, formatting and types; all three are reported, the worst exit code returned."""
    ruff, mypy = ["-m", "ruff"], ["-m", "mypy"]
    commands = [[*ruff, "check", "."], [*ruff, "format", "--check", "."], mypy]
    return max(
        subprocess.run([PYTHON, *each], cwd=ROOT, check=False).returncode for each in commands
    )


def hand_over(arguments: list[str | Path], *, folder: Path | None = None) -> int:
    """Let .venv's Python go on with `arguments` in place of this program; return its exit code."""
    command = [str(part) for part in (PYTHON, *arguments)]
    if folder:
        os.chdir(folder)
    if os.name == "posix":
        sys.stdout.flush()
        os.execv(command[0], command)
    # Windows has no exec that its console waits for; Ctrl+C is the child's to answer
    signal.signal(signal.SIGINT, lambda *_: None)
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
