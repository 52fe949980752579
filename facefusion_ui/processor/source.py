"""The people of a job: whose face is put on, and whose is replaced."""

from collections.abc import Generator

import numpy as np

from facefusion_ui.arrays import Crop, Embedding, Frame
from facefusion_ui.cards import ModelCard
from facefusion_ui.errors import InputError, NoFaceError
from facefusion_ui.faces import Face, Portrait, Source
from facefusion_ui.media.image import read_picture
from facefusion_ui.notices import Warned
from facefusion_ui.processor.analyser import Analyser
from facefusion_ui.processor.record import Record
from facefusion_ui.registry.catalog import card
from facefusion_ui.settings import Settings
from facefusion_ui.steps.align import align

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
    frames = [read_picture(path).frame for path in settings.source_paths]
    faces = []
    for path, frame in zip(settings.source_paths, frames, strict=True):
        found = analyser.find(frame)
        if not found:
            raise NoFaceError(f"No face was found in the source {path.name}", hint=SEARCH_HINT)
        if len(found) > 1:
            yield from record.warn(
                Warned(
                    f"The source {path.name} shows {len(found)} faces; the largest is used.",
                    hint="Cut the picture to one face to choose another.",
                )
            )
        faces.append(max(found, key=lambda face: float(np.prod(face.box[2:] - face.box[:2]))))
    record.end_stage(analyser.detector)
    recognizer = card(swapper.recognizer, "face_recognizer") if swapper.recognizer else None
    faces = analyser.described(frames, faces, recognizer, landmarks=swapper.wants_landmarks)
    portraits = tuple(Portrait(*pair) for pair in zip(frames, faces, strict=True))
    embedding = _mean(faces)
    if embedding is not None and swapper.converter:
        converter = card(swapper.converter, "identity_converter")
        converted = record.run(converter, lambda model: model.convert(embedding))
        record.end_stage(converter)
        return Source(portraits, converted, raw=embedding)
    return Source(portraits, embedding, _picture(portraits, swapper), raw=embedding)


def find_reference(settings: Settings, analyser: Analyser, record: Record, frame: Frame) -> Face:
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
    record.end_stage(analyser.detector)
    chosen = [faces[settings.reference_face_position]]
    (face,) = analyser.described([frame], chosen, analyser.recognizer)
    return face


def blended(source: Embedding, target: Embedding, keeps: float) -> Embedding:
    """Return the source's embedding with a share of the target's; its length stays.

    Args:
        keeps: share of the target's, -1..1; below 0 the source is driven away from it.
    """
    length = np.linalg.norm(source)
    mixed = (1 - keeps) * source / length + keeps * target / np.linalg.norm(target)
    return np.asarray(mixed * length / np.linalg.norm(mixed), np.float32)


def _picture(portraits: tuple[Portrait, ...], swapper: ModelCard) -> Crop | None:
    """Return the largest portrait's face, cut as the swapper wants it."""
    if swapper.source_template is None:
        return None
    largest = max(portraits, key=lambda portrait: float(np.ptp(portrait.face.points, axis=0).max()))
    cut = align(largest.frame, largest.face, swapper.source_template, swapper.source_size_px)
    return cut.crop


def _mean(faces: list[Face]) -> Embedding | None:
    known = [face.embedding for face in faces if face.embedding is not None]
    return np.mean(known, axis=0, dtype=np.float32) if known else None
