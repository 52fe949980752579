"""Enhance a whole frame."""
