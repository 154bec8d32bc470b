"""Distributions: what is asked about them, and one grid for all, or several of which each user draws one."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

from shuffledp.accounting.account import calibrate
from shuffledp.accounting.first_guess import gaussian_gamma, gaussian_mu
from shuffledp.core import checks
from shuffledp.core.blanket import RandomizerFamily
from shuffledp.domains.intervals import Intervals
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.planning.family import PlannedFamily, says_nothing, too_small
from shuffledp.planning.options import HIGH, LOW, NOISE, RESOLUTION, Option, noise
from shuffledp.planning.question import Given, Question
from shuffledp.protocols.cumulative import Cumulative
from shuffledp.protocols.deployable import Deployable
from shuffledp.protocols.distribution import Distribution
from shuffledp.protocols.tree import Tree
from shuffledp.randomizers.mixture import Mixture
from shuffledp.randomizers.response import RandomizedResponse, ResponseBlanket

_MOST_RESOLUTION: Final = 1 << 16
_LEAST_GAMMA: Final = 1e-15
_PARTS: Final = 1000
"""In how many parts the users are divided among the levels."""

Widths = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DistributionQuestion(Question):
    """How many users are below each number.

    Attributes:
        domain: the intervals whose edges these numbers are.
    """

    domain: Intervals
    called: ClassVar[tuple[str, ...]] = ("distribution",)
    options: ClassVar[tuple[Option, ...]] = (LOW, HIGH, RESOLUTION, NOISE)

    @classmethod
    def read(cls, given: Given, **terms: Any) -> Self:
        """A range and a resolution that make sense."""
        low, high, resolution = (given.get(name) for name in ("low", "high", "resolution"))
        if low is None or high is None or resolution is None:
            raise InvalidInput(
                "a distribution needs its range and in how many equal intervals to divide it. Give `low`, `high` "
                "and `resolution`."
            )
        resolution = checks.whole(resolution, "resolution", "A usual choice is 100.")
        if not 2 <= resolution <= _MOST_RESOLUTION:
            raise InvalidInput(
                f"resolution must be a whole number from 2 to {_MOST_RESOLUTION:,}. A usual choice is 100."
            )
        return cls(domain=Intervals(resolution, low, high), noise=noise(given), **terms)

    def cost(self, protocol: Deployable) -> float:
        """The squared error of the worst of the quartiles, counted in users."""
        return self.n * protocol.worst_quartile(self.n) if isinstance(protocol, Cumulative) else math.inf


class DistributionFamily(PlannedFamily[DistributionQuestion]):
    """The grid with the smallest rank error; of one level, or of several."""

    question_type = DistributionQuestion

    def __init__(self, *, levels: range) -> None:
        self.levels = levels
        self.name = "shuffledp, one grid" if levels.stop == 2 else "shuffledp, one of several grids"

    def guess(self, question: DistributionQuestion) -> float | None:
        """With the blanket that a Gaussian would need."""
        if question.bound != "best":
            return None
        gamma = _gaussian(question)
        return min((self._cost(question, widths, gamma) for widths in self._shapes(question)), default=math.inf)

    def propose(self, question: DistributionQuestion) -> Distribution:
        """The best tree by that guess; then the least blanket, of all levels together, that the accountant grants."""
        if question.bound != "best":
            raise NoClaim("a distribution is planned with the best bound only. Leave out `paper`.")
        guessed = _gaussian(question)
        widths = min(self._some(question), key=lambda shape: self._cost(question, shape, guessed))
        sizes = Tree(question.domain.size, widths).sizes
        weights = _weights(_gammas(sizes, guessed))
        gamma = calibrate(_family(sizes, weights), n=question.honest, epsilon=question.epsilon, delta=question.delta)
        if not gamma < 1:
            raise says_nothing()
        return Distribution.of(question.domain, widths, weights, _thresholds(sizes, gamma))

    def propose_for_error(self, question: DistributionQuestion, cost: float) -> Distribution:
        """The most blanket with that cost, on the tree that allows the most: levels hide a user equally well."""

        def most(widths: Widths, precision: float) -> float:
            """The largest gamma that the cost allows."""
            low, high = _LEAST_GAMMA, 1.0
            if self._cost(question, widths, low) > cost:
                return 0.0
            while high - low > precision * min(low, 1 - low):
                middle = math.sqrt(low * high) if high < 0.5 else (low + high) / 2
                low, high = (low, middle) if self._cost(question, widths, middle) > cost else (middle, high)
            return low

        widths = max(self._some(question), key=lambda shape: most(shape, 0.01))
        gamma = most(widths, 1e-9)
        if not gamma:
            raise too_small()
        return _with(question, widths, gamma)

    def _cost(self, question: DistributionQuestion, widths: Widths, gamma: float) -> float:
        return question.cost(_with(question, widths, gamma)) if gamma < 1 - 1e-12 else math.inf

    def _some(self, question: DistributionQuestion) -> list[Widths]:
        shapes = list(self._shapes(question))
        if not shapes:
            raise InvalidInput("so few intervals are not divided into several grids. Use a finer resolution.")
        return shapes

    def _shapes(self, question: DistributionQuestion) -> Iterator[Widths]:
        """Trees whose levels below the first divide every interval into the same number."""
        size = question.domain.size
        for levels in self.levels:
            if levels == 1:
                yield (1,)
                continue
            branching = 2.0
            while round(branching) ** (levels - 1) * 2 <= size:
                yield tuple(round(branching) ** (levels - 1 - t) for t in range(levels))
                branching = max(round(branching) + 1, branching * 1.4)


def _gammas(sizes: Sequence[int], gamma: float) -> list[float]:
    """Of all levels, if the last has this one and all hide a user equally well.

    Formula: K (1 - g)^2 / g is the same at all levels. Legend: K = intervals, g = gamma.
    """
    if gamma >= 1:
        return [1.0] * len(sizes)
    found = []
    for size in sizes[:-1]:
        t = (1 - gamma) ** 2 / gamma * sizes[-1] / size
        found.append(2 / (2 + t + math.sqrt(t * t + 4 * t)))
    return [*found, gamma]


def _weights(gammas: Sequence[float]) -> tuple[int, ...]:
    """In proportion to 1 / (1 - g), so that a user counts the same at whichever level."""
    if len(gammas) == 1:
        return (1,)
    parts = [1 / max(1 - gamma, 1e-9) for gamma in gammas]
    return tuple(max(1, round(_PARTS * part / sum(parts))) for part in parts)


def _thresholds(sizes: Sequence[int], gamma: float) -> list[int]:
    """Of all levels, rounded to more blanket."""
    return [
        RandomizedResponse(size=size, gamma=g).threshold for size, g in zip(sizes, _gammas(sizes, gamma), strict=True)
    ]


def _family(sizes: Sequence[int], weights: Sequence[int]) -> RandomizerFamily:
    """All levels, with the gamma of the last left open."""

    def level(t: int) -> RandomizerFamily:
        return RandomizerFamily(
            parameter="gamma",
            blanket=lambda gamma: ResponseBlanket(size=sizes[t], given_gamma=_gammas(sizes, gamma)[t]),
            low=_LEAST_GAMMA,
            high=1.0,
            more_private="larger",
        )

    return Mixture.family(weights, [level(t) for t in range(len(sizes))])


def _gaussian(question: DistributionQuestion) -> float:
    """The gamma of the last level that a Gaussian would need."""
    mu = gaussian_mu(question.epsilon, question.delta)
    return max(_LEAST_GAMMA, gaussian_gamma(1 / question.domain.size, 0.0, question.honest, mu))


def _with(question: DistributionQuestion, widths: Widths, gamma: float) -> Distribution:
    """With that gamma at the last level."""
    grid = question.domain
    sizes = Tree(grid.size, widths).sizes
    return Distribution.of(grid, widths, _weights(_gammas(sizes, gamma)), _thresholds(sizes, gamma))
