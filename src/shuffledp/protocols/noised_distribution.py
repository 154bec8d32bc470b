"""The distribution of a number with noise from the shuffler: users say in which interval it is, and the shuffler adds dummies."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.core.counts import Counts
from shuffledp.core.estimate import Estimate
from shuffledp.core.population import Population
from shuffledp.core.randomness import RandomSource
from shuffledp.domains.intervals import Intervals
from shuffledp.errors import InvalidInput
from shuffledp.protocols.cumulative import Cumulative, CumulativeReading
from shuffledp.protocols.description import Description
from shuffledp.protocols.estimator import Reals
from shuffledp.protocols.noised_estimate import NoisedEstimate, noised_estimate
from shuffledp.protocols.noised_messages import NOISE_NOTE, NoisedMessages
from shuffledp.protocols.on_domain import OnDomain
from shuffledp.protocols.one_message import Symbols
from shuffledp.protocols.quantiles import QUARTILES, Curve
from shuffledp.randomizers.geometric_noise import ThinnedGeometric, TwoSidedGeometric
from shuffledp.randomizers.shuffler_noise import ShufflerNoise
from shuffledp.references import cite


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisedDistribution(OnDomain, Cumulative, NoisedMessages):
    """How many of the users hold a number below each inner edge of a grid, from noisy counts of its intervals.

    Of n users, those below an edge are those counted to its left; or n less those counted to its right; or n/2 and half of the
    difference. Each is unbiased. The one with the least noise is taken, which depends on the edge alone.

    Formula: with s of the K intervals to the left and F users there, the variance is s v + F r, or (K - s) v + (n - F) r, or
    (K v + n r) / 4.
    Legend: v = Var Z / b^2, Z = dummies of an interval, b = the share of reports that is kept, r = (1 - b) / b.
    Reference: MSE25; docs/maths/shuffler-noise.md.

    Attributes:
        randomizer: the truth, and what is added to it.
        domain: the grid.
        cells: of a table of several questions that each interval has: its count has the dummies of all of them.
    """

    randomizer: ShufflerNoise
    domain: Intervals
    cells: int = 1
    kind = "distribution-with-shuffler-noise"
    randomizer_type = ShufflerNoise
    domain_type = Intervals
    domain_in_words = "a distribution is of intervals"
    reference: ClassVar[str] = cite("MSE25")

    def __post_init__(self) -> None:
        if self.domain.size != self.randomizer.size:
            raise InvalidInput(
                f"{self.domain.size:,} intervals for {self.randomizer.size:,} symbols. Make the plan with shuffledp plan."
            )

    @property
    def size(self) -> int:
        """Number of intervals."""
        return self.domain.size

    @property
    def description(self) -> Description:
        """Counts are of people."""
        return Description(question="distribution", measure="users")

    def sentence(self) -> str:
        """What one user does, and the shuffler."""
        return (
            f"each user sends the true interval of the number, one of {self.size:,}, and {self.noise.sentence()} (no local "
            "guarantee)"
        )

    def encode(self, values: NDArray[Any], randomness: RandomSource, *, first_row: int) -> Symbols:  # noqa: ARG002
        return checks.symbols(values, self.size)

    # Estimates

    def debias(self, counts: NDArray[np.int64], n: int) -> Reals:
        """Users below each edge."""
        users = (counts[..., :-1] - self.cells * self.noise.mean) / self.noise.share_kept
        left = np.cumsum(users, axis=-1)
        total, below = left[..., -1:], left[..., :-1]
        far_left, far_right = self._sides
        middle = n / 2 + below - total / 2
        return np.asarray(np.where(far_left, below, np.where(far_right, n - (total - below), middle)))

    def standard_error(self, value: Reals, n: int) -> Reals:
        return np.sqrt(self._variance(np.clip(value, 0, n), n))

    @property
    def reading(self) -> "NoisedCurveReading":
        return NoisedCurveReading(self)

    def weights(self, first: int, last: int) -> Reals:
        """Of the counts of all intervals in that of the users in intervals first ... last, both included.

        It is the difference of two edges. Counts with a weight other than 0 have the same one, or its negative.
        """
        return self._below(last + 1) - self._below(first)

    def dropped(self, users: Reals) -> Reals:
        """The variance of a count of so many users that dropped reports add."""
        b = self.noise.share_kept
        return np.asarray(users * (1 - b) / b)

    def noised(self, estimate: Estimate) -> NoisedEstimate:
        """An estimate with the limits of the noise."""
        left, (far_left, far_right) = np.arange(1, self.size), self._sides
        users = np.where(far_left, estimate.value, np.where(far_right, estimate.n - estimate.value, estimate.n))
        return noised_estimate(
            estimate, self.noise, self.cells * np.where(far_right, 0, left),
            self.cells * np.where(far_left, 0, self.size - left),
            users=self.dropped(np.clip(users, 1, max(1, estimate.n))), scale=np.where(far_left | far_right, 1.0, 2.0),
        )  # fmt: skip

    # How far off they are

    def range_variance(self, first: int, last: int, users: Reals) -> float:
        squares = np.square(self.weights(first, last))
        return float(squares.sum() * self._spread + self.dropped(squares @ users))

    def rank_variance(self, share: float, n: int) -> float:
        return float(self._variance(np.full(self.size - 1, share * n), n).max() / n)

    def rank_limit(self, z: float, n: int) -> float:
        """With the tails of the noise."""
        counts = [np.full(self.size - 1, share * n) for share in QUARTILES]
        limits = [
            self.noised(Estimate(value=below, standard_error=below, n=n)).limits(z)[1] - below for below in counts
        ]
        return float(max(far.max() for far in limits) / n)

    def worst(self, n: int) -> Population:
        """Everybody in the first interval: below all edges that are counted from the left, where dropping reports is felt."""
        return Population(values=np.array([0]), users=np.array([n]))

    def variance(self, users: NDArray[np.int64]) -> Reals:
        return self._variance(self.true_answer(users), int(users.sum()))

    def max_shift(self, n: int) -> float:  # noqa: ARG002
        """A record moves from one side of an edge to the other."""
        return 1 / self.noise.share_kept

    # As data

    @classmethod
    def examples(cls) -> list[Self]:
        """With and without a chance of failure; few intervals and more."""
        usual, pure = TwoSidedGeometric.least(1.0, 1e-6), ThinnedGeometric.least(2.0)
        return [
            cls(randomizer=ShufflerNoise(size=9, noise=usual), domain=Intervals(9, 0.0, 1.0)),
            cls(randomizer=ShufflerNoise(size=6, noise=pure), domain=Intervals(6, -1.0, 1.0)),
            cls(randomizer=ShufflerNoise(size=2, noise=usual), domain=Intervals(2, 0.0, 10.0)),
        ]

    @property
    def _spread(self) -> float:
        """The variance of the estimated users in an interval that nobody is in."""
        return self.cells * self.noise.variance / self.noise.share_kept**2

    @property
    def _sides(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """At which edges users are counted on the left alone, or on the right alone."""
        edges = np.arange(1, self.size)
        return 4 * edges <= self.size, 4 * (self.size - edges) <= self.size

    def _below(self, edge: int) -> Reals:
        """The weights of the counts of all intervals in that of users below an edge."""
        if edge in (0, self.size):
            return np.zeros(self.size)
        far_left, far_right = (bool(side[edge - 1]) for side in self._sides)
        left = np.arange(self.size) < edge
        return np.where(left, 0.0 if far_right else 1.0, 0.0 if far_left else -1.0) / (
            1 if far_left or far_right else 2
        )

    def _variance(self, below: Reals, n: int) -> Reals:
        """At each edge, if so many users are below it."""
        left, (far_left, far_right) = np.arange(1, self.size), self._sides
        right = self.size - left
        middle = (self.size * self._spread + self.dropped(np.array(n))) / 4
        at_right = np.where(far_right, right * self._spread + self.dropped(n - below), middle)
        return np.where(far_left, left * self._spread + self.dropped(below), at_right)


@dataclass(frozen=True, slots=True)
class NoisedCurve(Curve):
    """An estimated distribution whose ranges have the limits of the noise, too."""

    protocol: NoisedDistribution
    counts: Estimate

    def in_range(self, first: int, last: int) -> Estimate:
        estimate, protocol = Curve.in_range(self, first, last), self.protocol
        weights = protocol.weights(first, last)
        size = float(np.abs(weights).max()) or 1.0
        users = protocol.dropped(np.square(weights / size) @ self.histogram())
        return noised_estimate(
            estimate, protocol.noise, protocol.cells * int((weights > 0).sum()), protocol.cells * int((weights < 0).sum()),
            users=users[None], scale=1 / size,
        )  # fmt: skip


class NoisedCurveReading(CumulativeReading):
    """Users below each edge, quantiles and ranges."""

    __slots__ = ()
    protocol: NoisedDistribution

    def of(self, estimate: Estimate) -> Estimate:
        """With the limits of the noise."""
        return self.protocol.noised(estimate)

    def statistics(self, estimate: Estimate, counts: Counts | None = None) -> Curve:  # noqa: ARG002
        return NoisedCurve(self.protocol, estimate)

    def notes(self) -> tuple[str, ...]:
        return (NOISE_NOTE,)
