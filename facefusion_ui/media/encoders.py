"""Which encoders write which containers, and what a quality of 0 to 100 means to each.

Quality 80 is each encoder's own "hard to tell from the source"; the scale is linear in its rate
factor, from its worst at 0. The containers' lists of sound and text are those browsers and ffmpeg
agree on.
"""

from dataclasses import dataclass
from typing import Any

from facefusion_ui.errors import SettingsError
from facefusion_ui.settings import VideoEncoder, VideoPreset


@dataclass(frozen=True)
class Container:
    """What a kind of video file takes.

    `audio`, `text`, `pictures` are codecs that are copied; sound and text of another codec becomes
    `audio_encoder`'s and `text_encoder`'s; subtitles that are pictures cannot be converted.
    """

    muxer: str
    encoders: tuple[VideoEncoder, ...]
    audio: frozenset[str]
    audio_encoder: str
    text: frozenset[str]
    text_encoder: str
    pictures: frozenset[str] = frozenset()
    attachments: bool = False


_H26X: tuple[VideoEncoder, ...] = ("libx264", "libx265", "h264_nvenc", "hevc_nvenc")
_MP4_AUDIO = frozenset(["aac", "mp3", "ac3", "eac3", "alac", "opus", "flac"])
_PCM = frozenset(
    ["pcm_s16le", "pcm_s16be", "pcm_s24le", "pcm_s24be", "pcm_s32le", "pcm_s32be", "pcm_f32le"]
)
_MP4 = Container(
    "mp4", (*_H26X, "libvpx-vp9"), _MP4_AUDIO, "aac", frozenset({"mov_text"}), "mov_text"
)
_MATROSKA = Container(
    "matroska",
    (*_H26X, "libvpx-vp9"),
    _MP4_AUDIO | _PCM | frozenset(["mp2", "dts", "truehd", "vorbis", "wavpack", "tta"]),
    "libopus",
    frozenset(["subrip", "ass", "ssa", "webvtt"]),
    "srt",
    pictures=frozenset(["hdmv_pgs_subtitle", "dvd_subtitle", "dvb_subtitle"]),
    attachments=True,
)

CONTAINERS: dict[str, Container] = {
    ".mp4": _MP4,
    ".m4v": _MP4,
    ".mov": Container(
        "mov",
        _H26X,
        frozenset(["aac", "mp3", "ac3", "eac3", "alac"]) | _PCM,
        "aac",
        frozenset({"mov_text"}),
        "mov_text",
    ),
    ".mkv": _MATROSKA,
    ".webm": Container(
        "webm",
        ("libvpx-vp9",),
        frozenset({"opus", "vorbis"}),
        "libopus",
        frozenset({"webvtt"}),
        "webvtt",
    ),
}

WORST = {"libx264": 51.0, "libx265": 51.0, "libvpx-vp9": 63.0, "h264_nvenc": 51.0}
WORST["hevc_nvenc"] = 51.0
AT_80 = {"libx264": 18.0, "libx265": 21.0, "libvpx-vp9": 27.0, "h264_nvenc": 19.0}
AT_80["hevc_nvenc"] = 22.0

_VP9_SPEEDS = {"ultrafast": 8, "superfast": 7, "veryfast": 6, "faster": 5, "fast": 4}
_VP9_SPEEDS |= {"medium": 3, "slow": 2, "slower": 1, "veryslow": 0}
_NVENC_PRESETS = {"ultrafast": "p1", "superfast": "p1", "veryfast": "p2", "faster": "p3"}
_NVENC_PRESETS |= {"fast": "p4", "medium": "p4", "slow": "p5", "slower": "p6", "veryslow": "p7"}


def check_encoder(suffix: str, encoder: VideoEncoder) -> Container:
    """Return the container a video `suffix` stands for.

    Raises:
        SettingsError: it does not take `encoder`.
    """
    container = CONTAINERS[suffix]
    if encoder not in container.encoders:
        fitting = [end for end, other in CONTAINERS.items() if encoder in other.encoders]
        raise SettingsError(
            f"{suffix} does not hold {encoder} video",
            hint=f"Set output_video_encoder to {' or '.join(container.encoders)}, or write "
            f"{' or '.join(fitting)}.",
        )
    return container


def rate_factor(encoder: VideoEncoder, quality: int) -> int:
    """Return the encoder's own number for `quality` 0..100, lower is better.

    >>> rate_factor("libx264", 80), rate_factor("libx264", 100), rate_factor("libx264", 0)
    (18, 10, 51)
    """
    worst, at_80 = WORST[encoder], AT_80[encoder]
    return round(worst - (worst - at_80) * quality / 80)


def encoder_options(
    encoder: VideoEncoder, *, quality: int, preset: VideoPreset, muxer: str
) -> dict[str, Any]:
    """Return ffmpeg's output options for the picture."""
    factor = rate_factor(encoder, quality)
    options: dict[str, Any] = {"c:v": encoder}
    if encoder == "libvpx-vp9":
        options |= {"crf": factor, "b:v": 0, "cpu-used": _VP9_SPEEDS[preset], "row-mt": 1}
    elif encoder in ("h264_nvenc", "hevc_nvenc"):
        options |= {"rc": "vbr", "cq": factor, "b:v": 0, "preset": _NVENC_PRESETS[preset]}
    else:
        options |= {"crf": factor, "preset": preset}
    if encoder == "libx265":
        options["x265-params"] = "log-level=error"
    if encoder in ("libx265", "hevc_nvenc") and muxer in ("mp4", "mov"):
        options["tag:v"] = "hvc1"  # or Apple's players show nothing
    return options
