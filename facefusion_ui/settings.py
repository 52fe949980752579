"""Every option of a job, declared once: name, default, range, help, group.

The command line's flags, the page's controls and the presets' keys follow from the fields. Names
are FaceFusion's, so that its users find them.
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, ByteSize, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from facefusion_ui.arrays import FaceMaskRegion
from facefusion_ui.cards import Task
from facefusion_ui.errors import SettingsError

AUTO = "auto"

Group = Literal["paths", "face", "swapping", "mask", "output", "machine"]

Processor = Literal["face_swapper", "face_enhancer", "frame_enhancer"]
FaceSelectorMode = Literal["one", "many", "reference"]
FaceSelectorOrder = Literal[
    "left-right",
    "right-left",
    "top-bottom",
    "bottom-top",
    "small-large",
    "large-small",
    "best-worst",
    "worst-best",
]
MaskType = Literal["box", "area", "occlusion", "region"]
PixelBoost = Literal["128x128", "256x256", "512x512", "768x768", "1024x1024"]
EnhancerBackend = Literal["onnx", "torch"]
VideoEncoder = Literal["libx264", "libx265", "libvpx-vp9", "h264_nvenc", "hevc_nvenc"]
VideoPreset = Literal[
    "ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow", "slower", "veryslow"
]
ExecutionProvider = Literal["auto", "cpu", "cuda", "coreml"]
MemoryStrategy = Literal["strict", "moderate", "tolerant"]
Precision = Literal["auto", "full", "half"]
FrameFormat = Literal["bmp", "png", "jpg"]
FrameRange = Annotated[str, Field(pattern=r"^\d+-\d+$")]
LogLevel = Literal["error", "warn", "info", "debug"]


@dataclass(frozen=True)
class Option:
    """What a door needs to know of a field beyond its type.

    `task` makes the choices the names of that task's model cards; `basic` options are shown at once
    on the page, the others behind "More"; `short` is the one-letter flag; with `auto` the program
    may choose.
    """

    group: Group
    basic: bool = False
    short: str | None = None
    task: Task | None = None
    auto: bool = False


class Settings(BaseModel):
    """What a job does. Immutable; `model_copy(update=...)` makes a variant."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    source_paths: Annotated[tuple[Path, ...], Option("paths", basic=True, short="s")] = Field(
        (), description="pictures of the person to put on the target; several make one person"
    )
    target_path: Annotated[Path | None, Option("paths", basic=True, short="t")] = Field(
        None, description="the photo or video to change; it is never modified"
    )
    output_path: Annotated[Path | None, Option("paths", short="o")] = Field(
        None, description="the file to write, or a folder for it"
    )

    processors: Annotated[tuple[Processor, ...], Option("swapping")] = Field(
        ("face_swapper",), min_length=1, description="what is done to each frame"
    )
    face_swapper_model: Annotated[
        str, Option("swapping", basic=True, task="face_swapper", auto=True)
    ] = Field(
        AUTO,
        description="the model that puts the source's face on the target; auto: the best that is "
        "installed and fits",
    )
    face_swapper_weight: Annotated[float, Option("swapping")] = Field(
        0.5,
        ge=0.0,
        le=1.0,
        description="how much of the source's identity is put on, with models that take an "
        "embedding: below 0.5 some of the target's is kept, above it is driven out",
    )
    face_swapper_pixel_boost: Annotated[PixelBoost | None, Option("swapping")] = Field(
        None,
        description="size at which a face is swapped, made of several runs of a smaller network; "
        "the network's own if not given",
    )
    face_enhancer_model: Annotated[str, Option("swapping", task="face_enhancer", auto=True)] = (
        Field(AUTO, description="the model that restores the swapped face")
    )
    face_enhancer_blend: Annotated[int, Option("swapping")] = Field(
        80, ge=0, le=100, description="how much of the enhanced face is used, in percent"
    )
    face_enhancer_weight: Annotated[float, Option("swapping")] = Field(
        0.5,
        ge=0.0,
        le=1.0,
        description="codeformer's fidelity: 0 paints the finest face, 1 keeps nearest to the one "
        "that is there",
    )
    face_enhancer_backend: Annotated[EnhancerBackend, Option("swapping")] = Field(
        "onnx",
        description="what runs an enhancer that comes as .pth: onnx converts it once and is "
        "faster and smaller, torch runs it as it is",
    )
    enhance_every: Annotated[int, Option("swapping")] = Field(
        1,
        ge=1,
        description="every how many frames of a clip the enhancers work; above 1 is faster and may "
        "flicker",
    )
    enhance_ranges: Annotated[tuple[FrameRange, ...], Option("swapping")] = Field(
        (),
        description="frames of a clip in which the enhancers work, counted from 0, such as 40-80; "
        "all if none is given",
    )
    frame_enhancer_model: Annotated[str, Option("swapping", task="frame_enhancer", auto=True)] = (
        Field(AUTO, description="the model that enhances the whole frame")
    )
    frame_enhancer_blend: Annotated[int, Option("swapping")] = Field(
        80, ge=0, le=100, description="how much of the enhanced frame is used, in percent"
    )

    face_detector_model: Annotated[str, Option("face", task="face_detector")] = Field(
        "centerface", description="the model that finds faces"
    )
    face_detector_size: Annotated[int, Option("face")] = Field(
        640, ge=160, le=2048, description="long edge, in pixels, of the picture the detector sees"
    )
    face_detector_score: Annotated[float, Option("face")] = Field(
        0.5, ge=0.0, le=1.0, description="how sure the detector must be"
    )
    face_detector_angles: Annotated[tuple[Literal[0, 90, 180, 270], ...], Option("face")] = Field(
        (0,),
        min_length=1,
        description="turns of the frame, in degrees, at which faces are searched",
    )
    face_landmarker_model: Annotated[str, Option("face", task="face_landmarker")] = Field(
        "dlib_68", description="the model that finds the 68 points of a face"
    )
    face_recognizer_model: Annotated[str, Option("face", task="face_recognizer")] = Field(
        "dlib_resnet", description="the model that tells people apart"
    )
    face_selector_mode: Annotated[FaceSelectorMode, Option("face", basic=True)] = Field(
        "one",
        description="which faces are swapped: the first in the order, all, or the reference's",
    )
    face_selector_order: Annotated[FaceSelectorOrder, Option("face", basic=True)] = Field(
        "large-small", description="how the faces of a frame are counted"
    )
    reference_face_position: Annotated[int, Option("face")] = Field(
        0, ge=0, description="which face of the reference frame is the person, counted from 0"
    )
    reference_face_distance: Annotated[float, Option("face")] = Field(
        0.3,
        ge=0.0,
        le=1.0,
        description="how far a face may be from the reference: half the recogniser's own distance, "
        "0.3 for most people",
    )
    reference_frame_number: Annotated[int, Option("face")] = Field(
        0, ge=0, description="the target's frame that shows the reference person, counted from 0"
    )
    target_face_size: Annotated[int | None, Option("swapping")] = Field(
        None,
        ge=64,
        description="long edge, in pixels, at which a face is worked on at most; larger faces lose "
        "fine detail and cost less",
    )

    face_mask_types: Annotated[tuple[MaskType, ...], Option("mask")] = Field(
        ("box",),
        min_length=1,
        description="what bounds the change: the crop's box, the face's area, what covers the "
        "face, chosen regions of it",
    )
    face_mask_regions: Annotated[tuple[FaceMaskRegion, ...], Option("mask")] = Field(
        get_args(FaceMaskRegion), min_length=1, description="what the region mask lets change"
    )
    face_occluder_model: Annotated[str, Option("mask", task="face_occluder")] = Field(
        "xseg_1", description="the model that sees what covers a face"
    )
    face_parser_model: Annotated[str, Option("mask", task="face_parser")] = Field(
        "bisenet_resnet_34", description="the model that tells the regions of a face apart"
    )
    face_mask_blur: Annotated[float, Option("mask")] = Field(
        0.3, ge=0.0, le=1.0, description="softness of the box mask's edge"
    )
    face_mask_padding: Annotated[tuple[int, int, int, int], Option("mask")] = Field(
        (0, 0, 0, 0), description="top, right, bottom, left of the box mask kept, in percent"
    )

    trim_frame_start: Annotated[int | None, Option("output")] = Field(
        None, ge=0, description="first frame of the target that is used, counted from 0"
    )
    trim_frame_end: Annotated[int | None, Option("output")] = Field(
        None, ge=1, description="frame of the target before which the output ends"
    )
    output_image_quality: Annotated[int, Option("output")] = Field(
        90, ge=0, le=100, description="quality of a JPEG, WebP or AVIF"
    )
    output_video_encoder: Annotated[VideoEncoder, Option("output")] = Field(
        "libx264", description="how a video is encoded; libx264 plays everywhere"
    )
    output_video_quality: Annotated[int, Option("output")] = Field(
        80, ge=0, le=100, description="quality of a video"
    )
    output_video_preset: Annotated[VideoPreset, Option("output")] = Field(
        "veryfast", description="speed of the encoder against the size of the file"
    )
    output_video_fps: Annotated[float | None, Option("output")] = Field(
        None, gt=0, le=240, description="frames per second of the output; the target's if not given"
    )
    output_video_scale: Annotated[float, Option("output")] = Field(
        1.0, ge=0.25, le=4.0, description="size of the output video against the target's"
    )
    report_path: Annotated[Path | None, Option("output")] = Field(
        None, description="where the job report is written, as JSON"
    )

    execution_providers: Annotated[tuple[ExecutionProvider, ...], Option("machine")] = Field(
        ("auto",), min_length=1, description="what runs the models; auto takes the card if it works"
    )
    execution_device_ids: Annotated[tuple[int, ...], Option("machine")] = Field(
        (0,), min_length=1, description="which card, counted from 0"
    )
    execution_thread_count: Annotated[int, Option("machine")] = Field(
        0, ge=0, le=64, description="processor threads of a network; 0: as many as there are cores"
    )
    execution_offload: Annotated[tuple[Task, ...], Option("machine")] = Field(
        (), description="tasks whose models run on the processor although there is a card"
    )
    execution_precision: Annotated[Precision, Option("machine")] = Field(
        "auto",
        description="half takes models in half precision where there are such; auto does so on "
        "cards made for it when memory is short",
    )
    video_memory_limit: Annotated[ByteSize | None, Option("machine")] = Field(
        None, gt=0, description="memory of the card to use at most, such as 4GB; else what is free"
    )
    video_memory_strategy: Annotated[MemoryStrategy, Option("machine")] = Field(
        "moderate",
        description="what stays on the card between the stages: strict, the generator alone; "
        "moderate, what fits well; tolerant, all that fits",
    )
    system_memory_limit: Annotated[float, Option("machine")] = Field(
        0.0,
        ge=0.0,
        le=1024.0,
        description="GiB that frames waiting for the next stage may take; 0: half of what is free",
    )
    temp_frame_format: Annotated[FrameFormat, Option("machine")] = Field(
        "bmp",
        description="how frames wait for the next stage: bmp as they are, png smaller and slower, "
        "jpg smallest with a slight loss",
    )
    models_path: Annotated[Path | None, Option("machine")] = Field(
        None, description="folder where downloaded models lie; the program's own if not given"
    )
    unverified_models: Annotated[tuple[str, ...], Option("machine")] = Field(
        (),
        description="models whose files are used although nobody can say that they are the "
        "published ones",
    )
    emulate_vram: Annotated[ByteSize | None, Option("machine")] = Field(
        None, gt=0, description="memory of a graphics card to emulate, such as 4GB, to try it out"
    )
    emulate_hog: Annotated[str | None, Option("machine")] = Field(
        None,
        pattern=r"^\d+(\.\d+)?\s*[kKMGT]?i?B?@frame:\d+(-\d+)?$",
        description="memory that another program takes from the emulated card, and when, such as "
        "1GB@frame:40, or 1GB@frame:40-80 if it gives it back",
    )
    allow_lossy_fallback: Annotated[bool, Option("machine")] = Field(
        True, description="whether a job short of memory may go on with a lesser picture"
    )
    log_level: Annotated[LogLevel, Option("machine")] = Field(
        "info", description="how much is told on the terminal"
    )


