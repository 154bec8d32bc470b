"""Nouns that randomizers, bounds and protocols share."""
