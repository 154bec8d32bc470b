"""Counts with noise from the shuffler: users say the truth, and a curator's accuracy for any number of them."""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.core.attacker_view import AttackerView
from shuffledp.core.counts import Counts
from shuffledp.core.estimate import Estimate, Threshold
from shuffledp.core.population import Population
from shuffledp.core.randomness import RandomSource
from shuffledp.domains.cross_table import CrossTable
from shuffledp.domains.intervals import Intervals
from shuffledp.domains.labels import Labels
from shuffledp.domains.listed import Listed
from shuffledp.errors import InvalidInput
from shuffledp.protocols.counting import Counting
from shuffledp.protocols.deployable import Deployable
from shuffledp.protocols.margins import margins
from shuffledp.protocols.on_domain import OnDomain
from shuffledp.protocols.reading import Reading
from shuffledp.protocols.statistics import BinStatistics
from shuffledp.randomizers.geometric_noise import GeometricNoise, ThinnedGeometric, TwoSidedGeometric
from shuffledp.randomizers.shuffler_noise import ShufflerNoise
from shuffledp.references import cite

Reals = NDArray[np.float64]
_NORMAL: Final = NormalDist()
_LEAST_MISS: Final = 1e-300
_UNLIKELY: Final = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisedCounts(OnDomain, Counting, Deployable):
    """How many users hold each value of a list.

    Formula: (C - E[Z]) / b is unbiased; its variance is (f b (1 - b) + Var Z) / b^2 if f users hold the value.
    Legend: C = records of a value, Z = dummies of a value, b = the share of reports that is kept.
    The number of all dummies is known, and not used: given it, dummies of different values are no longer independent.
    Reference: MSE25; docs/maths/shuffler-noise.md for what is added here and its privacy.
    """

    randomizer: ShufflerNoise
    domain: Listed
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
    def noise(self) -> GeometricNoise:
        """What the shuffler adds."""
        return self.randomizer.noise

    @property
    def shuffler_noise(self) -> GeometricNoise:
        return self.noise

    def sentence(self) -> str:
        """What one user does, and the shuffler."""
        return f"each user {self.randomizer.sentence()}"

    # What a user sends, and the shuffler

    @property
    def bits(self) -> int:
        return (self.alphabet - 1).bit_length()

    def randomize(self, values: NDArray[Any], randomness: RandomSource, *, first_row: int) -> NDArray[Any]:
        """The symbol of each user."""
        return self.randomizer.randomize(values, randomness, first_row=first_row)

    def attacker_view(self) -> AttackerView:
        """The randomizer's: a value is its symbol."""
        return self.randomizer.attacker_view()

    def of_user(self, messages: NDArray[Any]) -> list[int]:
        return [int(messages[0])]

    def shuffled(self, counts: Counts, randomness: RandomSource) -> Counts:
        """With dummies of every value, whether anybody holds it or not; the number of users stays."""
        often = self.noise.noised(counts.values[:-1], randomness)
        return self._counts(often, self.reports(counts.values))

    @property
    def states_reports(self) -> bool:
        """Nobody can count the reports among dummies."""
        return True

    def fewest_records(self, reports: int, honest: int) -> int:  # noqa: ARG002
        """The reports, unless some are dropped, and the fewest dummies."""
        return self.noise.fewest(self.alphabet, _UNLIKELY) + (reports if self.noise.share_kept == 1 else 0)

    def most_records(self, reports: int) -> int:
        """The reports and the most dummies, but for a chance of 1e-12."""
        return reports + self.noise.most(self.alphabet, _UNLIKELY)

    # What they add up to

    @property
    def counters(self) -> int:
        """One for each value, and one for the users."""
        return self.alphabet + 1

    def count(self, messages: NDArray[Any]) -> Counts:
        """How many users hold each value, and how many users there are."""
        return self._counts(Counts.of(messages, self.alphabet).values, len(messages))

    def add(self, counts: NDArray[np.int64], messages: NDArray[Any]) -> None:
        """In place where messages are fewer than counters."""
        if len(messages) < self.alphabet:
            np.add.at(counts, checks.symbols(messages, self.alphabet).astype(np.intp), 1)
            counts[-1] += len(messages)
        else:
            counts += self.count(messages).values

    def tallied(self, often: NDArray[np.int64], users: int) -> Counts:
        """Any number of records: how many of them are dummies is up to chance."""
        counts = Counts(often)
        if counts.size != self.alphabet or users < 0:
            raise InvalidInput("these are not the records of this protocol. They belong to another one.")
        return self._counts(often, users)

    def reports(self, counts: NDArray[np.int64]) -> int:
        return int(counts[-1])

    def debias(self, counts: NDArray[np.int64], n: int) -> Reals:  # noqa: ARG002
        return np.asarray((counts[..., :-1] - self.noise.mean) / self.noise.share_kept)

    @property
    def reading(self) -> "NoisedReading":
        return NoisedReading(self)

    # How far off that is

    def variance(self, users: Reals, n: int) -> Reals:  # noqa: ARG002
        """The exact variance of each value's estimate when that many users hold it."""
        b = self.noise.share_kept
        return np.asarray((users * b * (1 - b) + self.noise.variance) / b**2)

    def max_shift(self, n: int) -> float:  # noqa: ARG002
        """One record more or less."""
        return 1 / self.noise.share_kept

    def simulate(self, population: Population, generator: np.random.Generator, runs: int) -> Reals:
        held = np.tile(self.held(population), (runs, 1))
        kept = generator.binomial(held, self.noise.share_kept) if self.noise.share_kept < 1 else held
        drawn = kept + self.noise.simulated(generator, held.shape)
        return self.debias(np.concatenate([drawn, np.full((runs, 1), population.n)], axis=1), population.n)

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

    def _counts(self, often: NDArray[np.int64], users: int) -> Counts:
        return Counts(np.append(often, np.int64(users)))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class NoisedEstimate(Estimate):
    """Sums of counts, whose limits are those of the noise: its tails are longer than a normal law's.

    Attributes:
        noise: in one count.
        bins: how many counts each entry is the sum of; 0 where there is no noise.
        scale: what the sum is divided by.
    """

    noise: GeometricNoise
    bins: NDArray[np.int64]
    scale: float = 1.0

    def limits(self, z: float) -> tuple[Reals, Reals]:
        """As often as z standard errors of a normal law, or oftener."""
        miss, b = max(_LEAST_MISS, math.erfc(z / math.sqrt(2))), self.noise.share_kept
        if b == 1:
            far = self._reach(miss)
        else:  # half of the misses for the dummies, half for what is dropped
            dropped = np.where(self.bins > 0, np.clip(self.value * self.scale, 1.0, max(1, self.n)) * (1 - b) / b, 0.0)
            far = self._reach(miss / 2) / b - _NORMAL.inv_cdf(max(_LEAST_MISS, miss / 4)) * np.sqrt(dropped)
        return self.value - far / self.scale, self.value + far / self.scale

    def _reach(self, miss: float) -> Reals:
        bins = np.broadcast_to(self.bins, self.value.shape)
        found = {int(terms): self.noise.reach_of_sum(miss, int(terms)) if terms else 0.0 for terms in np.unique(bins)}
        return np.array([found[terms] for terms in bins.ravel().tolist()], dtype=np.float64).reshape(bins.shape)


