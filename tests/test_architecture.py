"""Guards the shape of the program: imports go one way, importing does nothing, names are unique."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import facefusion_ui

PACKAGE = Path(facefusion_ui.__file__).parent
VOCABULARY = {
    "errors",
    "arrays",
    "blobs",
    "bridges",
    "sessions",
    "own",
    "faces",
    "cards",
    "contracts",
    "settings",
    "events",
    "notices",
    "plans",
    "report",
}
LEAVES = {
    "detectors",
    "landmarkers",
    "recognizers",
    "swappers",
    "enhancers",
    "upscalers",
    "converters",
    "occluders",
    "parsers",
    "steps",
    "media",
}
MAY_IMPORT = {
    **dict.fromkeys(VOCABULARY, VOCABULARY),
    "presets": VOCABULARY,
    "samples": VOCABULARY | {"media"},
    **{leaf: VOCABULARY | {leaf} for leaf in LEAVES},
    "registry": VOCABULARY | {"registry", "media"},
    "processor": VOCABULARY | {"processor", "registry", "steps", "media", "samples"},
    "cli": VOCABULARY | {"presets", "samples", "processor", "registry", "media", "cli"},
    "ui": VOCABULARY | {"presets", "samples", "processor", "registry", "media", "ui"},
}
HEAVY = ("torch", "onnxruntime", "dlib", "gradio", "scipy", "insightface", "gfpgan")
MODULES = sorted(PACKAGE.rglob("*.py"))


def imports_of(path: Path) -> set[str]:
    """Return the dotted names of everything a module imports, anywhere in it."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def part_of(dotted: str) -> str:
    """Return the part of the program a module of ours belongs to."""
    return dotted.split(".")[1]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_one_way(path: Path) -> None:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    if parts[0] in ("__init__", "__main__"):
        return
    ours = {name for name in imports_of(path) if name.startswith("facefusion_ui.")}
    ours -= {"facefusion_ui.__version__"}
    # the command line starts the page, and asks for it only then
    allowed = MAY_IMPORT[parts[0]] | ({"ui"} if parts[0] == "cli" else set())
    assert {part_of(name) for name in ours} <= allowed


def test_only_the_backends_know_the_runtimes() -> None:
    users = {
        str(path.relative_to(PACKAGE))
        for path in MODULES
        for name in imports_of(path)
        if name.split(".")[0] in ("onnxruntime", "torch")
    }
    known = ("backends.py", "half.py", "torch_network.py")
    assert users == {str(Path("registry") / name) for name in known}


def test_listing_models_loads_no_runtime() -> None:
    code = (
        "import sys; from facefusion_ui.registry.catalog import find_cards; "
        "import facefusion_ui.processor.jobs; "
        f"assert find_cards(); print([m for m in {HEAVY} if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
