"""Truth and blanket, mixed exactly: with a probability in units of 2^-64 a message becomes a uniform one."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.words import RESPONSE, WordSource, uniform_below

_FEW: Final = 15
"""Of 256 bytes."""


def with_blanket(
    messages: NDArray[np.unsignedinteger], threshold: int, size: int, words: WordSource, first_row: int
) -> NDArray[np.unsignedinteger]:
    """Replace each of the messages, with probability threshold / 2^64, by an exactly uniform one below `size`; in place.

    64 bits per row are compared with the threshold, eight of them at first, which settle most rows.
    """
    top, rest = divmod(threshold, 1 << 56)
    drawn = words.stream(first_row, len(messages), RESPONSE)
    where = _where_at_most(drawn, top)
    rows = where.view(np.uint64) + np.uint64(first_row)
    blocks = words.blocks(rows, 0)
    replies = uniform_below(size, rows, words, blocks, 0).astype(messages.dtype)
    # A byte equal to the threshold's settles nothing: the next 56 bits do.
    tied = np.flatnonzero(drawn[where] == top)
    truthful = tied[blocks[tied, 0] >> np.uint64(8) >= rest]
    replies[truthful] = messages[where[truthful]]
    messages[where] = replies
    return messages


def _where_at_most(drawn: NDArray[np.uint8], top: int) -> NDArray[np.intp]:
    """Indices of the bytes that are at most `top`: np.flatnonzero in two steps, less time when they are few."""
    if top > _FEW:
        return np.flatnonzero(drawn <= top)
    mask = np.zeros(-(-len(drawn) // 4) * 4, dtype=np.bool_)
    np.less_equal(drawn, top, out=mask[: len(drawn)])
    fours = mask.view(np.uint32)
    some = np.flatnonzero(fours != 0)
    inside = np.flatnonzero(fours[some].view(np.bool_))
    found: NDArray[np.intp] = some[inside >> 2] << 2
    found += inside & 3
    return found
