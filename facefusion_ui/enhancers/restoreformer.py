"""RestoreFormer++: restores a face by attention to a dictionary of face parts.

Follows: Wang et al., "RestoreFormer++: Towards Real-World Blind Face Restoration from Undegraded
Key-Value Pairs" (arXiv:2308.07228). Weights: as FaceFusion ships them; see CARDS.
"""

from facefusion_ui.cards import Licence, ModelCard, Weights
from facefusion_ui.enhancers.gfpgan import Restorer

CARDS = (
    ModelCard(
        name="restoreformer_plus_plus",
        task="face_enhancer",
        summary="keeps near to the face that is there",
        licence=Licence("Apache-2.0", True, "https://github.com/wzhouxiff/RestoreFormerPlusPlus"),
        open=Restorer,
        runtime="onnx",
        template="ffhq_512",
        size_px=512,
        rank=70,
        bytes_per_pixel=4500,  # an estimate: that of codeformer
        weights=Weights(
            path="restoreformer_plus_plus.onnx",
            size_bytes=294_264_232,  # publishers contradict each other about its SHA-256
            urls=(
                "https://github.com/facefusion/facefusion-assets/releases/download/models-3.0.0/restoreformer_plus_plus.onnx",
                "https://huggingface.co/facefusion/models-3.0.0/resolve/main/restoreformer_plus_plus.onnx",
            ),
        ),
    ),
)
