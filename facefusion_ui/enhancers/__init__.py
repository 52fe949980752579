"""Restore a face crop."""
