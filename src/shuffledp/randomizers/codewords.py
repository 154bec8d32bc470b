"""Codewords: points of a sphere that everybody can work out from a seed and a number, to the last bit.

Everything up to the last division is done in whole numbers that a double holds exactly, so that processors, numerical libraries
and languages agree on which codeword is nearest. Nothing about privacy depends on any of this; accuracy does.
"""

from collections.abc import Iterator
from functools import cache
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.randomness import public_bytes

Reals = NDArray[np.float64]
Words = NDArray[np.uint64]

KEY: Final = b"shuffledp vector"
"""Key of the cipher whose output makes the codewords: public, and one for everybody."""
SEEDS: Final = 1 << 48
"""Seeds are the numbers below this, so that a seed and a codeword's number are one number of 64 bits."""
UNIT: Final = 1 << 26
"""Points of the sphere are compared with codewords as whole numbers of this part of the radius."""
_OUTERMOST: Final = 18_075
"""The largest entry: with it the 65,536 entries have the fourth moment of a normal law."""
_AT_ONCE: Final = 1 << 18
"""Entries of codewords that are made at once: so many stay near the processor."""
_BLOCK: Final = 8
"""Entries to a block of the cipher."""


@cache
def normals() -> Reals:
    """65,536 equally likely entries, of a normal law to scale: odd whole numbers of 1/4096 of its standard deviation.

    Formula: entry w is 2 floor(2048 q) + 1 with q the (w + 1/2) / 65,536 quantile of the standard normal law; the first and the
    last are -18,075 and 18,075. No 2048 q is within 1e-6 of a whole number, so that any usual way to work out q will do.
    """
    quantile = NormalDist().inv_cdf
    upper = [2 * int(2048 * quantile((word + 0.5) / 65536)) + 1 for word in range(1 << 15, 1 << 16)]
    upper[-1] = _OUTERMOST
    return np.array([*(-entry for entry in reversed(upper)), *upper], dtype=np.float64)


def codewords(seeds: Words, numbers: Words, dimension: int) -> Reals:
    """The codewords with these numbers under these seeds, a row each; they are no unit vectors yet.

    Formula: with B = ceil(dimension / 8), entry k of codeword i is `normals()[w]`, w being the little-endian word of 16 bits
    number k % 8 of AES-128(KEY; r, i B + k // 8), its input two big-endian words of 64 bits.
    Legend: r = seed, i = number.
    """
    blocks = -(-dimension // _BLOCK)
    addresses = np.empty((len(seeds), blocks, 2), dtype=">u8")
    addresses[:, :, 0] = seeds[:, None]
    addresses[:, :, 1] = numbers[:, None] * np.uint64(blocks) + np.arange(blocks, dtype=np.uint64)
    drawn = public_bytes(KEY, addresses).view("<u2")
    return np.take(normals(), drawn.reshape(len(seeds), blocks * _BLOCK)[:, :dimension])


def lengths(rows: Reals) -> Reals:
    """How long codewords are: their squares are whole numbers, summed exactly, so that only the root is rounded."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows)))


def nearest(points: Reals, seeds: Words, size: int) -> Words:
    """For each point of the sphere, in whole numbers of 1 / UNIT, which of `size` codewords under its seed is nearest.

    The work is the same for all points: every codeword is made and compared. Of equally near ones it is the first.
    """
    rows, dimension = points.shape
    together = max(1, _AT_ONCE // (size * dimension))
    each = min(size, max(1, _AT_ONCE // dimension))
    found = np.empty(rows, dtype=np.uint64)
    for start in range(0, rows, together):
        here, drawn = points[start : start + together], seeds[start : start + together]
        best, where = np.full(len(here), -np.inf), np.zeros(len(here), dtype=np.uint64)
        for first in range(0, size, each):
            numbers = np.arange(first, min(first + each, size), dtype=np.uint64)
            words = codewords(np.repeat(drawn, len(numbers)), np.tile(numbers, len(here)), dimension)
            # not by BLAS, whose threads would wait for each other here; all that is added is exact, so the order is of no matter
            products = np.einsum("ijk,ik->ij", words.reshape(len(here), len(numbers), dimension), here)
            products /= lengths(words).reshape(products.shape)
            largest = np.argmax(products, axis=1)
            value = np.take_along_axis(products, largest[:, None], axis=1)[:, 0]
            nearer = value > best
            best, where = np.where(nearer, value, best), np.where(nearer, numbers[largest], where)
        found[start : start + together] = where
    return found


def unit_codewords(seeds: Words, numbers: Words, dimension: int) -> Iterator[tuple[slice, Reals]]:
    """Codewords as unit vectors, a block of rows at a time."""
    together = max(1, _AT_ONCE // dimension)
    for start in range(0, len(seeds), together):
        some = slice(start, start + together)
        rows = codewords(seeds[some], numbers[some], dimension)
        rows /= lengths(rows)[:, None]
        yield some, rows
