"""What protocols that add up users' numbers have in common: one entry, the sum or the mean."""

import math
from abc import abstractmethod
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shuffledp.arithmetic.exact import exact_sum
from shuffledp.core.document import Document
from shuffledp.core.population import Population
from shuffledp.domains.reals import RealRange
from shuffledp.errors import InvalidInput
from shuffledp.protocols.deployable import Deployable
from shuffledp.protocols.description import Description
from shuffledp.protocols.estimator import Reals
from shuffledp.protocols.protocol import ShuffleProtocol

Total = Literal["sum", "mean", "query"]
MEASURES: dict[Total, str] = {
    "sum": "Sum of the users' values",
    "mean": "Mean of the users' values",
    "query": "Mean of the users' answers",
}


def document_of_sums(protocol: Deployable, total: Total) -> Document:
    """Randomizer and values, and what is made of the sums."""
    return {
        "kind": protocol.kind,
        "total": total,
        "domain": protocol.domain.document(),
        "randomizer": protocol.randomizer.document(),
    }


class Summing(ShuffleProtocol):
    """The sum of the users' values, or their mean; a query is the mean of answers in [0, 1]."""

    __slots__ = ()
    low: float
    high: float
    total: Total

    @property
    def domain(self) -> RealRange:
        """The range of values."""
        return RealRange(self.low, self.high)

    @abstractmethod
    def user_error(self, value: Reals | float) -> Reals:
        """What one user with this value adds to the mean squared error of the sum."""

    @property
    @abstractmethod
    def worst_value(self) -> float:
        """The value whose error is largest."""

    @abstractmethod
    def sums(self, population: Population, generator: np.random.Generator, runs: int) -> Reals:
        """Estimated sums of runs, exact in law."""

    @abstractmethod
    def debias_sum(self, counts: NDArray[np.int64], n: int) -> Reals:
        """The unbiased sum, one run per row."""

    def check_total(self) -> None:
        """Refuse what cannot be made of a sum, or a range that is none."""
        domain = self.domain
        if self.total not in MEASURES:
            raise InvalidInput(f"values are added up to a sum, a mean or a query; got {self.total!r}. Choose one.")
        if self.total == "query" and (domain.low, domain.high) != (0.0, 1.0):
            raise InvalidInput("a query is answered in [0, 1]. Leave low and high out, or plan a mean.")

    @property
    def description(self) -> Description:
        """What is summed, and its range. How far values are from the grid is not known, so that errors are those at the worst."""
        range_ = self.domain
        return Description(
            question=self.total, measure=f"{MEASURES[self.total]}, each from {range_.low:g} to {range_.high:g}",
            asked=self.total == "query", errors_are_bounds=True,
        )  # fmt: skip

    @property
    def averages(self) -> bool:
        """A mean and a query do."""
        return self.total != "sum"

    @property
    def names(self) -> tuple[str, ...]:
        return (self.total,)

    def scale(self, n: int) -> float:
        """What the sum is divided by."""
        return n if self.averages else 1

    def debias(self, counts: NDArray[np.int64], n: int) -> Reals:
        """The sum or the mean."""
        return np.asarray(self.debias_sum(counts, n) / self.scale(n))[..., None]

    def standard_error(self, value: Reals, n: int) -> Reals:
        """At the worst-case variance."""
        return np.full_like(value, math.sqrt(self.sum_error(self.worst(n))) / self.scale(n))

    def most_spread(self, value: Reals, n: int) -> Reals:
        """(mean - low) (high - mean): people at both ends of the range (Bhatia and Davis 2000)."""
        low, high = self.domain.low, self.domain.high
        mean = np.clip(value if self.averages else value / n, low, high)
        return np.asarray((mean - low) * (high - mean) * n / max(1, n - 1))

    def worst(self, n: int) -> Population:
        """Everybody at the worst value."""
        return Population(values=np.array([self.worst_value]), users=np.array([n]))

    def expected_error(self, population: Population) -> float:
        return self.sum_error(population) / self.scale(population.n) ** 2

    def sum_error(self, population: Population) -> float:
        """Of the sum: users' errors add up."""
        return float(self.user_error(population.values) @ population.users)

    def simulate(self, population: Population, generator: np.random.Generator, runs: int) -> Reals:
        """The sum or the mean."""
        return np.asarray(self.sums(population, generator, runs) / self.scale(population.n))[:, None]

    def truth(self, values: NDArray[Any]) -> NDArray[Any]:
        """The exact sum, and of how many."""
        return np.array([exact_sum(values), len(values)], dtype=object)

    def truth_of(self, population: Population) -> NDArray[Any]:
        """The exact sum, and of how many."""
        products = (
            Fraction(float(x)) * int(often) for x, often in zip(population.values, population.users, strict=True)
        )
        return np.array([sum(products, Fraction(0)), population.n], dtype=object)

    def true_answer(self, truth: NDArray[Any]) -> Reals:
        total, n = truth
        return np.array([float(total / max(1, n) if self.averages else total)])
