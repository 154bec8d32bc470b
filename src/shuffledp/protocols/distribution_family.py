"""Planning a distribution: one grid for all, or several of which each user draws one."""

import math
from collections.abc import Iterator, Sequence
from typing import Final

from shuffledp.accounting.account import calibrate
from shuffledp.accounting.gaussian_guess import gaussian_gamma, gaussian_mu
from shuffledp.core import checks
from shuffledp.core.blanket import RandomizerFamily
from shuffledp.domains.intervals import Intervals
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.protocols.deployable import Deployable
from shuffledp.protocols.distribution import QUARTILES, Distribution
from shuffledp.protocols.family import PlannedFamily, too_small
from shuffledp.protocols.options import HIGH, LOW, RESOLUTION
from shuffledp.protocols.question import Question
from shuffledp.protocols.tree import Tree
from shuffledp.randomizers.mixture import Mixture
from shuffledp.randomizers.response import RandomizedResponse, ResponseBlanket

_MOST_RESOLUTION: Final = 1 << 16
_LEAST_GAMMA: Final = 1e-15
_PARTS: Final = 1000
"""In how many parts the users are divided among the levels."""

Widths = tuple[int, ...]


class DistributionFamily(PlannedFamily):
    """The grid with the smallest rank error; of one level, or of several."""

    questions = ("distribution",)
    options = (LOW, HIGH, RESOLUTION)

    def __init__(self, *, levels: range) -> None:
        self.levels = levels
        self.name = "shuffledp, one grid" if levels.stop == 2 else "shuffledp, one of several grids"

    def check(self, question: Question) -> None:
        """A range and a resolution that make sense."""
        _grid(question)

    def cost(self, protocol: Deployable, question: Question) -> float:
        """The squared error of the worst of the quartiles, counted in users."""
        if not isinstance(protocol, Distribution):
            return math.inf
        return question.n * max(map(protocol.rank_variance, QUARTILES))

    def guess(self, question: Question) -> float | None:
        """With the blanket that a Gaussian would need."""
        if question.bound != "best":
            return None
        gamma = _gaussian(question)
        return min((self._cost(question, widths, gamma) for widths in self._shapes(question)), default=math.inf)

    def propose(self, question: Question) -> Distribution:
        """The best tree by that guess; then the least blanket, of all levels together, that the accountant grants."""
        if question.bound != "best":
            raise NoClaim("a distribution is planned with the best bound only. Leave out `paper`.")
        guessed = _gaussian(question)
        widths = min(self._some(question), key=lambda shape: self._cost(question, shape, guessed))
        sizes = Tree(_grid(question).size, widths).sizes
        weights = _weights(_gammas(sizes, guessed))
        gamma = calibrate(_family(sizes, weights), n=question.honest, epsilon=question.epsilon, delta=question.delta)
        if not gamma < 1:
            raise InvalidInput(
                "only messages that say nothing would be private enough. Use more users or a larger epsilon."
            )
        return Distribution.of(_grid(question), widths, weights, _thresholds(sizes, gamma))

    def propose_for_error(self, question: Question, cost: float) -> Distribution:
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

    def _cost(self, question: Question, widths: Widths, gamma: float) -> float:
        return self.cost(_with(question, widths, gamma), question) if gamma < 1 - 1e-12 else math.inf

    def _some(self, question: Question) -> list[Widths]:
        shapes = list(self._shapes(question))
        if not shapes:
            raise InvalidInput("so few intervals are not divided into several grids. Use a finer resolution.")
        return shapes

    def _shapes(self, question: Question) -> Iterator[Widths]:
        """Trees whose levels below the first divide every interval into the same number."""
        size = _grid(question).size
        for levels in self.levels:
            if levels == 1:
                yield (1,)
                continue
            branching = 2.0
            while round(branching) ** (levels - 1) * 2 <= size:
                yield tuple(round(branching) ** (levels - 1 - t) for t in range(levels))
                branching = max(round(branching) + 1, branching * 1.4)


def _grid(question: Question) -> Intervals:
    low, high, resolution = (question.option(name) for name in ("low", "high", "resolution"))
    if low is None or high is None or resolution is None:
        raise InvalidInput(
            "a distribution needs its range and in how many equal intervals to divide it. Give low, high and resolution."
        )
    resolution = checks.whole(resolution, "resolution", "A usual choice is 100.")
    if not 2 <= resolution <= _MOST_RESOLUTION:
        raise InvalidInput(f"resolution must be a whole number from 2 to {_MOST_RESOLUTION:,}. A usual choice is 100.")
    return Intervals(resolution, low, high)


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


def _gaussian(question: Question) -> float:
    """The gamma of the last level that a Gaussian would need."""
    mu = gaussian_mu(question.epsilon, question.delta)
    return max(_LEAST_GAMMA, gaussian_gamma(1 / _grid(question).size, 0.0, question.honest, mu))


def _with(question: Question, widths: Widths, gamma: float) -> Distribution:
    """With that gamma at the last level."""
    grid = _grid(question)
    sizes = Tree(grid.size, widths).sizes
    return Distribution.of(grid, widths, _weights(_gammas(sizes, gamma)), _thresholds(sizes, gamma))
