"""Sums and means of reals: stochastic rounding to a grid, then shuffled randomized response."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.digits import counted
from shuffledp.core.document import Document, fields, text
from shuffledp.core.population import Population
from shuffledp.core.randomness import RandomSource
from shuffledp.domains.reals import RealRange
from shuffledp.errors import InvalidInput
from shuffledp.protocols.forecast import Forecast
from shuffledp.protocols.histogram import Histogram
from shuffledp.protocols.one_message import OneMessage, Symbols
from shuffledp.protocols.rounding import points_beside, to_grid
from shuffledp.protocols.sampling import Sampleable
from shuffledp.protocols.summing import Summing, Total, document_of_sums
from shuffledp.randomizers.response import RandomizedResponse
from shuffledp.references import cite

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summation(Summing, OneMessage, Sampleable):
    """The sum of values in [low, high], each sent as one of k + 1 grid points; or their mean.

    Formula: with x = (value - low) / (high - low) in [0, 1], xbar = floor(x k) + Bernoulli(frac(x k)); the sum of x is
    estimated by (sum y / k - n g / 2) / (1 - g), unbiased. A user with value x adds
    ((1-g) f (1-f) / k^2 + g (k+2) / (12 k) + g (1-g) (x - 1/2)^2) / (1-g)^2 to the mean squared error, f = frac(x k).
    Legend: k = precision = randomizer.size - 1, g = gamma of the law that is sampled.
    Reference: BBGN19, Algorithm 2 and Algorithm 3; Corollary 4.1.1 (queries); the variance is exact (docs/errata.md, 7).
    """

    randomizer: RandomizedResponse
    low: float = 0.0
    high: float = 1.0
    total: Total = "sum"
    kind = "summation"
    reference: ClassVar[str] = cite("BBGN19", "Algorithm 3")

    def __post_init__(self) -> None:
        self.check_total()
        if not self.gamma < 1:
            raise InvalidInput("gamma is 1: the messages say nothing about the values. Use a smaller gamma.")

    @property
    def precision(self) -> int:
        """Number of steps of the grid."""
        return self.randomizer.size - 1

    @property
    def gamma(self) -> float:
        """The blanket probability that is actually sampled."""
        return self.randomizer.gamma_as_run

    def sentence(self) -> str:
        """Rounding and randomized response in words."""
        grid = counted(self.precision, "step")
        return f"each user rounds the value at random to a grid of {grid}, then {self.randomizer.sentence()}"

    def encode(self, values: Reals, randomness: RandomSource, *, first_row: int) -> Symbols:
        """Grid points, rounded up with the probability that keeps the mean, as exactly as doubles can say it.

        A value outside the range is refused.
        """
        return to_grid(values, randomness, low=self.low, high=self.high, steps=self.precision, first_row=first_row)

    def symbol_law(self, value: NDArray[Any]) -> list[tuple[Any, float]]:
        """The two grid points beside the value."""
        return points_beside(float(self.domain.share(value)[0]), self.precision)

    def worst_sampled(self, n: int, weight: float) -> Population:
        """Half the people at a value, half as far from the other end: all at the worst of error and distance from the middle.

        For x = f / k that is the largest of (1-g) f (1-f) / k^2 + D (x - 1/2)^2, with D = g (1-g) + weight (1-g)^2.
        """
        g, k = self.gamma, self.precision
        bend, distance = (1 - g) / k**2, g * (1 - g) + weight * (1 - g) ** 2 * n / max(1, n - 1)
        rising = bend - distance / k
        share = min(1.0, rising / (2 * (bend - distance / k**2))) / k if rising > 0 else 0.0
        ends = np.array([self.low + share * (self.high - self.low), self.high - share * (self.high - self.low)])
        return Population(values=ends, users=np.array([n - n // 2, n // 2]))

    def debias_sum(self, counts: NDArray[np.int64], n: int) -> Reals:
        """The unbiased sum for counts of messages."""
        g = self.gamma
        total = counts @ np.arange(self.precision + 1) / self.precision
        return np.asarray(n * self.low + (self.high - self.low) * (total - n * g / 2) / (1 - g))

    def user_error(self, value: Reals | float) -> Reals:
        """What one user with this value adds to the mean squared error of the sum."""
        g, k = self.gamma, self.precision
        x = self.domain.share(value)
        f = x * k - np.floor(x * k)
        variance = (1 - g) * f * (1 - f) / k**2 + g * (k + 2) / (12 * k) + g * (1 - g) * (x - 0.5) ** 2
        return np.asarray((self.high - self.low) ** 2 * variance / (1 - g) ** 2)

    @property
    def worst_value(self) -> float:
        """The value whose error is largest: f* / k with f* = (1 - g k) / (2 (1 - g)), clipped to [0, 1]."""
        g, k = self.gamma, self.precision
        share = min(1.0, max(0.0, (1 - g * k) / (2 * (1 - g)))) / k
        return self.low + share * (self.high - self.low)

    def forecast(self, n: int) -> Forecast:
        """With the bound on the mean squared error in the proof of Theorem 4.1."""
        g, k = self.gamma, self.precision
        error = n / (1 - g) ** 2 * ((1 - g) / (4 * k**2) + g / 2) * (self.high - self.low) ** 2
        return replace(OneMessage.forecast(self, n), paper_bound=error / self.scale(n) ** 2)

    def max_shift(self, n: int) -> float:
        """(high - low) / (1 - gamma): from one end of the grid to the other."""
        return (self.high - self.low) / (1 - self.gamma) / self.scale(n)

    def sums(self, population: Population, generator: np.random.Generator, runs: int) -> Reals:
        """From how many users hold each value."""
        counts = self.simulated_counts(population, generator, runs)
        return self.debias_sum(counts, population.n)

    def simulated_counts(self, population: Population, generator: np.random.Generator, runs: int) -> NDArray[np.int64]:
        """Counts of messages of runs, exact in law, one run per row."""
        scaled, users = self.domain.share(population.values) * self.precision, population.users
        floor = np.minimum(np.floor(scaled), self.precision - 1)
        up = generator.binomial(users, scaled - floor, size=(runs, len(users)))
        at = floor.astype(np.int64)
        rounded = np.zeros((self.precision + 1, runs), dtype=np.int64)
        np.add.at(rounded, at, (users - up).T)  # several values may share a grid point
        np.add.at(rounded, at + 1, up.T)
        return Histogram(self.randomizer).simulated_counts(rounded.T, generator)

    def document(self) -> Document:
        return document_of_sums(self, self.total)

    @classmethod
    def from_document(cls, document: object) -> Self:
        found = fields(
            document, cls.kind, total=text, domain=RealRange.from_document, randomizer=RandomizedResponse.from_document
        )
        range_ = found["domain"]
        return cls(randomizer=found["randomizer"], low=range_.low, high=range_.high, total=found["total"])

    @classmethod
    def examples(cls) -> list[Self]:
        """A coarse and a fine grid, each total."""
        return [
            cls(randomizer=RandomizedResponse(size=2, gamma=0.3)),
            cls(randomizer=RandomizedResponse(size=8, gamma=0.05), low=-2.0, high=3.0, total="mean"),
            cls(randomizer=RandomizedResponse(size=4, gamma=0.2), total="query"),
        ]
