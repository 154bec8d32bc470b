"""Where random words come from. Randomness is an argument: every randomizer is a pure function of its words.

A word is a uniform 64-bit integer with an address: (row, draw). Draw 0 is a row's first word; later draws are
rarer (a blanket symbol, a rejection). Under one key every process that works on its own rows produces the same
messages, so a repeated task never randomizes anyone twice.
"""

import hashlib
import os
from typing import Protocol, Self

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from shuffledp.errors import InvalidInput

Words = NDArray[np.uint64]


class WordSource(Protocol):
    """Uniform independent 64-bit words by address."""

    @property
    def private(self) -> bool:
        """Whether the words are unpredictable, so that what they randomize carries a guarantee."""
        ...

    def words(self, rows: Words, draw: int) -> Words:
        """One word for each row's draw number `draw`."""
        ...


class SystemWords:
    """The operating system's random bytes: fresh at each call, whatever the address. What a client device uses."""

    private = True

    def words(self, rows: Words, draw: int) -> Words:  # noqa: ARG002 - the address does not matter here
        """Fresh system words."""
        return np.frombuffer(os.urandom(8 * len(rows)), dtype="<u8").astype(np.uint64, copy=False)


class KeyedWords:
    """AES-128 of the address (row, draw) under one key: random access, the same in every process that has the key."""

    __slots__ = ("_key", "private")

    def __init__(self, key: bytes, *, private: bool) -> None:
        if len(key) != 16:
            raise InvalidInput(f"a key has 16 bytes; got {len(key)}. Use KeyedWords.fresh().")
        self._key = key
        self.private = private

    @classmethod
    def fresh(cls) -> Self:
        """A new secret key for one run."""
        return cls(os.urandom(16), private=True)

    @classmethod
    def seeded(cls, seed: int) -> Self:
        """Repeatable words for simulation and tests; results randomized with them carry no guarantee."""
        return cls(hashlib.sha256(f"shuffledp simulation {seed}".encode()).digest()[:16], private=False)

    def words(self, rows: Words, draw: int) -> Words:
        """The first half of AES(row, draw), each half of the block a little-endian integer."""
        blocks = np.empty((len(rows), 2), dtype="<u8")
        blocks[:, 0] = rows
        blocks[:, 1] = draw
        # ECB on distinct addresses is a permutation used as a function: 2^-128-rare repeats are all it leaks.
        encryptor = Cipher(algorithms.AES(self._key), modes.ECB()).encryptor()  # noqa: S305
        stream = np.frombuffer(encryptor.update(blocks.tobytes()), dtype="<u8")
        return stream.reshape(-1, 2)[:, 0].astype(np.uint64)

    def __repr__(self) -> str:
        return f"KeyedWords(private={self.private})"


def rows_from(first: int, count: int) -> Words:
    """The addresses of `count` consecutive rows."""
    if not 0 <= first < 2**62:
        raise InvalidInput("row numbers go from 0 to 2^62. Choose a smaller first_row.")
    return np.arange(first, first + count, dtype=np.uint64)


def uniform_below(bound: int, rows: Words, source: WordSource, first_draw: int) -> Words:
    """Exactly uniform integers below `bound` (at most 2^32), by multiply-shift with rejection (Lemire 2019)."""
    high, low = _multiply(source.words(rows, first_draw), bound)
    threshold = np.uint64((1 << 64) % bound)
    rejected = np.flatnonzero(low < threshold)
    draw = first_draw
    while len(rejected):
        draw += 1
        high[rejected], low = _multiply(source.words(rows[rejected], draw), bound)
        rejected = rejected[low < threshold]
    return high


def _multiply(words: Words, bound: int) -> tuple[Words, Words]:
    """The 128-bit products word * bound as (high, low) halves, for bound <= 2^32."""
    factor = np.uint64(bound)
    shift = np.uint64(32)
    upper = (words >> shift) * factor
    lower = (words & np.uint64(0xFFFFFFFF)) * factor
    return (upper + (lower >> shift)) >> shift, words * factor
