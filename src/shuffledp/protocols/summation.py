"""Sums and means of reals: stochastic rounding to a grid, then shuffled randomized response."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.counts import Counts
from shuffledp.core.estimate import Estimate
from shuffledp.core.guarantee import Guarantee
from shuffledp.core.words import WordSource
from shuffledp.errors import InvalidInput
from shuffledp.protocols.bins import interval
from shuffledp.protocols.histogram import Histogram
from shuffledp.protocols.rounding import to_grid
from shuffledp.randomizers.response import RandomizedResponse

Reals = NDArray[np.float64]


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
        interval(self.low, self.high)
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

    def encode(self, values: Reals, words: WordSource, *, first_row: int) -> NDArray[np.unsignedinteger]:
        """Grid points, rounded up with the probability that keeps the mean, to within 2^-136.

        A value outside the range is refused.
        """
        return to_grid(values, words, low=self.low, high=self.high, steps=self.precision, first_row=first_row)

    def estimate(self, counts: Counts, *, guarantee: Guarantee | None = None) -> Estimate:
        """The sum and the mean of the values, unbiased, as entries 0 and 1; standard errors at the worst-case variance."""
        if counts.size != self.randomizer.size:
            raise InvalidInput(
                f"counts of {counts.size} messages for {self.randomizer.size} grid points. Another protocol's?"
            )
        n = counts.total
        if n == 0:
            raise InvalidInput("there are no reports to estimate from. Collect some first.")
        value = float(self.debias(counts.values))
        error = math.sqrt(self.mean_squared_error(n))
        return Estimate(
            value=np.array([value, value / n]), standard_error=np.array([error, error / n]), n=n, guarantee=guarantee
        )

    def debias(self, counts: NDArray[np.int64]) -> Reals:
        """The unbiased sum for counts of messages, one run a row."""
        n, g = counts.sum(axis=-1), self.gamma
        total = counts @ np.arange(self.precision + 1) / self.precision
        return np.asarray(n * self.low + (self.high - self.low) * (total - n * g / 2) / (1 - g))

    def user_error(self, value: Reals | float) -> Reals:
        """What one user with this value adds to the mean squared error of the sum."""
        g, k = self.gamma, self.precision
        x = (np.asarray(value, dtype=np.float64) - self.low) / (self.high - self.low)
        f = x * k - np.floor(x * k)
        variance = (1 - g) * f * (1 - f) / k**2 + g * (k + 2) / (12 * k) + g * (1 - g) * (x - 0.5) ** 2
        return np.asarray((self.high - self.low) ** 2 * variance / (1 - g) ** 2)

    def error_at(self, values: Reals) -> float:
        """The exact mean squared error of the sum of these very values; data-dependent, so itself private."""
        return float(self.user_error(values).sum())

    @property
    def worst_value(self) -> float:
        """The value whose error is largest: f* / k with f* = (1 - g k) / (2 (1 - g)), clipped to [0, 1]."""
        g, k = self.gamma, self.precision
        share = min(1.0, max(0.0, (1 - g * k) / (2 * (1 - g)))) / k
        return self.low + share * (self.high - self.low)

    def mean_squared_error(self, n: int) -> float:
        """The worst-case mean squared error of the sum of n values: everybody at the worst value."""
        return n * float(self.user_error(self.worst_value))

    def simulate(
        self, values: Reals, users: NDArray[np.int64], generator: np.random.Generator, trials: int = 1
    ) -> NDArray[np.int64]:
        """Counts of runs, exact in law, from how many users hold each value, one run a row. No guarantee."""
        scaled = (np.asarray(values, dtype=np.float64) - self.low) / (self.high - self.low) * self.precision
        floor = np.minimum(np.floor(scaled), self.precision - 1)
        up = generator.binomial(users, scaled - floor, size=(trials, len(users)))
        at = floor.astype(np.int64)
        rounded = np.zeros((self.precision + 1, trials), dtype=np.int64)
        np.add.at(rounded, at, (users - up).T)  # several values may share a grid point
        np.add.at(rounded, at + 1, up.T)
        return Histogram(self.randomizer).simulate(rounded.T, generator)
