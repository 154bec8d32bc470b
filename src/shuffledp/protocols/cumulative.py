"""What protocols have in common that say how many users hold a number below each inner edge of a grid."""

from abc import abstractmethod
from statistics import NormalDist
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.counts import Counts
from shuffledp.core.estimate import Estimate
from shuffledp.core.population import Population
from shuffledp.domains.intervals import Intervals
from shuffledp.protocols.estimator import Reals
from shuffledp.protocols.forecast import Forecast
from shuffledp.protocols.protocol import ShuffleProtocol
from shuffledp.protocols.quantiles import QUARTILES, Curve
from shuffledp.protocols.reading import Reading

_CONFIDENCE: Final = 0.95


class Cumulative(ShuffleProtocol):
    """Users below each inner edge."""

    __slots__ = ()

    @property
    @abstractmethod
    def domain(self) -> Intervals:
        """The intervals between the edges."""

    @abstractmethod
    def variance(self, users: NDArray[np.int64]) -> Reals:
        """The exact variance at each edge if so many users are in each interval of the grid."""

    @abstractmethod
    def rank_variance(self, share: float, n: int) -> float:
        """The largest variance of an estimate divided by the number of users, if that share of them is below the edge."""

    @abstractmethod
    def range_variance(self, first: int, last: int, users: Reals) -> float:
        """Of the count in intervals first ... last, both included, if so many users are in each interval of the grid.

        That count is the difference of two estimates; below the first edge there is nobody, below the last one everybody.
        """

    def worst_quartile(self, n: int) -> float:
        """The largest of that at the quartiles."""
        return max(self.rank_variance(share, n) for share in QUARTILES)

    @property
    def names(self) -> tuple[str, ...]:
        """One per inner edge."""
        return tuple(f"below {edge}" for edge in self.domain.edge_names[1:-1])

    @property
    def reading(self) -> "CumulativeReading":
        return CumulativeReading(self)

    def rank_error(self, n: int) -> float:
        """By how large a share of n users the quartiles are off at most, all of them with probability 0.95, at any data.

        A quantile is in the interval where the estimated curve passes its share. It is off by more only if the curve is off by
        more at some edge on the way: about twice the tail at one edge, for either side (docs/maths/distributions.md).
        """
        z = -NormalDist().inv_cdf((1 - _CONFIDENCE) / (4 * len(QUARTILES)))
        return min(1.0, self.rank_limit(z, n))

    def rank_limit(self, z: float, n: int) -> float:
        """How large a share of n users z standard errors of a normal law are, at the quartile that errs most."""
        return z * float(np.sqrt(self.worst_quartile(n) / n))

    def forecast(self, n: int) -> Forecast:
        """How far off the quartiles are, as shares of the users."""
        error, worst = self.rank_error(n), self.worst_quartile(n)
        line = (
            f"median and quartiles: each within {100 * error:.2g} percentage points of its rank, besides the width of an "
            f"interval, {self.domain.width:.6g} (95 % confidence for all three, whatever the data)"
        )
        return Forecast(lines=(line,), others={"rank_standard_error": float(np.sqrt(worst / n)), "rank_error": error})

    def expected_error(self, population: Population) -> float:
        """Summed over all edges, exactly."""
        return float(self.variance(self.truth_of(population)).sum())

    # The exact answer

    def truth(self, values: NDArray[Any]) -> NDArray[Any]:
        return np.bincount(values, minlength=self.domain.size)

    def truth_of(self, population: Population) -> NDArray[Any]:
        users = np.zeros(self.domain.size, dtype=np.int64)
        np.add.at(users, population.values, population.users)
        return users

    def true_answer(self, truth: NDArray[Any]) -> Reals:
        """Users below each inner edge."""
        return np.cumsum(truth)[:-1].astype(np.float64)


class CumulativeReading(Reading[Cumulative]):
    """Users below each edge, quantiles and ranges."""

    __slots__ = ()

    def statistics(self, estimate: Estimate, counts: Counts | None = None) -> Curve:  # noqa: ARG002
        """Quantiles, ranges, a curve that never falls."""
        return Curve(self.protocol, estimate)
