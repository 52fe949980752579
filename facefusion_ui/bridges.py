"""Modules that packages import and that have moved since."""

import sys
import types


def bridge_torchvision() -> None:
    """Give basicsr, and gfpgan on it, the one function they want from a module that is gone."""
    from torchvision.transforms import functional

    name = "torchvision.transforms.functional_tensor"
    moved = types.ModuleType(name)
    moved.rgb_to_grayscale = functional.rgb_to_grayscale  # type: ignore[attr-defined]
    sys.modules.setdefault(name, moved)
