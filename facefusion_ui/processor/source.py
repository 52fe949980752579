"""The people of a job: whose face is put on, and whose is replaced."""

from collections.abc import Generator

import numpy as np

from facefusion_ui.arrays import Embedding, Frame
from facefusion_ui.cards import ModelCard
from facefusion_ui.errors import InputError, NoFaceError
from facefusion_ui.events import Warned
from facefusion_ui.faces import Face, Portrait, Source
from facefusion_ui.media.image import read_picture
from facefusion_ui.processor.analyser import Analyser
from facefusion_ui.processor.record import Record
from facefusion_ui.settings import Settings

SEARCH_HINT = (
    "Use a picture that shows the face from the front, lower --face-detector-score, "
    "or give --face-detector-angles 0 90 180 270 if it lies on its side."
)


def read_source(
    settings: Settings, swapper: ModelCard, analyser: Analyser, record: Record
) -> Generator[Warned, None, Source]:
    """Read every source picture and average them into one `Source`, the generator's return value.

    Yields:
        A warning for each picture that shows several people: the largest face is used.

    Raises:
        NoFaceError: a source picture shows no face.
        InputError: a source picture cannot be read, or none was given.
    """
    if not settings.source_paths:
        raise InputError("There is no source picture", hint="Give one with --source-paths.")
    portraits = []
    for path in settings.source_paths:
        frame = read_picture(path).frame
        faces = analyser.find(frame)
        if not faces:
            raise NoFaceError(f"No face was found in the source {path.name}", hint=SEARCH_HINT)
        face = max(faces, key=lambda found: float(np.prod(found.box[2:] - found.box[:2])))
        if len(faces) > 1:
            yield from record.warn(
                f"The source {path.name} shows {len(faces)} faces; the largest is used.",
                hint="Cut the picture to one face to choose another.",
            )
        face = analyser.with_landmarks(frame, face)
        if "embedding" in swapper.needs:
            face = analyser.with_embedding(frame, face)
        portraits.append(Portrait(frame, face))
    return Source(tuple(portraits), _mean([portrait.face for portrait in portraits]))


def find_reference(settings: Settings, analyser: Analyser, frame: Frame) -> Face:
    """Return the face of `frame` that the settings name as the reference, with its embedding.

    Raises:
        NoFaceError: the frame shows fewer faces than `reference_face_position` asks for.
    """
    faces = analyser.find(frame)
    if len(faces) <= settings.reference_face_position:
        raise NoFaceError(
            f"Frame {settings.reference_frame_number} of the target shows {len(faces)} faces; "
            f"face {settings.reference_face_position} was asked for",
            hint="Choose another --reference-frame-number or --reference-face-position "
            "(both count from 0).",
        )
    return analyser.with_embedding(frame, faces[settings.reference_face_position])


def _mean(faces: list[Face]) -> Embedding | None:
    known = [face.embedding for face in faces if face.embedding is not None]
    return np.mean(known, axis=0, dtype=np.float32) if known else None
