"""Histograms by shuffled randomized response."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.counts import Counts
from shuffledp.core.estimate import Estimate
from shuffledp.core.guarantee import Guarantee
from shuffledp.core.words import WordSource
from shuffledp.errors import InvalidInput
from shuffledp.protocols.bins import Bins, Symbols
from shuffledp.randomizers.response import RandomizedResponse

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many users hold each of K values.

    Formula: c_j = (count_j - n g / K) / (1 - g), unbiased; with q1 = 1 - g + g/K, q0 = g/K and f_j users in bin j,
    Var c_j = (f_j q1 (1 - q1) + (n - f_j) q0 (1 - q0)) / (1 - g)^2 and
    Cov(c_i, c_j) = -((f_i + f_j) q1 q0 + (n - f_i - f_j) q0^2) / (1 - g)^2.
    Legend: K = size, g = gamma of the law that is sampled, threshold / 2^64.
    Reference: BBGN19, Algorithm 1.
    """

    randomizer: RandomizedResponse
    given_bins: Bins | None = None

    def __post_init__(self) -> None:
        if self.bins.size != self.size:
            raise InvalidInput(f"{self.bins.size} bins for {self.size} symbols. Give as many.")
        if not self.gamma < 1:
            raise InvalidInput("gamma is 1: the messages say nothing about the values. Use a smaller gamma.")

    @property
    def size(self) -> int:
        """Number of bins."""
        return self.randomizer.size

    @property
    def bins(self) -> Bins:
        """What each symbol stands for."""
        return self.given_bins or Bins(size=self.size)

    @property
    def gamma(self) -> float:
        """The blanket probability that is actually sampled."""
        return self.randomizer.threshold / 2**64

    def encode(self, values: Any, words: WordSource | None = None, *, first_row: int = 0) -> Symbols:  # noqa: ARG002
        """The bins of the values; nothing is random here."""
        return self.bins.encode(values)

    def estimate(self, counts: Counts, *, guarantee: Guarantee | None = None) -> Estimate:
        """Unbiased counts of users; standard errors by plugging the estimates, clipped to what is possible, into the variance."""
        if counts.size != self.size:
            raise InvalidInput(
                f"counts of {counts.size} messages for {self.size} bins. They belong to another protocol."
            )
        n, value = counts.total, self.debias(counts.values)
        return Estimate(
            value=value, standard_error=np.sqrt(self.variance(np.clip(value, 0, n), n)), n=n, guarantee=guarantee
        )

    def debias(self, counts: NDArray[np.int64]) -> Reals:
        """The unbiased histogram for counts of messages, one run a row."""
        n = counts.sum(axis=-1, keepdims=True)
        return np.asarray((counts - n * (self.gamma / self.size)) / (1 - self.gamma))

    def variance(self, users: Reals, n: int) -> Reals:
        """The exact variance of each bin's estimate when it holds that many of the n users."""
        q1, q0, scale = self._chances()
        return np.asarray((users * q1 * (1 - q1) + (n - users) * q0 * (1 - q0)) / scale)

    def covariance(self, users: Reals) -> Reals:
        """The exact covariance matrix of the estimates."""
        n = float(users.sum())
        q1, q0, scale = self._chances()
        pair = users[:, None] + users[None, :]
        matrix = -(pair * q1 * q0 + (n - pair) * q0**2) / scale
        np.fill_diagonal(matrix, self.variance(users, round(n)))
        return np.asarray(matrix)

    def mean_squared_error(self, n: int) -> float:
        """The expected squared error summed over all bins: the same for every dataset of n users."""
        q1, q0, scale = self._chances()
        return n * (q1 * (1 - q1) + (self.size - 1) * q0 * (1 - q0)) / scale

    def simulate(self, users: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int64]:
        """Counts of runs, exact in law, from true histograms alone, one a row. For simulation: no guarantee."""
        blanket = generator.binomial(users, self.gamma)
        replies = generator.multinomial(blanket.sum(axis=-1), np.full(self.size, 1 / self.size))
        return np.asarray(users - blanket + replies)

    def _chances(self) -> tuple[float, float, float]:
        g = self.gamma
        return 1 - g + g / self.size, g / self.size, (1 - g) ** 2
