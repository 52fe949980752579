"""Guards who is who: two people taken for one, one person taken for two."""

import cv2
import numpy as np
import pytest

from facefusion_ui.processor.analyser import Analyser
from facefusion_ui.processor.record import Record
from facefusion_ui.settings import Settings


@pytest.fixture(scope="module")
def embeddings(registry, astronaut, hopper, crowd_path):
    settings = Settings()
    analyser = Analyser(settings, Record(settings, registry))
    crowd = cv2.imread(str(crowd_path))
    faces = [
        analyser.with_embedding(frame, face, analyser.recognizer)
        for frame in (astronaut, hopper, crowd)
        for face in analyser.find(frame)
    ]
    dimmed = cv2.convertScaleAbs(cv2.resize(astronaut, None, fx=1.7, fy=1.7), alpha=0.8)
    again = analyser.with_embedding(dimmed, analyser.find(dimmed)[0], analyser.recognizer)
    return analyser, faces, again


def test_eight_people_are_eight_people(embeddings) -> None:
    analyser, faces, _ = embeddings
    distances = [
        analyser.distance(a, b) for index, a in enumerate(faces) for b in faces[index + 1 :]
    ]
    assert len(faces) == 8
    assert min(distances) > 0.3


def test_a_person_in_another_light_and_size_stays_that_person(embeddings) -> None:
    analyser, faces, again = embeddings
    assert analyser.distance(faces[0], again) < 0.15
    assert analyser.distance(faces[1], again) > 0.3


def test_an_embedding_needs_no_more_than_its_face(embeddings) -> None:
    _, faces, _ = embeddings
    assert {face.embedding.shape for face in faces} == {(128,)}
    assert all(np.isfinite(face.embedding).all() for face in faces)
