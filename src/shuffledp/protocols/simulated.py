"""What a simulation needs of a protocol: exact answers, and answers drawn at random without any messages."""

from abc import ABC, abstractmethod
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.population import Population

Reals = NDArray[np.float64]


class Simulated(ABC):
    """Its answers can be compared with the truth."""

    __slots__ = ()

    @abstractmethod
    def truth(self, values: NDArray[Any]) -> NDArray[Any]:
        """What clean values add up to, exactly: truths of parts are added with +."""

    @abstractmethod
    def truth_of(self, population: Population) -> NDArray[Any]:
        """What the values of a population add up to."""

    @abstractmethod
    def true_answer(self, truth: NDArray[Any]) -> Reals:
        """The exact answer, one entry per entry of the estimate. Not private."""

    @final
    def expected(self, population: Population) -> Reals:
        """The exact answer for such data."""
        return self.true_answer(self.truth_of(population))

    @abstractmethod
    def simulate(self, population: Population, generator: np.random.Generator, runs: int) -> Reals:
        """Estimates of runs, one per row, exact in law for any number of users. They carry no guarantee."""

    @property
    def cells_per_run(self) -> int:
        """How many numbers a simulated run draws, so that callers can bound memory."""
        return 1
