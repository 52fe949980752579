"""RetinaFace 10G as FaceFusion ships it: the outputs of SCRFD, decoded as SCRFD's are.

Follows: Deng et al., "RetinaFace: Single-stage Dense Face Localisation in the Wild"
(arXiv:1905.00641). Weights: InsightFace, non-commercial, see CARDS.
"""

from facefusion_ui.cards import ModelCard, Weights
from facefusion_ui.detectors.scrfd import LICENCE, Scrfd

CARDS = (
    ModelCard(
        name="retinaface_10g",
        task="face_detector",
        summary="a detector as strong as scrfd, in a file of its own",
        licence=LICENCE,
        open=Scrfd,
        runtime="onnx",
        bytes_per_pixel=42.5,  # an estimate: that of scrfd
        weights=Weights(
            path="retinaface_10g.onnx",
            size_bytes=16_926_877,  # nobody has published its hash
            urls=(
                "https://github.com/facefusion/facefusion-assets/releases/download/models-3.0.0/retinaface_10g.onnx",
                "https://huggingface.co/facefusion/models-3.0.0/resolve/main/retinaface_10g.onnx",
            ),
        ),
    ),
)
