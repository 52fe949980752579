"""GPEN: restores a face with a generator, at 256, 512 or 1024 pixels.

Follows: Yang et al., "GAN Prior Embedded Network for Blind Face Restoration in the Wild"
(arXiv:2105.06070). Weights: yangxy, non-commercial, as FaceFusion ships them; see CARDS.
"""

from facefusion_ui.cards import Licence, ModelCard, Template, Weights
from facefusion_ui.enhancers.gfpgan import Restorer

LICENCE = Licence(
    "academic and non-commercial only (Alibaba)", False, "https://github.com/yangxy/GPEN"
)


def _card(
    side: int, sizes: tuple[int, str], template: Template, summary: str, *twins: tuple[int, str]
) -> ModelCard:
    name = f"gpen_bfr_{side}"
    return ModelCard(
        name=name,
        task="face_enhancer",
        summary=summary,
        licence=LICENCE,
        open=Restorer,
        runtime="onnx",
        template=template,
        size_px=side,
        rank=60,
        bytes_per_pixel=2000,  # an estimate: that of gfpgan
        weights=Weights(
            path=f"{name}.onnx",
            size_bytes=sizes[0],
            sha256=sizes[1],
            urls=(
                f"https://github.com/facefusion/facefusion-assets/releases/download/models-3.0.0/{name}.onnx",
                f"https://huggingface.co/facefusion/models-3.0.0/resolve/main/{name}.onnx",
            ),
            twins=twins,
        ),
    )


CARDS = (
    _card(
        512,
        (284_340_240, "d5f066b9068a8b74217f9712e28e875a6144629b108a6f7355acbdb3a2832c54"),
        "ffhq_512",
        "crisp; at times too much so",
        (284_250_449, "0960f836488735444d508b588e44fb5dfd19c68fde9163ad7878aa24d1d5115e"),
    ),
    _card(
        1024,
        (285_203_703, "bcd31aa52110a2005efc96abbab4546d57e42482648f08715b552423d96b381b"),
        "ffhq_512",
        "for faces that fill a large picture",
    ),
    _card(
        256,
        (75_792_988, "bad8bf0426873828df2dbf4e3b3d9ababba9da7965b8b72426569486f7ae5c25"),
        "arcface_128",
        "the smallest restorer: 76 MB",
        (75_715_262, "aa5bd3ab238640a378c59e4a560f7a7150627944cf2129e6311ae4720e833271"),
    ),
)
