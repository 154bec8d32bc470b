"""Counts with noise from the shuffler: users say the truth, and a curator's accuracy for any number of them."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.core.counts import Counts
from shuffledp.core.estimate import Estimate, Threshold
from shuffledp.core.randomness import RandomSource
from shuffledp.domains.cross_table import CrossTable
from shuffledp.domains.intervals import Intervals
from shuffledp.domains.labels import Labels
from shuffledp.domains.listed import Listed
from shuffledp.errors import InvalidInput
from shuffledp.protocols.counting import Counting
from shuffledp.protocols.margins import margins
from shuffledp.protocols.noised_bins import NoisedBins
from shuffledp.protocols.noised_estimate import NoisedEstimate, noised_estimate
from shuffledp.protocols.noised_messages import NOISE_NOTE, NoisedMessages
from shuffledp.protocols.on_domain import OnDomain
from shuffledp.protocols.one_message import Symbols
from shuffledp.protocols.reading import Reading
from shuffledp.randomizers.geometric_noise import ThinnedGeometric, TwoSidedGeometric
from shuffledp.randomizers.shuffler_noise import ShufflerNoise
from shuffledp.references import cite

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisedCounts(OnDomain, Counting, NoisedMessages):
    """How many users hold each value of a list.

    Formula: (C - E[Z]) / b is unbiased; its variance is (f b (1 - b) + Var Z) / b^2 if f users hold the value.
    Legend: C = records of a value, Z = dummies of a value, b = the share of reports that is kept.
    The number of all dummies is known, and not used: given it, dummies of different values are no longer independent.
    Reference: MSE25; docs/maths/shuffler-noise.md for what is added here and its privacy.

    Attributes:
        randomizer: the truth, and what is added to it.
        domain: the values.
        cells: of a table of several questions that each value has: its count has the dummies of all of them.
    """

    randomizer: ShufflerNoise
    domain: Listed
    cells: int = 1
    kind = "counts-with-shuffler-noise"
    randomizer_type = ShufflerNoise
    reference: ClassVar[str] = cite("MSE25")

    def __post_init__(self) -> None:
        if self.domain.size != self.randomizer.size:
            raise InvalidInput(f"{self.domain.size:,} values for {self.randomizer.size:,} symbols. Give as many.")

    @property
    def size(self) -> int:
        """Number of values."""
        return self.randomizer.size

    @property
    def noise_variance(self) -> float:
        """The variance that noise gives to the number of records of a value."""
        return self.cells * self.noise.variance

    def sentence(self) -> str:
        """What one user does, and the shuffler."""
        return f"each user {self.randomizer.sentence()}"

    def encode(self, values: NDArray[Any], randomness: RandomSource, *, first_row: int) -> Symbols:  # noqa: ARG002
        """A value is its symbol."""
        return checks.symbols(values, self.size)

    # What they add up to

    def debias(self, counts: NDArray[np.int64], n: int) -> Reals:  # noqa: ARG002
        return np.asarray((counts[..., :-1] - self.cells * self.noise.mean) / self.noise.share_kept)

    @property
    def reading(self) -> "NoisedReading":
        return NoisedReading(self)

    # How far off that is

    def variance(self, users: Reals, n: int) -> Reals:  # noqa: ARG002
        """The exact variance of each value's estimate when that many users hold it."""
        b = self.noise.share_kept
        return np.asarray((users * b * (1 - b) + self.noise_variance) / b**2)

    def max_shift(self, n: int) -> float:  # noqa: ARG002
        """One record more or less."""
        return 1 / self.noise.share_kept

    def noised(self, estimate: Estimate, bins: Any = 1, *, scale: float = 1.0) -> NoisedEstimate:
        """An estimate of sums of so many counts, divided by `scale`, with the limits of the noise."""
        b, terms = self.noise.share_kept, np.asarray(bins)
        users = np.where(terms > 0, np.clip(estimate.value * scale, 1.0, max(1, estimate.n)), 0.0)
        return noised_estimate(estimate, self.noise, terms * self.cells, users=users * (1 - b) / b, scale=scale)

    # As data

    @classmethod
    def examples(cls) -> list[Self]:
        """A list, a grid and a table; with and without a chance of failure."""
        usual, pure = TwoSidedGeometric.least(1.0, 1e-6), ThinnedGeometric.least(2.0)
        table = CrossTable((("sex", Labels(("f", "m"))),), Labels(("no", "perhaps", "yes")))
        return [
            cls(randomizer=ShufflerNoise(size=3, noise=usual), domain=Labels(("red", "green", "blue"))),
            cls(randomizer=ShufflerNoise(size=5, noise=pure), domain=Intervals(5, -1.0, 4.0)),
            cls(randomizer=ShufflerNoise(size=6, noise=usual), domain=table),
        ]


@dataclass(frozen=True, slots=True)
class NoisedStatistics(NoisedBins):
    """Statistics of counts whose noise is independent: variances add up."""

    protocol: NoisedCounts

    def threshold(self, false_positives: float) -> Threshold:
        """The least estimate that so few values reach by their dummies alone."""
        wanted = checks.real(false_positives, "false_positives")
        if not 0 < wanted < math.inf:
            raise InvalidInput(
                f"the expected number of false positives must be above 0; got {wanted:g}. A usual choice is 1."
            )
        noise, size, least = self.protocol.noise, self.size, 0
        while size * noise.at_least(least) > wanted:
            least += 1
        return Threshold((least - noise.mean) / noise.share_kept, size * noise.at_least(least))

    def union_error(self, value: Reals, bins: NDArray[np.integer] | int) -> Reals:
        """No error where all are counted: their number is public."""
        b, users = self.protocol.noise.share_kept, np.clip(value, 0, self.counts.n)
        variance = (users * b * (1 - b) + bins * self.protocol.noise_variance) / b**2
        return np.sqrt(np.where(np.asarray(bins) == self.size, 0.0, variance))

    def part_and_whole(self, part: Reals, part_bins: int, whole: Reals, whole_bins: int) -> tuple[Reals, Reals, Reals]:
        """The covariance is the variance of the part: what is beside it is independent."""
        b, noise, n = self.protocol.noise.share_kept, self.protocol.noise_variance, self.counts.n
        small, large = (
            (np.clip(users, 0, n) * b * (1 - b) + bins * noise) / b**2
            for users, bins in ((part, part_bins), (whole, whole_bins))
        )
        return small, small, large


class NoisedReading(Reading[NoisedCounts]):
    """Counts, frequencies, ranges, quantiles; of a table its margins, and the shares within groups."""

    __slots__ = ()

    def of(self, estimate: Estimate) -> Estimate:
        """With the limits of the noise."""
        return self.protocol.noised(estimate)

    def statistics(self, estimate: Estimate, counts: Counts | None = None) -> NoisedStatistics:  # noqa: ARG002
        return NoisedStatistics(self.protocol, estimate)

    def beside(self, estimate: Estimate) -> dict[str, Estimate]:
        table = self.protocol.domain
        return margins(table, self.statistics(estimate)) if isinstance(table, CrossTable) else {}

    def notes(self) -> tuple[str, ...]:
        return (NOISE_NOTE,)
