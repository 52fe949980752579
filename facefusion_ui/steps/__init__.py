"""Pure array functions between the models: choose, align, mask, colour, paste."""
