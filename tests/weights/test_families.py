"""Runs every installed swapper and restorer on the sample pair and writes docs/results.md.

Needs the models' true files: python app.py models download NAME, then pytest -m weights."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import pytest

from facefusion_ui.arrays import Frame
from facefusion_ui.cards import ModelCard
from facefusion_ui.faces import Face
from facefusion_ui.processor.analyser import Analyser
from facefusion_ui.processor.jobs import run_job
from facefusion_ui.processor.record import Record
from facefusion_ui.registry.catalog import card, cards_of
from facefusion_ui.registry.registry import Registry
from facefusion_ui.registry.weights import Store, usual_places
from facefusion_ui.settings import Settings, make_settings
from tests.conftest import load

pytestmark = pytest.mark.weights

DOCS = Path(__file__).parents[2] / "docs"
MODELS = [*cards_of("face_swapper").values(), *cards_of("face_enhancer").values()]
MARGIN = 0.6  # of the face's height, around it in the picture
HEAD = """# Results on the sample pair

Grace Hopper's face on Eileen Collins's picture (512 x 512), each model alone, on the processor.
Written by `pytest -m weights`, which runs what is installed and skips the rest.

- **identity**: how much nearer the face came to the source's, by `dlib_resnet`: 0 is the target as
  it was, 1 is the source herself. Restorers are run on the target alone and should stay near 0.
- **landmarks**: how far the 68 points moved from the target's, in percent of the distance of the
  eyes.

| model | identity | landmarks | picture |
|---|---|---|---|
"""


@dataclass(frozen=True)
class Seen:
    """A picture and the face in it, described."""

    frame: Frame
    face: Face


@pytest.fixture(scope="module")
def installed() -> Iterator[Registry]:
    vouched = tuple(model.name for model in MODELS)
    with Registry(("cpu",), store=Store(elsewhere=usual_places(), vouched=vouched)) as registry:
        yield registry


@pytest.fixture(scope="module")
def rows() -> Iterator[dict[str, str]]:
    """Rows of the table by model; those of models that are absent here stay as they were."""
    path = DOCS / "results.md"
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    known = {line.split("`")[1]: line for line in before.splitlines() if line.startswith("| `")}
    yield known
    order = [model.name for model in MODELS]
    lines = [known[name] for name in order if name in known]
    path.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")


def look(path: Path, registry: Registry) -> Seen:
    settings = Settings()
    analyser = Analyser(settings, Record(settings, registry))
    frame = load(path)
    face = analyser.with_landmarks(frame, analyser.find(frame)[0])
    recognizer = card("dlib_resnet", "face_recognizer")
    return Seen(frame, analyser.with_embedding(frame, face, recognizer))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_the_sample_pair(
    model: ModelCard, installed, rows, tmp_path, hopper_path, astronaut_path
) -> None:
    needed = [model]
    if model.recognizer:
        needed.append(card(model.recognizer, "face_recognizer"))
    if model.converter:
        needed.append(card(model.converter, "identity_converter"))
    absent = [each.name for each in needed if not installed.has(each)]
    if absent:
        pytest.skip(f"not installed: {', '.join(absent)}")
    out = tmp_path / "out.png"
    settings = make_settings(
        {
            "source_paths": [hopper_path],
            "target_path": astronaut_path,
            "output_path": out,
            "processors": [model.task],
            f"{model.task}_model": model.name,
        }
    )
    list(run_job(settings, installed))
    source, target, made = (look(path, installed) for path in (hopper_path, astronaut_path, out))
    way = source.face.embedding - target.face.embedding
    identity = float((made.face.embedding - target.face.embedding) @ way / (way @ way))
    eyes_px = np.linalg.norm(target.face.points[1] - target.face.points[0])
    moved_px = np.linalg.norm(made.face.landmarks - target.face.landmarks, axis=1).mean()
    percent = 100 * moved_px / eyes_px
    picture = f"images/result-{model.name}.jpg"
    write_face(made, target, DOCS / picture)
    rows[model.name] = (
        f"| `{model.name}` | {identity:.2f} | {percent:.1f} % | ![{model.name}]({picture}) |"
    )
    assert percent < 12
    if model.task == "face_swapper":
        assert identity > 0.25
    else:
        assert abs(identity) < 0.35


def write_face(made: Seen, target: Seen, path: Path) -> None:
    """Write the face of `made`, and a margin around where it was in `target`."""
    left, top, right, bottom = target.face.box
    margin = MARGIN * (bottom - top)
    height, width = made.frame.shape[:2]
    rows = slice(max(0, int(top - margin)), min(height, int(bottom + margin)))
    columns = slice(max(0, int(left - margin)), min(width, int(right + margin)))
    cv2.imwrite(str(path), made.frame[rows, columns], [cv2.IMWRITE_JPEG_QUALITY, 92])
