"""Histograms by shuffled randomized response."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import argument
from shuffledp.core.counts import Counts
from shuffledp.core.estimate import Estimate
from shuffledp.core.population import Population
from shuffledp.domains.cross_table import CrossTable
from shuffledp.domains.intervals import Intervals
from shuffledp.domains.labels import Labels
from shuffledp.domains.listed import Listed
from shuffledp.domains.whole_numbers import WholeNumbers
from shuffledp.errors import InvalidInput
from shuffledp.protocols.counted_response import CountedResponse
from shuffledp.protocols.margins import margins
from shuffledp.protocols.membership import Membership
from shuffledp.protocols.reading import Reading
from shuffledp.protocols.statistics import Statistics
from shuffledp.randomizers.response import RandomizedResponse
from shuffledp.references import cite

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Histogram(CountedResponse):
    """How many users hold each of K values.

    Formula: c_j = (count_j - n g / K) / (1 - g), unbiased; with q1 = 1 - g + g/K, q0 = g/K and f_j users in bin j,
    Var c_j = (f_j q1 (1 - q1) + (n - f_j) q0 (1 - q0)) / (1 - g)^2 and
    Cov(c_i, c_j) = -((f_i + f_j) q1 q0 + (n - f_i - f_j) q0^2) / (1 - g)^2.
    Legend: K = size, g = gamma of the law that is sampled, threshold / 2^64.
    Reference: BBGN19, Algorithm 1.
    """

    randomizer: RandomizedResponse
    domain: Listed = None  # type: ignore[assignment] # whole numbers, if nothing is said
    kind = "histogram"
    randomizer_type = RandomizedResponse
    domain_in_words = "a histogram is of a list of values"
    reference: ClassVar[str] = cite("BBGN19", "Algorithm 1")

    def __post_init__(self) -> None:
        argument.of_kind(self.randomizer, RandomizedResponse, "randomizer", "a RandomizedResponse")
        if self.domain is None:
            object.__setattr__(self, "domain", WholeNumbers(self.size))
        argument.of_kind(self.domain, Listed, "domain", "the values there are, such as Labels(('no', 'yes'))")
        if self.domain.size != self.size:
            raise InvalidInput(f"{self.domain.size} bins for {self.size} symbols. Give as many.")
        self.check_gamma()

    @property
    def size(self) -> int:
        """Number of bins."""
        return self.randomizer.size

    @property
    def law(self) -> Membership:
        """Of messages to bins: each belongs to one."""
        q1, q0, _ = self._chances()
        return Membership(q1, q0)

    def debias(self, counts: NDArray[np.int64], n: int) -> Reals:
        """The unbiased histogram for counts of messages."""
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
        """Summed over all bins: the same for every dataset of n users."""
        q1, q0, scale = self._chances()
        return n * (q1 * (1 - q1) + (self.size - 1) * q0 * (1 - q0)) / scale

    @property
    def reading(self) -> "HistogramReading":
        """The counts, and what they add up to."""
        return HistogramReading(self)

    def max_shift(self, n: int) -> float:  # noqa: ARG002
        """1 / (1 - gamma): one message more or less."""
        return 1 / (1 - self.gamma)

    def simulate(self, population: Population, generator: np.random.Generator, runs: int) -> Reals:
        """From the true histogram alone."""
        users = np.tile(self.held(population), (runs, 1))
        return self.debias(self.simulated_counts(users, generator), population.n)

    def simulated_counts(self, users: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int64]:
        """Counts of messages of runs, exact in law, from true histograms, one run per row."""
        blanket = generator.binomial(users, self.gamma)
        replies = generator.multinomial(blanket.sum(axis=-1), np.full(self.size, 1 / self.size))
        return np.asarray(users - blanket + replies)

    @classmethod
    def examples(cls) -> list[Self]:
        """Every kind of list."""
        return [
            cls(RandomizedResponse(size=3, gamma=0.2), Labels(("red", "green", "blue"))),
            cls(RandomizedResponse(size=5, gamma=0.5), Intervals(5, -1.0, 4.0)),
            cls(RandomizedResponse(size=2, gamma=0.01)),
            cls(
                RandomizedResponse(size=6, gamma=0.1),
                CrossTable((("sex", Labels(("f", "m"))),), Labels(("no", "perhaps", "yes"))),
            ),
        ]

    def _chances(self) -> tuple[float, float, float]:
        g = self.gamma
        return 1 - g + g / self.size, g / self.size, (1 - g) ** 2


class HistogramReading(Reading[Histogram]):
    """Counts, frequencies, ranges, quantiles, ...; of a table its margins, and the shares within groups."""

    __slots__ = ()

    def statistics(self, estimate: Estimate, counts: Counts | None = None) -> Statistics:  # noqa: ARG002
        """All of them: the errors of several bins together are known."""
        return Statistics(self.protocol, estimate)

    def beside(self, estimate: Estimate) -> dict[str, Estimate]:
        table = self.protocol.domain
        return margins(table, self.statistics(estimate)) if isinstance(table, CrossTable) else {}
