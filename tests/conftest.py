"""Real faces and real models, shared by the tests."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest

from facefusion_ui.arrays import Frame
from facefusion_ui.registry.registry import Registry
from tests.model_server import Server, serving


def carried(package: str, path: str) -> Path:
    """Return a file that an installed package carries."""
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0]) / path


@pytest.fixture(scope="session")
def astronaut_path() -> Path:
    return carried("skimage", "data/astronaut.png")


@pytest.fixture(scope="session")
def hopper_path() -> Path:
    return carried("matplotlib", "mpl-data/sample_data/grace_hopper.jpg")


@pytest.fixture(scope="session")
def crowd_path() -> Path:
    """Six faces."""
    return carried("insightface", "data/images/t1.jpg")


def load(path: Path) -> Frame:
    frame = cv2.imread(str(path))
    assert frame is not None
    return np.asarray(frame, np.uint8)


@pytest.fixture(scope="session")
def astronaut(astronaut_path: Path) -> Frame:
    return load(astronaut_path)


@pytest.fixture(scope="session")
def hopper(hopper_path: Path) -> Frame:
    return load(hopper_path)


@pytest.fixture(scope="session")
def registry() -> Iterator[Registry]:
    """One registry for all tests, so that each model is opened once."""
    with Registry(("cpu",)) as opened:
        yield opened


@pytest.fixture
def server() -> Iterator[Server]:
    """Serves model files, well and badly."""
    with serving() as noted:
        yield noted
