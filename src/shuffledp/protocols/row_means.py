"""What protocols that average rows of numbers have in common: a mean for each column, and the exact one."""

from abc import abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.arithmetic.exact import exact_sum
from shuffledp.core.population import Population
from shuffledp.domains.vectors import Vectors
from shuffledp.protocols.description import Description
from shuffledp.protocols.estimator import Reals
from shuffledp.protocols.protocol import ShuffleProtocol


class RowMeans(ShuffleProtocol):
    """The mean of the users' rows."""

    __slots__ = ()

    @property
    @abstractmethod
    def domain(self) -> Vectors: ...

    @property
    def description(self) -> Description:
        """A mean for each column."""
        return Description(question="vector", measure=f"Mean of the users' rows, each in {self.domain.limits}")

    @property
    def names(self) -> tuple[str, ...]:
        return self.domain.names

    @property
    def averages(self) -> bool:
        return True

    def truth(self, values: NDArray[Any]) -> NDArray[Any]:
        """The exact sum of each column, and of how many rows."""
        rows = self.domain.averaged(values)
        return np.array([*(exact_sum(column) for column in np.ascontiguousarray(rows.T)), len(rows)], dtype=object)

    def truth_of(self, population: Population) -> NDArray[Any]:
        rows, users = self.domain.averaged(population.values), population.users.tolist()
        sums = [
            sum((Fraction(float(x)) * often for x, often in zip(column, users, strict=True)), Fraction(0))
            for column in rows.T
        ]
        return np.array([*sums, population.n], dtype=object)

    def true_answer(self, truth: NDArray[Any]) -> Reals:
        return np.array([float(total / max(1, truth[-1])) for total in truth[:-1]])
