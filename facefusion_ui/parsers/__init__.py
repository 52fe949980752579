"""The regions of a face."""
