"""The user's side of a collection."""
