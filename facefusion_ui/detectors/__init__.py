"""Find faces and their five points."""
