"""Numbers only: enclosures, ball arithmetic, safe-side inversion. Nothing here knows about privacy."""
