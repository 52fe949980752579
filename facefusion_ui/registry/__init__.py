"""Find models, open them, and lend them out: the only door to a model."""
