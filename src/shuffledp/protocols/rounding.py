"""Stochastic rounding of reals to a grid."""

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.core.words import ROUNDING, WordSource
from shuffledp.errors import InvalidInput

Reals = NDArray[np.float64]
_DRAW = 1 << 32
"""Draws of a row's blocks that rounding uses; a randomizer's own draws are far below."""


def to_grid(
    values: Reals, words: WordSource, *, low: float, high: float, steps: int, first_row: int
) -> NDArray[np.unsignedinteger]:
    """Grid points 0 ... steps of [low, high], rounded up with the probability that keeps the mean, to within 2^-136.

    A value outside the range is refused.
    """
    array = checks.numbers(values)
    if len(array) and not (array.min() >= low and array.max() <= high):
        raise InvalidInput(f"a value is outside [{low}, {high}] or not a number. Clamp or drop it first.")
    fraction = (array - low) / (high - low)
    fraction *= steps
    floor = np.minimum(np.floor(fraction), steps - 1)
    fraction -= floor
    # A byte below the fraction's first eight bits rounds up; a byte equal to them leaves it to the next 128 bits.
    fraction *= 256
    first_bits = fraction.astype(np.uint16)
    drawn = words.stream(first_row, len(array), ROUNDING)
    symbols = floor.astype(np.min_scalar_type(steps))
    symbols += drawn < first_bits
    tied = np.flatnonzero(drawn == first_bits)
    blocks = words.blocks(tied.view(np.uint64) + np.uint64(first_row), _DRAW)
    rest = (fraction[tied] - first_bits[tied]) * 2.0**64
    whole = np.floor(rest)
    last = np.floor((rest - whole) * 2.0**64)
    even = blocks[:, 0] == whole.astype(np.uint64)
    up = (blocks[:, 0] < whole.astype(np.uint64)) | (even & (blocks[:, 1] < last.astype(np.uint64)))
    symbols[tied] += up
    return symbols


def grid_counts(
    values: Reals,
    users: NDArray[np.int64],
    generator: np.random.Generator,
    *,
    low: float,
    high: float,
    steps: int,
    runs: int,
) -> NDArray[np.int64]:
    """Sums over users of their grid points in `runs` runs, exact in law. For simulation."""
    scaled = (np.asarray(values, dtype=np.float64) - low) / (high - low) * steps
    floor = np.minimum(np.floor(scaled), steps - 1)
    up = generator.binomial(users, scaled - floor, size=(runs, len(users)))
    return np.asarray((floor.astype(np.int64) * users).sum() + up.sum(axis=1))
