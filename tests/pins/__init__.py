"""Pinned values: what every function computes for a few inputs, so that any change of it is noticed (tests/golden/pins.json).

A pin says that something is *different*, never that it was right: a value nobody checked can pin a bug. That the values are
sound is what the other tests are about. Who changes a value on purpose writes the table anew and reads what changed:

    PYTHONPATH=tests python -m pins --write
"""
