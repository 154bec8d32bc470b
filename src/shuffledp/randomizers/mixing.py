"""Truth and blanket, mixed exactly: with a probability in units of 2^-64 a message becomes a uniform one."""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.randomness import RESPONSE, WORD, RandomSource, uniform_below, where_at_most

_AT_ONCE: Final = 1 << 18
"""Rows: what is computed of so many stays near the processor."""


def threshold_of(gamma: float) -> int:
    """A probability in units of 2^-64, rounded up: from 1 to 2^64, whatever it is."""
    return min(WORD, max(1, math.ceil(gamma * WORD)))


def with_blanket(
    messages: NDArray[np.unsignedinteger], threshold: int, size: int, randomness: RandomSource, first_row: int
) -> NDArray[np.unsignedinteger]:
    """Replace each of the messages, with probability threshold / 2^64, by an exactly uniform one below `size`; in place.

    64 bits per row are compared with the threshold, eight of them at first, which settle most rows.
    """
    for start in range(0, len(messages), _AT_ONCE):
        _mix(messages[start : start + _AT_ONCE], threshold, size, randomness, first_row + start)
    return messages


def _mix(
    messages: NDArray[np.unsignedinteger], threshold: int, size: int, randomness: RandomSource, first_row: int
) -> None:
    top, rest = divmod(threshold, 1 << 56)
    drawn = randomness.stream(first_row, len(messages), RESPONSE)
    where = where_at_most(drawn, top)
    rows = where.view(np.uint64) + np.uint64(first_row)
    blocks = randomness.blocks(rows, 0)
    # A byte equal to the threshold's settles nothing: the next 56 bits do. Few are, so their truth is put back afterwards.
    tied = np.flatnonzero(drawn.take(where) == top)
    kept = where[tied[blocks[tied, 0] >> np.uint64(8) >= rest]]
    truth = messages[kept]
    messages[where] = uniform_below(size, rows, randomness, blocks, 0).astype(messages.dtype)
    messages[kept] = truth
