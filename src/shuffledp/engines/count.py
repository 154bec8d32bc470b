"""The heart of every engine: clean values to counts of messages."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.counts import Counts
from shuffledp.core.words import WordSource
from shuffledp.protocols.histogram import Histogram
from shuffledp.protocols.query import Query
from shuffledp.protocols.summation import Summation

BLOCK = 1 << 18
"""Rows randomized at once: enough to forget Python, few enough for the processor's cache."""


def count(
    protocol: Histogram | Summation | Query,
    values: Any,
    words: WordSource,
    *,
    first_row: int = 0,
    keep: NDArray[np.bool_] | None = None,
) -> Counts:
    """Encode, randomize, count. The messages depend on the rows' numbers only, not on how the rows are cut into pieces.

    Rows not kept are randomized and dropped: their messages are nobody's.
    """
    total = Counts.none(protocol.randomizer.size)
    for start in range(0, len(values), BLOCK):
        row = first_row + start
        symbols = protocol.encode(values[start : start + BLOCK], words, first_row=row)
        messages = protocol.randomizer.randomize(symbols, words, first_row=row)
        if keep is not None:
            messages = messages[keep[start : start + BLOCK]]
        total += Counts.of(messages, total.size)
    return total


def settle_allocator() -> None:
    """Let glibc keep freed arrays of up to 32 MB for the next block instead of returning them to the system each time.

    Freeing one large block moves its thresholds (mallopt(3), M_MMAP_THRESHOLD); elsewhere this does nothing.
    """
    np.empty(31 << 20, dtype=np.uint8)
