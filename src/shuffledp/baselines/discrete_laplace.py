"""Discrete Laplace noise, drawn exactly: whole numbers and fair random words only, no logarithm and no rounding."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.randomness import WORD, RandomSource, Words
from shuffledp.errors import InvalidInput

Wholes = NDArray[np.int64]
LARGEST_SCALE: Final = float(1 << 52)
"""Noise of a larger scale could leave 64 bits."""
_AT_ONCE: Final = 1 << 16
_MOST_READ: Final = 1 << 11
"""Words that one row reads: fair ones are enough with a probability far above 1 - 2^-128."""


def discrete_laplace(scale: float, rows: Words, randomness: RandomSource, first_draw: int) -> Wholes:
    """One number per row, k with probability proportional to e^(-|k| / scale), from draws first_draw, first_draw + 1, ...

    Formula: with scale = t / s in whole numbers, u uniform below t and kept with probability e^(-u/t), and v the number of
    coins of probability e^-1 that come up before the first that does not, u + t v is x with probability proportional to
    e^(-x/t). Then floor((u + t v) / s) is y with probability proportional to e^(-y s/t), and gets a sign; -0 is drawn again.
    Legend: t / s is the double `scale` itself, which is a rational number.
    Reference: CKS20, Algorithm 2.
    Regime: scale from 0 to 2^52.
    Rounding: none. A row's number depends on the words at its own addresses alone.
    """
    if not 0 < scale <= LARGEST_SCALE:
        raise InvalidInput(
            f"noise is drawn with a scale above 0 and at most 2^52; got {scale:g}. Use a larger epsilon."
        )
    found = np.empty(len(rows), dtype=np.int64)
    for start in range(0, len(rows), _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        found[some] = _drawn(*scale.as_integer_ratio(), _Tapes(rows[some], randomness, first_draw), len(rows[some]))
    return found


def _drawn(t: int, s: int, tapes: "_Tapes", count: int) -> Wholes:
    found = np.empty(count, dtype=np.int64)
    waiting = np.arange(count)
    while len(waiting):
        u = tapes.below(t, waiting)
        kept = _exponential_coins(tapes, waiting, u, t)
        some = waiting[kept]
        v = _successes(tapes, some)
        # below 2^64: u < t <= 2^53, and as many words as are read at most are fewer than 2^11 successes; larger s give 0
        sizes = ((u[kept] + np.uint64(t) * v) // np.uint64(min(s, WORD - 1))).astype(np.int64)
        negative = tapes.below(2, some) == 1
        good = ~negative | (sizes > 0)
        found[some[good]] = np.where(negative, -sizes, sizes)[good]
        kept[kept] = good
        waiting = waiting[~kept]
    return found


def _exponential_coins(tapes: "_Tapes", which: NDArray[np.intp], part: Words, whole: int) -> NDArray[np.bool_]:
    """True with probability e^-x, x = part / whole at most 1: whether the first k with no coin of x / k is odd.

    Reference: CKS20, Algorithm 1.
    """
    odd = np.zeros(len(which), dtype=np.bool_)
    going, k = np.arange(len(which)), 0
    while len(going):
        k += 1
        rows = which[going]
        goes_on = (tapes.below(whole, rows) < part[going]) & (tapes.below(k, rows) == 0)
        odd[going[~goes_on]] = k % 2 == 1
        going = going[goes_on]
    return odd


def _successes(tapes: "_Tapes", which: NDArray[np.intp]) -> Words:
    """How many coins of probability e^-1 come up before the first that does not."""
    found = np.zeros(len(which), dtype=np.uint64)
    going = np.arange(len(which))
    while len(going):
        up = _exponential_coins(tapes, which[going], np.ones(len(going), dtype=np.uint64), 1)
        going = going[up]
        found[going] += np.uint64(1)
    return found


class _Tapes:
    """Words that each row reads one after another, as many as it needs: what it reads depends on no other row."""

    def __init__(self, rows: Words, randomness: RandomSource, first_draw: int) -> None:
        self._rows, self._words, self._first_draw = rows, randomness, first_draw
        self._read = np.zeros(len(rows), dtype=np.int64)
        self._second = np.zeros(len(rows), dtype=np.uint64)

    def below(self, bound: int, which: NDArray[np.intp]) -> Words:
        """A uniform number below `bound`, at most 2^63, for each of these rows; none of them twice."""
        if bound == 1:
            return np.zeros(len(which), dtype=np.uint64)
        found = self._next(which)
        largest = np.uint64(WORD - WORD % bound - 1)  # words above it would make small numbers likelier
        rejected = np.flatnonzero(found > largest)
        while len(rejected):
            found[rejected] = self._next(which[rejected])
            rejected = rejected[found[rejected] > largest]
        return found % np.uint64(bound)

    def _next(self, which: NDArray[np.intp]) -> Words:
        read = self._read[which]
        if read.max(initial=0) >= _MOST_READ:
            raise InvalidInput("this randomness is not random. Use KeyedRandomness.fresh().")
        self._read[which] = read + 1
        found = self._second[which]
        new = read % 2 == 0
        for place in np.unique(read[new]).tolist():
            here = np.flatnonzero(read == place)
            rows = which[here]
            blocks = self._words.blocks(self._rows[rows], self._first_draw + place // 2)
            found[here], self._second[rows] = blocks[:, 0], blocks[:, 1]
        return found
