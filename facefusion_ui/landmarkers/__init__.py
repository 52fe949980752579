"""Find 68 landmarks on a face."""
