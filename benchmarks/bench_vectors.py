"""Rows of numbers: encoding and decoding against numpy that draws as many normals, and the memory of long rows.

Goals: encode at d = 100, M = 2,048 at 60 % of the speed of numpy that draws the same number of normals and multiplies; decode
a million reports of d = 100 in 3 times the time of drawing 1e8 normals; rows of 10,000 in a bounded memory.
"""

import numpy as np

from goals import against
from measured import fastest, most_memory
from shuffledp import KeyedRandomness
from shuffledp.domains.vectors import Ball
from shuffledp.protocols.vector_mean import VectorMean
from shuffledp.randomizers.codebook_response import CodebookResponse

SIZE, DIMENSION, USERS, REPORTS = 2048, 100, 100, 1_000_000
GENERATOR = np.random.default_rng(0)


def protocol_of(dimension: int) -> VectorMean:
    """The mean of rows of so many entries in the unit ball."""
    randomizer = CodebookResponse.private(dimension=dimension, size=SIZE, gamma=0.07)
    return VectorMean(randomizer=randomizer, domain=Ball(dimension, 1.0))


def encoding(protocol: VectorMean) -> None:
    """A hundred users."""
    rows = GENERATOR.random((USERS, DIMENSION)) / 20
    values, randomness = protocol.domain.clean(rows).values, KeyedRandomness.fresh()

    def ours() -> None:
        protocol.randomize(values, randomness, first_row=0)

    def numpys() -> None:
        for row in rows:
            (GENERATOR.standard_normal((SIZE, DIMENSION)) @ row).argmax()

    encoded, drawn = fastest(ours, numpys, repeats=3)
    print(f"encode one row of {DIMENSION} among {SIZE:,} codewords: {1e3 * encoded / USERS:.2f} ms")
    print(against("encode rows of 100, speed of numpy that draws as many normals", drawn / encoded))


def decoding(protocol: VectorMean) -> None:
    """A million reports, as the analyzer counts them."""
    messages = GENERATOR.integers(0, protocol.alphabet, REPORTS, dtype=np.uint64)
    often = np.ones(REPORTS, dtype=np.int64)

    def ours() -> None:
        protocol.add_batch(np.zeros(protocol.batch_counters, dtype=np.int64), messages, often)

    def numpys() -> None:
        for _ in range(100):
            GENERATOR.standard_normal(1_000_000)

    decoded, drawn = fastest(ours, numpys, repeats=2)
    print(against("decode a million rows of 100, times numpy's 1e8 normals", decoded / drawn))


def long_rows() -> None:
    """A few users and a thousand reports of 10,000 entries: nothing grows with their number."""
    protocol = protocol_of(10_000)
    values = protocol.domain.clean(GENERATOR.random((4, 10_000)) / 200).values
    protocol.randomize(values, KeyedRandomness.fresh(), first_row=0)
    messages = GENERATOR.integers(0, protocol.alphabet, 2000, dtype=np.uint64)
    protocol.add_batch(np.zeros(protocol.batch_counters, dtype=np.int64), messages, np.ones(2000, dtype=np.int64))
    print(against("decode rows of 10,000, MB", most_memory()))


if __name__ == "__main__":
    long_rows()
    small = protocol_of(DIMENSION)
    encoding(small)
    decoding(small)
