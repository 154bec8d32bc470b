"""Sums and means of reals: stochastic rounding to a grid, then shuffled randomized response."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.counts import Counts
from shuffledp.core.estimate import Estimate
from shuffledp.core.guarantee import Guarantee
from shuffledp.core.words import WordSource, rows_from
from shuffledp.errors import InvalidInput
from shuffledp.randomizers.response import RandomizedResponse

Reals = NDArray[np.float64]
_ROUNDING_DRAW = 1 << 32
"""Draws of a row's words that rounding uses; the randomizer's own draws are far below."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summation:
    """The sum of values in [low, high], each sent as one of k + 1 grid points.

    Formula: with x = (value - low) / (high - low) in [0, 1], xbar = floor(x k) + Bernoulli(frac(x k)); the sum of x is
    estimated by (sum y / k - n g / 2) / (1 - g), unbiased. A user with value x adds
    ((1-g) f (1-f) / k^2 + g (k+2) / (12 k) + g (1-g) (x - 1/2)^2) / (1-g)^2 to the mean squared error, f = frac(x k).
    Legend: k = precision = randomizer.size - 1, g = gamma of the law that is sampled.
    Reference: BBGN19, Algorithm 2 and Algorithm 3; the variance is exact (docs/errata.md, 7).
    """

    randomizer: RandomizedResponse
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise InvalidInput(f"low must be below high; got {self.low} and {self.high}. Give the range of the values.")
        if not self.gamma < 1:
            raise InvalidInput("gamma is 1: the messages say nothing about the values. Use a smaller gamma.")

    @property
    def precision(self) -> int:
        """Number of steps of the grid."""
        return self.randomizer.size - 1

    @property
    def gamma(self) -> float:
        """The blanket probability that is actually sampled."""
        return self.randomizer.threshold / 2**64

    def encode(self, values: Reals, words: WordSource, *, first_row: int) -> NDArray[np.int64]:
        """Grid points, rounded up with exactly the probability that keeps the mean. A value outside the range is refused."""
        array = np.asarray(values, dtype=np.float64)
        if array.ndim != 1 or not ((array >= self.low) & (array <= self.high)).all():
            raise InvalidInput(f"a value is outside [{self.low}, {self.high}] or not a number. Clamp or drop it first.")
        scaled = (array - self.low) / (self.high - self.low) * self.precision
        floor = np.minimum(np.floor(scaled), self.precision - 1)
        # fraction 2^64 is exact; a word below its whole part rounds up, and a tie (2^-64) is settled by what is left of it
        target = (scaled - floor) * 2.0**64
        rows = rows_from(first_row, len(array))
        up = target >= 2.0**64
        whole = np.where(up, 0.0, np.floor(target)).astype(np.uint64)
        drawn = words.words(rows, _ROUNDING_DRAW)
        tie = np.flatnonzero((drawn == whole) & ~up)
        up |= drawn < whole
        if len(tie):
            left = (target[tie] - np.floor(target[tie])) * 2.0**64
            up[tie] = words.words(rows[tie], _ROUNDING_DRAW + 1) < left.astype(np.uint64)
        return floor.astype(np.int64) + up

    def estimate(self, counts: Counts, *, guarantee: Guarantee | None = None) -> Estimate:
        """The sum and the mean of the values, unbiased, as entries 0 and 1; standard errors at the worst-case variance."""
        if counts.size != self.randomizer.size:
            raise InvalidInput(
                f"counts of {counts.size} messages for {self.randomizer.size} grid points. Another protocol's?"
            )
        n, g, width = counts.total, self.gamma, self.high - self.low
        if n == 0:
            raise InvalidInput("there are no reports to estimate from. Collect some first.")
        total = float(counts.values @ np.arange(counts.size)) / self.precision
        value = n * self.low + width * (total - n * g / 2) / (1 - g)
        error = math.sqrt(self.mean_squared_error(n))
        return Estimate(
            value=np.array([value, value / n]), standard_error=np.array([error, error / n]), n=n, guarantee=guarantee
        )

    def user_error(self, value: Reals | float) -> Reals:
        """What one user with this value adds to the mean squared error of the sum."""
        g, k = self.gamma, self.precision
        x = (np.asarray(value, dtype=np.float64) - self.low) / (self.high - self.low)
        f = x * k - np.floor(x * k)
        variance = (1 - g) * f * (1 - f) / k**2 + g * (k + 2) / (12 * k) + g * (1 - g) * (x - 0.5) ** 2
        return np.asarray((self.high - self.low) ** 2 * variance / (1 - g) ** 2)

    @property
    def worst_value(self) -> float:
        """The value whose error is largest: f* / k with f* = (1 - g k) / (2 (1 - g)), clipped to [0, 1]."""
        g, k = self.gamma, self.precision
        share = min(1.0, max(0.0, (1 - g * k) / (2 * (1 - g)))) / k
        return self.low + share * (self.high - self.low)

    def mean_squared_error(self, n: int) -> float:
        """The worst-case mean squared error of the sum of n values: everybody at the worst value."""
        return n * float(self.user_error(self.worst_value))
