"""From a video's numbers to BGR and back, by ffmpeg filters, without a shift of colour.

A file that does not say which matrix it uses is read and written with the one players assume; it
stays unsaid, so that the same player shows the same colours.
"""

from typing import Any

from facefusion_ui.media.info import BT709, Colour, MediaInfo

SCALE_FLAGS = "bicubic+accurate_rnd+full_chroma_int+full_chroma_inp"
HD_HEIGHT = 720  # players take bt709 from here on, bt601 below
SDR_WHITE_NITS = 203  # ITU-R BT.2408: where HDR puts the white of a page

_SCALE_MATRICES = {  # what the scale filter calls them
    "bt709": "bt709",
    "fcc": "fcc",
    "bt470bg": "bt601",
    "smpte170m": "bt601",
    "smpte240m": "smpte240m",
    "bt2020nc": "bt2020",
}


def output_colour(info: MediaInfo) -> Colour:
    """Return how the written video is tagged: as the source, HDR and RGB ones as bt709."""
    if info.hdr or info.colour.matrix == "gbr" or info.kind != "video":
        return BT709
    return info.colour


def matrix_name(colour: Colour, height: int) -> str:
    """Return the matrix the scale filter is to use, assumed where `colour` does not say.

    >>> matrix_name(Colour(), 1080), matrix_name(Colour(), 480)
    ('bt709', 'bt601')
    """
    assumed = "bt709" if height >= HD_HEIGHT else "bt601"
    return _SCALE_MATRICES.get(colour.matrix or "", assumed)


def to_bgr(stream: Any, info: MediaInfo, *, tone_map: bool, flatten: bool) -> Any:
    """Append the filters that make `stream`, an ffmpeg-python node, packed BGR.

    `tone_map` needs the zscale and tonemap filters; `flatten` lays an alpha clip onto black.
    """
    colour = info.colour
    width, height = info.size_wh  # stated, because a damaged or live clip may change it midway
    if tone_map:
        stream = stream.filter(
            "zscale",
            width=width,
            height=height,
            transferin=colour.transfer,
            primariesin=colour.primaries or "bt2020",
            matrixin=colour.matrix or "bt2020nc",
            rangein=colour.range or "tv",
            transfer="linear",
            npl=SDR_WHITE_NITS,
        )
        stream = stream.filter("format", "gbrpf32le").filter("zscale", primaries="bt709")
        stream = stream.filter("tonemap", "mobius", param=0.7, desat=0)
        stream = stream.filter("zscale", transfer="bt709", matrix="gbr", range="pc")
        stream = stream.filter("format", "gbrp")
    else:
        stream = stream.filter(
            "scale",
            width,
            height,
            in_color_matrix=matrix_name(colour, height),
            in_range=colour.range or "tv",
            out_range="pc",
            flags=SCALE_FLAGS,
        )
    if flatten:
        stream = stream.filter("format", "gbrap").filter("premultiply", inplace=1)
    return stream.filter("format", "bgr24")


def from_bgr(stream: Any, info: MediaInfo, *, size_wh: tuple[int, int]) -> Any:
    """Append the filters that make `stream`, packed BGR, yuv420p of `size_wh` with its tags."""
    colour = output_colour(info)
    stream = stream.filter(
        "scale",
        *size_wh,
        in_range="pc",
        out_color_matrix=matrix_name(colour, info.size_wh[1]),
        out_range=colour.range or "tv",
        flags=SCALE_FLAGS,
    )
    stream = stream.filter("format", "yuv420p")
    return stream.filter(
        "setparams",
        range=colour.range or "unknown",
        color_primaries=colour.primaries or "unknown",
        color_trc=colour.transfer or "unknown",
        colorspace=colour.matrix or "unknown",
    ).filter("setsar", f"{info.sample_aspect.numerator}/{info.sample_aspect.denominator}")
