"""Cheu et al.'s sum of reals by many one-bit messages."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.words import WordSource
from shuffledp.protocols.bins import interval
from shuffledp.protocols.rounding import grid_counts, to_grid
from shuffledp.randomizers.response import RandomizedResponse
from shuffledp.references import cite

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnaryBits:
    """A value of [low, high] as r bits, the first floor(x r) + Bernoulli of them 1, each sent by randomized response on its own.

    Formula: sum of x = (sum y / r - n g / 2) / (1 - g), with squared error n (g/2)(1 - g/2) / (r (1 - g)^2) + sum f (1 - f)
    / r^2, f = frac(x r). r = 1 is the one-bit protocol.
    Legend: r = messages, g = gamma of the law that is sampled (threshold / 2^64).
    Privacy: at most that of r shuffled one-bit collections composed: separate shuffles show more than a joint one.
    """

    messages: int
    threshold: int
    low: float = 0.0
    high: float = 1.0
    reference = cite("CSUZZ19")

    def __post_init__(self) -> None:
        interval(self.low, self.high)

    @property
    def randomizer(self) -> RandomizedResponse:
        """Of one bit."""
        return RandomizedResponse(size=2, gamma=Fraction(self.threshold, 1 << 64))

    @property
    def gamma(self) -> float:
        """The blanket probability of a bit."""
        return self.threshold / 2**64

    @property
    def epsilon0(self) -> float:
        """The local privacy parameter of all bits together, rounded up: in the worst case all of them change."""
        return math.nextafter(self.messages * self.randomizer.epsilon0, math.inf)

    @property
    def bits(self) -> int:
        """One a message."""
        return self.messages

    def randomize(self, values: Reals, words: WordSource, *, first_row: int) -> NDArray[np.unsignedinteger]:
        """The bits of each user, one row a user; bit j of user i has the words of row i r + j."""
        points = to_grid(values, words, low=self.low, high=self.high, steps=self.messages, first_row=first_row)
        bits = (np.arange(self.messages) < points[:, None]).astype(np.uint8)
        sent = self.randomizer.randomize(bits.ravel(), words, first_row=first_row * self.messages)
        return sent.reshape(bits.shape)

    def estimate(self, messages: NDArray[np.unsignedinteger]) -> float:
        """The unbiased sum."""
        return self._debias(np.array([messages.sum(dtype=np.int64)]), len(messages)).item()

    def mean_squared_error(self, n: int) -> float:
        """At the worst data: everybody between two grid points."""
        return self.error_at(self.low + (self.high - self.low) / (2 * self.messages), n)

    def error_at(self, value: float, n: int) -> float:
        """The mean squared error when all n hold this value."""
        r, g = self.messages, self.gamma
        scaled = (value - self.low) / (self.high - self.low) * r
        f = scaled - np.floor(scaled)
        noise = (g / 2) * (1 - g / 2) / (r * (1 - g) ** 2)
        return float((self.high - self.low) ** 2 * n * (noise + f * (1 - f) / r**2))

    def simulate(self, values: Reals, users: NDArray[np.int64], generator: np.random.Generator, runs: int) -> Reals:
        """Estimates of runs, exact in law."""
        n = int(users.sum())
        ones = grid_counts(values, users, generator, low=self.low, high=self.high, steps=self.messages, runs=runs)
        g = self.gamma
        total = generator.binomial(ones, 1 - g / 2) + generator.binomial(n * self.messages - ones, g / 2)
        return self._debias(total, n)

    def _debias(self, total: NDArray[np.int64], n: int) -> Reals:
        g = self.gamma
        return np.asarray(n * self.low + (self.high - self.low) * (total / self.messages - n * g / 2) / (1 - g))