def option(field: FieldInfo) -> Option:
    """Return the `Option` a field of `Settings` is annotated with."""
    return next(item for item in field.metadata if isinstance(item, Option))


@dataclass(frozen=True)
class Values:
    """What a field takes, told without pydantic.

    Attributes:
        kind: of one value.
        count: 1, the length of a fixed row of values, or None: any number of them.
        optional: None is taken as well.
        choices: the known values; empty: no fixed set.
        low, high: the range, ends included unless `low_open`; None: no bound.
    """

    kind: type
    count: int | None
    optional: bool
    choices: tuple[str | int, ...]
    low: float | None
    high: float | None
    low_open: bool


def values_of(field: FieldInfo) -> Values:
    """Return what a field of `Settings` takes.

    >>> values_of(Settings.model_fields["face_detector_angles"]).choices
    (0, 90, 180, 270)
    >>> values_of(Settings.model_fields["output_video_fps"]).high
    240.0
    """
    annotation: Any = field.annotation
    optional = NoneType in get_args(annotation)
    if optional:
        (annotation,) = set(get_args(annotation)) - {NoneType}
    count: int | None = 1
    if get_origin(annotation) is tuple:
        items = get_args(annotation)
        count = None if items[-1] is Ellipsis else len(items)
        annotation = items[0]
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    choices = get_args(annotation) if get_origin(annotation) is Literal else ()
    bounds = {
        name: float(getattr(item, name))
        for item in field.metadata
        for name in ("ge", "gt", "le")
        if hasattr(item, name)
    }
    return Values(
        kind=type(choices[0]) if choices else annotation,
        count=count,
        optional=optional,
        choices=choices,
        low=bounds.get("ge", bounds.get("gt")),
        high=bounds.get("le"),
        low_open="gt" in bounds,
    )


