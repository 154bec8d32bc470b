"""What protocols that count users have in common: one entry per value of a list."""

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.digits import about
from shuffledp.core.population import Population
from shuffledp.domains.listed import Listed
from shuffledp.protocols.description import Description
from shuffledp.protocols.estimator import Reals
from shuffledp.protocols.forecast import Forecast
from shuffledp.protocols.protocol import ShuffleProtocol

MANY: Final = 256
"""Above so many values the error of one that some users hold matters more than the total over all."""
_SHARES: Final = (0.0, 0.001, 0.01, 0.1)
"""Of the users, for which errors are forecast."""


def by_share(variance: Callable[[Reals, int], Reals], n: int) -> dict[float, float]:
    """The standard error of a count by the share of the n users, from its variance by their number."""
    return {share: float(variance(np.array([share * n]), n)[0] ** 0.5) for share in _SHARES}


def lines_by_share(what: str, errors: dict[float, float]) -> tuple[str, ...]:
    """The same in sentences."""
    return tuple(
        f"one {what} that {f'{100 * share:g} % of the users hold' if share else 'nobody holds'} errs by about {about(error)}"
        for share, error in errors.items()
    )


class Counting(ShuffleProtocol):
    """How many users hold each value."""

    __slots__ = ()

    @property
    @abstractmethod
    def domain(self) -> Listed:
        """The values that are counted."""

    @abstractmethod
    def variance(self, users: Reals, n: int) -> Reals:
        """The exact variance of each value's estimate when it is held by that many of the n users; one run per row."""

    @property
    def description(self) -> Description:
        """A histogram; counts are of people."""
        return Description(question="histogram", measure="users")

    @property
    def names(self) -> tuple[str, ...]:
        return self.domain.names

    def standard_error(self, value: Reals, n: int) -> Reals:
        """By plugging the estimates, clipped to what is possible, into the variance."""
        return np.sqrt(self.variance(np.clip(value, 0, n), n))

    def worst_variance(self, share: float, n: int) -> float:
        """The largest variance of a value's estimate that up to a share of the n users hold: it is linear in how many do."""
        return self._first_variance(self.worst_share(share, n))

    @property
    def nearest(self) -> int:
        """Another value than the first, whose holders disturb the first one's estimate most."""
        return 1

    def two_held(self, users: int, n: int) -> Population:
        """So many of the n users hold the first value, the others the one that disturbs it most."""
        return Population(values=np.array([0, self.nearest]), users=np.array([users, n - users]))

    def worst_share(self, share: float, n: int) -> Population:
        """Such data, with up to that share of the users holding the first value, at which its estimate is furthest off."""
        found = (self.two_held(users, n) for users in (0, round(share * n)))
        return max(found, key=self._first_variance)

    def _first_variance(self, population: Population) -> float:
        return float(self.variance(self.held(population).astype(np.float64), population.n)[0])

    def errors_by_share(self, n: int) -> dict[float, float]:
        """Of a value that nobody holds, and of some that more and more users do."""
        return {share: self._first_variance(self.two_held(round(share * n), n)) ** 0.5 for share in _SHARES}

    def forecast(self, n: int) -> Forecast:
        """One bin, and all together; if there are many, one by how many are in it."""
        size, rmse, by_share = self.domain.size, self.rmse(n), self.errors_by_share(n)
        one, together = about(rmse / math.sqrt(size)), about(rmse)
        both = f"expected error: one bin by about {one}, all {size:,} bins together by {together}"
        shares = lines_by_share("bin", by_share) if size > MANY else ()
        return Forecast(lines=(f"{both} (root mean square)", *shares), by_share=by_share)

    def expected_error(self, population: Population) -> float:
        """Summed over all values."""
        return float(self.variance(self.held(population).astype(np.float64), population.n).sum())

    def worst(self, n: int) -> Population:
        """Everybody holds the first value: the worst, if the data matter at all."""
        return Population(values=np.array([0]), users=np.array([n]))

    def truth_of(self, population: Population) -> NDArray[Any]:
        return self.held(population)

    def held(self, population: Population) -> NDArray[np.int64]:
        """How many users hold each value."""
        users = np.zeros(self.domain.size, dtype=np.int64)
        np.add.at(users, population.values, population.users)
        return users

    @property
    def cells_per_run(self) -> int:
        """A number per value."""
        return self.domain.size

    def truth(self, values: NDArray[Any]) -> NDArray[Any]:
        return np.bincount(values, minlength=self.domain.size)

    def true_answer(self, truth: NDArray[Any]) -> Reals:
        return np.asarray(truth, dtype=np.float64)
