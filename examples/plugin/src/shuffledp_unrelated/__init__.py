"""The unrelated question technique, for shuffledp."""
