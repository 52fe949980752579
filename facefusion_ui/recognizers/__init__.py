"""Describe a face by a vector; near vectors are the same person."""
