"""What a planner needs of a protocol: how far off the answer will be, before anybody has answered."""

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from shuffledp.core.digits import at_most
from shuffledp.core.population import Population
from shuffledp.protocols.estimator import Estimator, Reals


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What to expect of the answer about some number of users.

    Attributes:
        lines: in sentences, a line each: how far off one entry is, before all together.
        by_share: the standard error of the count of a value, by the share of the users who hold it.
        by_question: the error of one entry of each of several questions, root mean square, at the worst data.
        others: what else can be expected, by name.
        paper_bound: the paper's bound on the mean squared error of this protocol, if it has one.
    """

    lines: tuple[str, ...]
    by_share: Mapping[float, float] = field(default_factory=dict)
    by_question: Mapping[str, float] = field(default_factory=dict)
    others: Mapping[str, float] = field(default_factory=dict)
    paper_bound: float | None = None


class Forecaster(Estimator):
    """An estimator whose error is known."""

    __slots__ = ()

    def mean_squared_error(self, n: int) -> float:
        """The expected squared error of the answer for n users, summed over the entries of the answer, for the worst data."""
        return self.expected_error(self.worst(n))

    def rmse(self, n: int) -> float:
        """The root of the mean squared error."""
        return math.sqrt(self.mean_squared_error(n))

    @abstractmethod
    def worst(self, n: int) -> Population:
        """Data at which the mean squared error is attained."""

    @abstractmethod
    def expected_error(self, population: Population) -> float:
        """The expected squared error for these very data, summed over the entries; data-dependent, so itself private."""

    def bias(self, population: Population) -> Reals:  # noqa: ARG002
        """By how much each entry is off on average, for these very data: nothing, unless values share a public hash."""
        return np.zeros(len(self.names))

    @abstractmethod
    def max_shift(self, n: int) -> float:
        """By how much an entry of the estimate for n users moves at most if one of them sends anything instead."""

    def forecast(self, n: int) -> Forecast:
        """What to expect of n users."""
        return Forecast(
            lines=(f"expected error: at most {at_most(self.rmse(n))} (root mean square, for the worst data)",)
        )
