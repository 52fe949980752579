"""One recogniser's embeddings turned into another network's."""