def make_settings(values: Mapping[str, Any]) -> Settings:
    """Build `Settings`, naming the option and the nearest known name when something is wrong.

    Raises:
        SettingsError: an option is unknown or out of range.

    >>> make_settings({"face_mask_blurr": 0.1})
    Traceback (most recent call last):
    facefusion_ui.errors.SettingsError: face_mask_blurr is not an option
    """
    for name in values:
        if name not in Settings.model_fields:
            raise SettingsError(
                f"{name} is not an option", hint=nearest(name, Settings.model_fields)
            )
    try:
        return Settings(**values)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        wrong = first["msg"].removeprefix("Input ")
        if first["type"] == "string_pattern_mismatch":
            wrong = "is not of the form it takes"
        raise SettingsError(
            f"{name}: {wrong}, got {first['input']!r}",
            hint=f"{name} says {Settings.model_fields[name].description}.",
        ) from None


def nearest(name: str, known: Mapping[str, object] | list[str]) -> str:
    """Suggest the known name most like `name`.

    >>> nearest("landmark_wrap", ["landmark_warp", "inswapper_128"])
    'Did you mean landmark_warp?'
    >>> nearest("x", ["landmark_warp"])
    'Known: landmark_warp.'
    """
    close = difflib.get_close_matches(name, known, n=1)
    return f"Did you mean {close[0]}?" if close else f"Known: {', '.join(known)}."
