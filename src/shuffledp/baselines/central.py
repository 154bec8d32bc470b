"""A trusted curator who sees the data, and users who each add noise of their own: both with discrete Laplace noise."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.baselines.document_fields import Fields
from shuffledp.baselines.noise import DiscreteLaplace
from shuffledp.core import checks
from shuffledp.core.counts import Counts
from shuffledp.core.population import Population
from shuffledp.core.randomness import RandomSource, SystemRandomness, rows_from
from shuffledp.domains.whole_numbers import WholeNumbers
from shuffledp.errors import InvalidInput
from shuffledp.planning.families.histogram import HistogramQuestion
from shuffledp.planning.families.summation import SumQuestion
from shuffledp.planning.family import Family, Trust
from shuffledp.protocols.counting import Counting
from shuffledp.protocols.rounding import grid_counts, to_grid
from shuffledp.protocols.summing import Summing, Total
from shuffledp.references import cite

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisySum(Summing, Fields):
    """The sum of values in [low, high], rounded to a grid of `steps`, plus discrete Laplace noise of scale steps / epsilon.

    Added once by a curator (`local=False`) or by every user (`local=True`). Worst-case squared error, in grid units: n/4
    for the rounding plus the variance of the noise, once or n times.
    """

    epsilon: float
    steps: int
    low: float = 0.0
    high: float = 1.0
    local: bool = False
    total: Total = "sum"
    kind = "noisy-sum"
    reference: ClassVar[str] = cite("DMNS06")

    def __post_init__(self) -> None:
        checks.settle(
            self,
            epsilon=checks.epsilon(self.epsilon, positive=True),
            steps=checks.whole(self.steps, "steps", "Give at least 1."),
        )
        self.check_total()
        if self.steps < 1:
            raise InvalidInput(f"a grid has at least one step; got {self.steps}. Give more.")

    @property
    def noise(self) -> DiscreteLaplace:
        """What is added: one value moves the sum by at most `steps`."""
        return DiscreteLaplace(math.nextafter(self.steps / self.epsilon, math.inf))

    def sentence(self) -> str:
        """Who adds the noise."""
        return f"{'each user' if self.local else 'the curator'} adds discrete Laplace noise of scale {self.noise.scale:.6g} steps"

    @property
    def epsilon0(self) -> float | None:
        """The local privacy parameter; a curator's users have none."""
        return self.epsilon if self.local else None

    @property
    def bits(self) -> int:
        return (self.steps + round(56 * self.noise.scale) if self.local else self.steps).bit_length()

    def randomize(self, values: Reals, randomness: RandomSource, *, first_row: int) -> NDArray[np.int64]:
        """Grid points, with noise if it is local."""
        points = to_grid(
            values, randomness, low=self.low, high=self.high, steps=self.steps, first_row=first_row
        ).astype(np.int64)
        return points + self.noise.sample(rows_from(first_row, len(points)), randomness, 0) if self.local else points

    @property
    def counters(self) -> int:
        """What is above zero, what is below, and of how many."""
        return 3

    def count(self, messages: NDArray[np.int64]) -> Counts:
        """Counts are not negative, so both signs are added up apart."""
        return Counts(np.array([messages[messages > 0].sum(), -messages[messages < 0].sum(), len(messages)]))

    def reports(self, counts: NDArray[np.int64]) -> int:
        return int(counts[-1])

    def debias_sum(self, counts: NDArray[np.int64], n: int) -> Reals:
        """The unbiased sum; here a curator adds noise, new each time."""
        total = np.asarray(counts[..., 0] - counts[..., 1])
        return self._scaled(total if self.local else total + curators_noise(self.noise, total.shape), n)

    def user_error(self, value: Reals | float) -> Reals:
        """What one user's rounding and own noise add; the curator's noise is no user's."""
        scaled = self.domain.share(value) * self.steps
        part = scaled - np.floor(scaled)
        own = self.noise.variance if self.local else 0.0
        return np.asarray((part * (1 - part) + own) * ((self.high - self.low) / self.steps) ** 2)

    def sum_error(self, population: Population) -> float:
        """Users' errors and, once, the curator's noise."""
        once = 0.0 if self.local else self.noise.variance * ((self.high - self.low) / self.steps) ** 2
        return float(self.user_error(population.values) @ population.users) + once

    @property
    def worst_value(self) -> float:
        """Between two grid points."""
        return self.low + (self.high - self.low) / (2 * self.steps)

    def max_shift(self, n: int) -> float:
        """A user who adds noise can send anything; the curator rounds to the range."""
        return math.inf if self.local else (self.high - self.low) / self.scale(n)

    def sums(self, population: Population, generator: np.random.Generator, runs: int) -> Reals:
        points = grid_counts(
            population.values, population.users, generator, low=self.low, high=self.high, steps=self.steps, runs=runs
        )
        n = population.n
        return self._scaled(points + self.noise.simulate(generator, runs, n if self.local else 1), n)

    @classmethod
    def examples(cls) -> list[Self]:
        """A curator's and everybody's noise."""
        return [cls(epsilon=1.5, steps=7), cls(epsilon=1.5, steps=7, low=-1.0, high=2.0, local=True, total="mean")]

    def _scaled(self, total: NDArray[np.int64], n: int) -> Reals:
        return np.asarray(n * self.low + total * ((self.high - self.low) / self.steps))


