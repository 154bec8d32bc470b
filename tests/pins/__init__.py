"""Pinned results: what functions return for a few inputs, so that a change is noticed (tests/golden/pins.json).

What is returned, the charges that a claim names and what is refused are pinned, and nothing of how they are come by: who writes
a function anew that returns the same changes no pin. A pin says that something is *different*, never that it was right: a value
nobody checked can pin a bug. That the values are sound is what the other tests are about. Who changes a value on purpose writes
the table anew and reads what changed:

    PYTHONPATH=tests python -m pins --write
"""
