"""Importing packages that were written for other packages' older editions."""

import sys
import types
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def bridged() -> Iterator[None]:
    """In the block, basicsr and what is built on it (gfpgan, codeformer) can be imported.

    They want one function from a module that torchvision no longer has, and warn of much that the
    user cannot change.
    """
    from torchvision.transforms import functional

    name = "torchvision.transforms.functional_tensor"
    moved = types.ModuleType(name)
    moved.rgb_to_grayscale = functional.rgb_to_grayscale  # type: ignore[attr-defined]
    sys.modules.setdefault(name, moved)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
