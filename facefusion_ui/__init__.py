"""Swap faces in photos and videos on your own machine."""

__version__ = "0.1.0"
