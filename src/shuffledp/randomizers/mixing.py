"""Truth and blanket, mixed exactly: with a probability in units of 2^-64 a message becomes a uniform one."""

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.words import RESPONSE, WordSource, uniform_below, where_at_most


def with_blanket(
    messages: NDArray[np.unsignedinteger], threshold: int, size: int, words: WordSource, first_row: int
) -> NDArray[np.unsignedinteger]:
    """Replace each of the messages, with probability threshold / 2^64, by an exactly uniform one below `size`; in place.

    64 bits per row are compared with the threshold, eight of them at first, which settle most rows.
    """
    top, rest = divmod(threshold, 1 << 56)
    drawn = words.stream(first_row, len(messages), RESPONSE)
    where = where_at_most(drawn, top)
    rows = where.view(np.uint64) + np.uint64(first_row)
    blocks = words.blocks(rows, 0)
    # A byte equal to the threshold's settles nothing: the next 56 bits do.
    below = (drawn[where] < top) | (blocks[:, 0] >> np.uint64(8) < rest)
    messages[where[below]] = uniform_below(size, rows[below], words, blocks[below], 0)
    return messages
