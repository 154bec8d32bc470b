"""A trusted curator who sees the data, and users who each add noise of their own: both with discrete Laplace noise."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.core.words import WordSource
from shuffledp.errors import InvalidInput
from shuffledp.protocols.baselines.noise import DiscreteLaplace
from shuffledp.protocols.bins import interval
from shuffledp.protocols.rounding import grid_counts, to_grid
from shuffledp.references import cite

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisySum:
    """The sum of values in [low, high], rounded to a grid of `steps`, plus discrete Laplace noise of scale steps / epsilon.

    Added once by a curator (`local=False`) or by every user (`local=True`). Worst-case squared error, in grid units: n/4
    for the rounding plus the variance of the noise, once or n times.
    """

    epsilon: float
    steps: int
    low: float = 0.0
    high: float = 1.0
    local: bool = False
    reference = cite("DMNS06")

    def __post_init__(self) -> None:
        checks.epsilon(self.epsilon, positive=True)
        interval(self.low, self.high)
        if type(self.steps) is not int or self.steps < 1:
            raise InvalidInput(f"a grid has at least one step; got {self.steps!r}. Give more.")

    @property
    def noise(self) -> DiscreteLaplace:
        """What is added: one value moves the sum by at most `steps`."""
        return DiscreteLaplace(math.nextafter(self.steps / self.epsilon, math.inf))

    @property
    def epsilon0(self) -> float | None:
        """The local privacy parameter; a curator's users have none."""
        return self.epsilon if self.local else None

    @property
    def bits(self) -> int:
        """Of one report, noise included (to 2^-40)."""
        return (self.steps + round(56 * self.noise.scale) if self.local else self.steps).bit_length()

    def randomize(self, values: Reals, words: WordSource, *, first_row: int) -> NDArray[np.int64]:
        """Grid points, with noise if it is local. Rounding uses the words, the noise OpenDP's own secure randomness."""
        points = to_grid(values, words, low=self.low, high=self.high, steps=self.steps, first_row=first_row).astype(
            np.int64
        )
        return self.noise.add_to(points) if self.local else points

    def estimate(self, messages: NDArray[np.int64]) -> float:
        """The unbiased sum; here a curator adds the noise."""
        total = np.array([messages.sum()])
        return self._scaled(total if self.local else self.noise.add_to(total), len(messages)).item()

    def mean_squared_error(self, n: int) -> float:
        """At the worst data: everybody between two grid points."""
        return (n / 4 + self.noise.variance * (n if self.local else 1)) * ((self.high - self.low) / self.steps) ** 2

    def error_at(self, value: float, n: int) -> float:
        """The mean squared error when all n hold this value."""
        scaled = (value - self.low) / (self.high - self.low) * self.steps
        part = scaled - np.floor(scaled)
        return float(
            self.mean_squared_error(n) + n * (part * (1 - part) - 0.25) * ((self.high - self.low) / self.steps) ** 2
        )

    def simulate(self, values: Reals, users: NDArray[np.int64], generator: np.random.Generator, runs: int) -> Reals:
        """Estimates of runs, exact in law."""
        points = grid_counts(values, users, generator, low=self.low, high=self.high, steps=self.steps, runs=runs)
        n = int(users.sum())
        return self._scaled(points + self.noise.simulate(generator, runs, n if self.local else 1), n)

    def _scaled(self, total: NDArray[np.int64], n: int) -> Reals:
        return np.asarray(n * self.low + total * ((self.high - self.low) / self.steps))


@dataclass(frozen=True, slots=True, kw_only=True)
class CuratorHistogram:
    """Exact counts plus discrete Laplace noise of scale 2 / epsilon in each bin: replacing a user changes two of them by 1."""

    size: int
    epsilon: float
    reference = cite("DMNS06")

    @property
    def noise(self) -> DiscreteLaplace:
        """What is added to a bin."""
        return DiscreteLaplace(math.nextafter(2 / self.epsilon, math.inf))

    @property
    def epsilon0(self) -> None:
        """A curator's users have none."""
        return

    @property
    def bits(self) -> int:
        """Of one report: the value itself."""
        return (self.size - 1).bit_length()

    def randomize(
        self, symbols: NDArray[np.integer], words: WordSource, *, first_row: int
    ) -> NDArray[np.unsignedinteger]:
        """The values themselves: the curator is trusted."""
        del words, first_row
        return checks.symbols(symbols, self.size)

    def estimate(self, messages: NDArray[np.unsignedinteger]) -> Reals:
        """Noisy counts."""
        return self.noise.add_to(np.bincount(messages, minlength=self.size).astype(np.int64)).astype(np.float64)

    def variance(self, users: NDArray[np.integer]) -> Reals:
        """Of each count."""
        return np.full(len(users), self.noise.variance)

    def simulate(self, users: NDArray[np.int64], generator: np.random.Generator, runs: int) -> Reals:
        """Estimates of runs, exact in law."""
        return np.asarray(users + self.noise.simulate(generator, (runs, self.size)), dtype=np.float64)
