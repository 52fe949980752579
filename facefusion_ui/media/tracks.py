"""Sound, subtitles and the rest beside the picture: copied, converted, or their loss said."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from facefusion_ui.media.encoders import Container
from facefusion_ui.media.info import MediaInfo, Track
from facefusion_ui.notices import Warned

TEXT_CODECS = frozenset(
    ["subrip", "ass", "ssa", "webvtt", "mov_text", "text", "ttml", "microdvd", "sami", "eia_608"]
)
BITS_PER_CHANNEL = 96_000  # 192 kb/s for stereo
OPUS_LAYOUTS = "mono|stereo|3.0|quad|5.0|5.1|6.1|7.1"  # the others' channels have no order in Opus

_NAMES = {
    "audio": "sound track",
    "subtitle": "subtitle track",
    "attachment": "attachment",
    "data": "data track",
    "video": "other picture track",
}


@dataclass(frozen=True)
class TrackPlan:
    """Which streams of the source go along, with ffmpeg's output options for them."""

    indices: tuple[int, ...]
    options: dict[str, Any]
    warnings: tuple[Warned, ...]


def plan_tracks(info: MediaInfo, container: Container) -> TrackPlan:
    """Decide for each track of `info` what becomes of it in `container`."""
    kept: list[Track] = []
    lost: list[Track] = []
    options: dict[str, Any] = {}
    seen: Counter[str] = Counter()
    for track in info.tracks:
        choice = _options(track, container, seen[track.kind])
        if choice is None:
            lost.append(track)
            continue
        kept.append(track)
        options |= choice
        seen[track.kind] += 1
    warnings: tuple[Warned, ...] = ()
    if lost:
        counts = Counter(track.kind for track in lost)
        text = ", ".join(f"{n} {_NAMES[kind]}{'s' * (n > 1)}" for kind, n in counts.items())
        warnings = (
            Warned(
                f"Not in the output: {text} of {info.path.name}.",
                "A .mkv output keeps the most." if container.muxer != "matroska" else "",
            ),
        )
    return TrackPlan(tuple(track.index for track in kept), options, warnings)


def _options(track: Track, container: Container, position: int) -> dict[str, Any] | None:
    """Return the options for the `position`-th kept track of its kind; None: it cannot be kept."""
    if track.codec is None and track.kind != "attachment":
        return None
    if track.kind == "audio":
        name = f"a:{position}"
        if track.codec in container.audio:
            return {f"c:{name}": "copy"}
        channels = max(1, track.channels)
        encode = {f"c:{name}": container.audio_encoder, f"b:{name}": channels * BITS_PER_CHANNEL}
        if container.audio_encoder == "libopus":
            encode[f"filter:{name}"] = f"aformat=channel_layouts={OPUS_LAYOUTS}"
        return encode
    if track.kind == "subtitle":
        if track.codec in container.text | container.pictures:
            return {f"c:s:{position}": "copy"}
        if track.codec in TEXT_CODECS:
            return {f"c:s:{position}": container.text_encoder}
        return None
    if track.kind == "attachment" and container.attachments:
        return {f"c:t:{position}": "copy"}
    return None
