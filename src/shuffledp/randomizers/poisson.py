"""Exact sampling of a number that is almost Poisson: it has a largest value, and probabilities that are multiples of 2^-128."""

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from shuffledp.arithmetic.balls import round_up
from shuffledp.core.randomness import DUMMIES, DUMMY_DRAW, RandomSource, rows_from, where_few

_UNIT: Final = 1 << 128
_BITS: Final = 128
_FEW: Final = 240
"""If a byte is seldom as large as this, few rows have any dummies."""
_TAIL: Final = 2.0**-120
"""The least number that a Poisson one exceeds with a smaller probability than this is the largest value."""


@dataclass(frozen=True, slots=True)
class CappedPoisson:
    """A number from 0 to `most`, P(K <= k) = thresholds[k] / 2^128.

    Attributes:
        mean: of the Poisson law that it is close to.
        thresholds: floor(2^128 P(Poisson <= k)) for k below the largest value.
        distance: the total variation distance to that law, rounded up.
    """

    mean: float
    thresholds: tuple[int, ...] = field(repr=False)
    distance: float

    @property
    def most(self) -> int:
        """The largest value."""
        return len(self.thresholds)

    def draw(self, first_row: int, count: int, randomness: RandomSource) -> NDArray[np.int64]:
        """One number per row."""
        found = np.zeros(count, dtype=np.int64)
        rows, numbers = self.above_0(first_row, count, randomness)
        found[rows] = numbers
        return found

    def above_0(
        self, first_row: int, count: int, randomness: RandomSource
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The rows whose numbers are not 0, and these: from 128 bits each, of which the first eight settle most rows."""
        drawn, least = randomness.stream(first_row, count, DUMMIES), self.thresholds[0] >> (_BITS - 8)
        mask = drawn >= least
        where = where_few(mask) if least >= _FEW else np.flatnonzero(mask)
        blocks = randomness.blocks(rows_from(first_row, count)[where], DUMMY_DRAW)
        high = drawn[where].astype(np.uint64) << np.uint64(56) | blocks[:, 0] >> np.uint64(8)
        tops = np.array([threshold >> 64 for threshold in self.thresholds], dtype=np.uint64)
        number = np.searchsorted(tops, high, side="left")
        tied = np.flatnonzero(tops[np.minimum(number, len(tops) - 1)] == high)
        for i in tied.tolist():  # the first 64 bits settle nothing: all 128 do
            number[i] = bisect_right(self.thresholds, int(high[i]) << 64 | int(blocks[i, 1]))
        some = np.flatnonzero(number)
        return where[some], number[some]


@lru_cache(maxsize=256)
def capped_poisson(mean: float) -> CappedPoisson:
    """The number whose law is closest to Poisson's."""
    with ctx.workprec(2048):  # the means that occur leave more than 500 bits of every term
        chance = (-arb(mean)).exp()
        below, thresholds, gap = arb(0), [0], arb(0)
        while True:
            below += chance
            tail = 1 - below
            if tail < _TAIL:
                last = chance - (1 - arb(thresholds[-1]) / _UNIT)
                distance = round_up((gap + abs(last) + tail) / 2)
                return CappedPoisson(mean, tuple(thresholds[1:]), distance)
            threshold = (below * _UNIT).floor().unique_fmpz()
            if threshold is None:  # pragma: no cover - 2048 bits tell them apart
                raise ArithmeticError("a threshold is not settled; compute it more precisely")
            thresholds.append(int(threshold))
            gap += abs(chance - arb(thresholds[-1] - thresholds[-2]) / _UNIT)
            chance *= arb(mean) / (len(thresholds) - 1)