@dataclass(frozen=True, slots=True, kw_only=True)
class CuratorHistogram(Counting, Fields):
    """Exact counts plus discrete Laplace noise of scale 2 / epsilon in each bin: replacing a user changes two of them by 1."""

    size: int
    epsilon: float
    kind = "curator-histogram"
    reference: ClassVar[str] = cite("DMNS06")

    def __post_init__(self) -> None:
        checks.settle(self, size=checks.size(self.size), epsilon=checks.epsilon(self.epsilon, positive=True))

    @property
    def domain(self) -> WholeNumbers:
        return WholeNumbers(self.size)

    @property
    def noise(self) -> DiscreteLaplace:
        """What is added to a bin."""
        return DiscreteLaplace(math.nextafter(2 / self.epsilon, math.inf))

    def sentence(self) -> str:
        """The curator does it."""
        return f"the curator adds discrete Laplace noise of scale {self.noise.scale:.6g} to each count"

    @property
    def epsilon0(self) -> None:
        """A curator's users have none."""
        return

    @property
    def bits(self) -> int:
        return (self.size - 1).bit_length()

    def randomize(
        self, values: NDArray[Any], randomness: RandomSource, *, first_row: int
    ) -> NDArray[np.unsignedinteger]:
        """The values themselves: the curator is trusted."""
        del randomness, first_row
        return checks.symbols(values, self.size)

    @property
    def counters(self) -> int:
        return self.size

    def count(self, messages: NDArray[np.unsignedinteger]) -> Counts:
        return Counts.of(messages, self.size)

    def reports(self, counts: NDArray[np.int64]) -> int:
        """Everybody is in one bin."""
        return int(counts.sum())

    def debias(self, counts: NDArray[np.int64], n: int) -> Reals:  # noqa: ARG002
        """Counts with noise, new each time."""
        return (counts + curators_noise(self.noise, counts.shape)).astype(np.float64)

    def variance(self, users: Reals, n: int) -> Reals:  # noqa: ARG002
        return np.full(np.shape(users), self.noise.variance)

    def max_shift(self, n: int) -> float:  # noqa: ARG002
        """One user is one."""
        return 1.0

    def simulate(self, population: Population, generator: np.random.Generator, runs: int) -> Reals:
        noise = self.noise.simulate(generator, (runs, self.size))
        return np.asarray(self.held(population) + noise, dtype=np.float64)

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(size=4, epsilon=1.5)]


def curators_noise(noise: DiscreteLaplace, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """From the operating system's random bytes: whoever knew the words of a curator's noise could take it off."""
    return noise.sample(rows_from(0, math.prod(shape)), SystemRandomness(), 0).reshape(shape)


class Curator(Family[HistogramQuestion]):
    """A curator's histogram."""

    name, trust, accounted_by = "discrete Laplace", "the curator", "sensitivity"
    question_type = HistogramQuestion

    def propose(self, question: HistogramQuestion) -> CuratorHistogram:
        return CuratorHistogram(size=question.domain.size, epsilon=question.epsilon)


class LaplaceSum(Family[SumQuestion]):
    """A sum with Laplace noise."""

    accounted_by = "sensitivity"
    question_type = SumQuestion

    def __init__(self, *, local: bool) -> None:
        self._local = local
        self.name, self.trust = ("local Laplace", "nobody") if local else ("discrete Laplace", "the curator")

    trust: Trust

    def propose(self, question: SumQuestion) -> NoisySum:
        """On a grid so fine that rounding costs next to nothing."""
        low, high = question.domain.low, question.domain.high
        return NoisySum(
            epsilon=question.epsilon, steps=fine_steps(question.n), low=low, high=high, local=self._local,
            total=question.total,
        )  # fmt: skip


def fine_steps(n: int) -> int:
    """Steps of a grid so fine that rounding costs next to nothing."""
    return max(1, math.ceil(10 * math.sqrt(n)))
