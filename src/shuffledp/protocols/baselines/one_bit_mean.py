"""Microsoft's 1BitMean: one bit that leans towards the value."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.counts import Counts
from shuffledp.core.words import WordSource
from shuffledp.protocols.summation import Summation
from shuffledp.randomizers.response import RandomizedResponse
from shuffledp.references import cite

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class OneBitMean:
    """1BitMean (Ding, Kulkarni, Yekhanin 2017): P[1] = 1 / (e^eps0 + 1) + x (e^eps0 - 1) / (e^eps0 + 1).

    That is rounding x to 0 or 1 and randomized response on two symbols: our summation with one step, so it shares its law,
    its exact error and, when shuffled, its blanket (gamma = 2 / (e^eps0 + 1)). Cheu et al.'s one-bit protocol is the same,
    with gamma set for the crowd.
    """

    randomizer: RandomizedResponse
    low: float = 0.0
    high: float = 1.0
    reference = cite("DKY17")

    @classmethod
    def private(cls, *, epsilon0: float, low: float = 0.0, high: float = 1.0) -> "OneBitMean":
        """The most accurate one that is epsilon0-LDP."""
        return cls(randomizer=RandomizedResponse(size=2, epsilon0=epsilon0).as_run(), low=low, high=high)

    @property
    def summation(self) -> Summation:
        """The same protocol."""
        return Summation(randomizer=self.randomizer, low=self.low, high=self.high)

    @property
    def epsilon0(self) -> float:
        """The local privacy parameter, rounded up."""
        return self.randomizer.epsilon0

    @property
    def bits(self) -> int:
        """Of one report."""
        return 1

    def randomize(self, values: Reals, words: WordSource, *, first_row: int) -> NDArray[np.unsignedinteger]:
        """One bit a user."""
        symbols = self.summation.encode(values, words, first_row=first_row)
        return self.randomizer.randomize(symbols, words, first_row=first_row)

    def estimate(self, messages: NDArray[np.unsignedinteger]) -> float:
        """The unbiased sum."""
        return float(self.summation.debias(Counts.of(messages, 2).values))

    def mean_squared_error(self, n: int) -> float:
        """At the worst data."""
        return self.summation.mean_squared_error(n)

    def error_at(self, value: float, n: int) -> float:
        """The mean squared error when all n hold this value."""
        return n * float(self.summation.user_error(value))

    def simulate(self, values: Reals, users: NDArray[np.int64], generator: np.random.Generator, runs: int) -> Reals:
        """Estimates of runs, exact in law."""
        return self.summation.debias(self.summation.simulate(values, users, generator, runs))