@dataclass(frozen=True, slots=True)
class NoisedStatistics(BinStatistics):
    """Statistics of counts whose noise is independent: variances add up."""

    protocol: NoisedCounts
    counts: Estimate

    @property
    def law(self) -> None:
        """A record belongs to its value for certain."""
        return

    def frequencies(self) -> Estimate:
        return _noised(self.protocol, BinStatistics.frequencies(self), np.array(1), float(max(1, self.counts.n)))

    def of_bins(self, value: Reals, bins: NDArray[np.integer] | int) -> Estimate:
        terms = np.where(np.asarray(bins) == self.size, 0, bins)
        return _noised(self.protocol, BinStatistics.of_bins(self, value, bins), terms)

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
        variance = (users * b * (1 - b) + bins * self.protocol.noise.variance) / b**2
        return np.sqrt(np.where(np.asarray(bins) == self.size, 0.0, variance))

    def part_and_whole(self, part: Reals, part_bins: int, whole: Reals, whole_bins: int) -> tuple[Reals, Reals, Reals]:
        """The covariance is the variance of the part: what is beside it is independent."""
        b, noise, n = self.protocol.noise.share_kept, self.protocol.noise.variance, self.counts.n
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
        return _noised(self.protocol, estimate, np.array(1))

    def statistics(self, estimate: Estimate, counts: Counts | None = None) -> NoisedStatistics:  # noqa: ARG002
        return NoisedStatistics(self.protocol, estimate)

    def beside(self, estimate: Estimate) -> dict[str, Estimate]:
        table = self.protocol.domain
        return margins(table, self.statistics(estimate)) if isinstance(table, CrossTable) else {}

    def notes(self) -> tuple[str, ...]:
        return (
            "A shuffler that sees this answer knows the exact counts, because it knows how many dummies it added; not whose "
            "they are. Shuffler and analyzer together know what everybody reported.",
        )


def _noised(protocol: NoisedCounts, estimate: Estimate, bins: NDArray[Any], scale: float = 1.0) -> NoisedEstimate:
    return NoisedEstimate(
        value=estimate.value, standard_error=estimate.standard_error, n=estimate.n, guarantee=estimate.guarantee,
        names=estimate.names, threshold=estimate.threshold, noise=protocol.noise, bins=bins, scale=scale,
    )  # fmt: skip
