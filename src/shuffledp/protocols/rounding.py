"""Stochastic rounding of reals to a grid."""

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.core.randomness import ROUNDING, RandomSource, where_few
from shuffledp.core.ranged import Ranged
from shuffledp.errors import InvalidInput

Reals = NDArray[np.float64]
_DRAW = 1 << 32
"""Draws of a row's blocks that rounding uses; a randomizer's own draws are far below."""


def to_grid(
    values: Reals, randomness: RandomSource, *, low: float, high: float, steps: int, first_row: int
) -> NDArray[np.unsignedinteger]:
    """Grid points 0 ... steps of [low, high], rounded up with the probability that keeps the mean.

    The draw is right to within 2^-136, and the probability, which is computed in doubles, to within steps * 2^-51.
    A value outside the range is refused.
    """
    array = checks.numbers(values)
    if not (isinstance(values, Ranged) and values.known_within(low, high)) and not checks.within(array, low, high):
        raise InvalidInput(f"a value is outside [{low}, {high}] or not a number. Clamp or drop it first.")
    share = partial(_share, low=low, span=high - low)
    # A grid point and the first eight bits of what is beyond it. A byte below these bits rounds up: then adding what is missing
    # from it to 255 carries. A byte equal to them gives 255, and leaves it to the next 128 bits.
    carried = np.empty(len(array), dtype=np.min_scalar_type(256 * steps + 255))
    np.multiply(share(array), 256.0 * steps, out=carried, casting="unsafe")
    carried += ~randomness.stream(first_row, len(array), ROUNDING)
    tied = where_few(carried.astype(np.uint8) == 255)
    carried >>= 8
    symbols = carried.astype(np.min_scalar_type(steps))
    blocks = randomness.blocks(tied.view(np.uint64) + np.uint64(first_row), _DRAW)
    rest = share(array[tied]) * (256.0 * steps)
    rest -= np.floor(rest)
    rest *= 2.0**64
    whole = rest.astype(np.uint64)
    up = blocks[:, 0] < whole
    for j in np.flatnonzero(blocks[:, 0] == whole):  # once in 2^64 of them
        up[j] = blocks[j, 1] < np.uint64((rest[j] - np.floor(rest[j])) * 2.0**64)
    symbols[tied] += up
    return symbols


def points_beside(share: float, steps: int) -> list[tuple[int, float]]:
    """The grid points that this share of the range is rounded to, and how often each."""
    floor = min(math.floor(share * steps), steps - 1)
    both = ((floor, floor + 1 - share * steps), (floor + 1, share * steps - floor))
    return [(point, often) for point, often in both if often]


def _share(values: Reals, *, low: float, span: float) -> Reals:
    """From 0 for low to 1 for low + span; the values themselves if they are just that."""
    shifted = values - low if low else values
    return np.asarray(shifted / span if span != 1 else shifted)


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
