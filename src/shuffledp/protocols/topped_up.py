"""Counts of too few people: their reports are randomized as planned, and the shuffler adds dummies of every answer to them."""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.core.attacker_view import AttackerView
from shuffledp.core.digits import rounded_up
from shuffledp.core.document import Document, fields
from shuffledp.core.estimate import Estimate
from shuffledp.core.population import Population
from shuffledp.core.randomness import RandomSource
from shuffledp.domains.cross_table import CrossTable
from shuffledp.domains.labels import Labels
from shuffledp.domains.listed import Listed
from shuffledp.errors import InvalidInput
from shuffledp.protocols.counting import Counting
from shuffledp.protocols.estimator import Reals
from shuffledp.protocols.histogram import Histogram
from shuffledp.protocols.margins import margins
from shuffledp.protocols.noised_bins import NoisedBins
from shuffledp.protocols.noised_estimate import NoisedEstimate, noised_estimate
from shuffledp.protocols.noised_messages import NoisedMessages
from shuffledp.protocols.one_message import Symbols
from shuffledp.protocols.reading import Reading
from shuffledp.protocols.statistics import Statistics
from shuffledp.randomizers.geometric_noise import GeometricNoise, TwoSidedGeometric, noise_of
from shuffledp.randomizers.response import RandomizedResponse
from shuffledp.randomizers.shuffler_noise import ShufflerNoise
from shuffledp.references import cite


@dataclass(frozen=True, slots=True, kw_only=True)
class ToppedUp(Counting, NoisedMessages):
    """A histogram by randomized response, of a batch that stayed too small, with noise from the shuffler.

    The guarantee is that of the noise alone. What a user sends is drawn from the value and from chances of that user: for every
    outcome of these, changing the value moves one report, which the noise hides. So `randomizer` is what the guarantee relies
    on: any message, and the noise. That users also randomize only helps, and is not counted.

    Formula: (C - E[Z] - n g / K) / (1 - g) is unbiased; its variance is that of the histogram plus Var Z / (1 - g)^2.
    Legend: C = records of a value, Z = dummies of a value, K = values, g = gamma of the histogram.
    Reference: MSE25; docs/maths/shuffler-noise.md.

    Attributes:
        histogram: that was planned.
        noise: what the shuffler adds.
    """

    histogram: Histogram
    noise: GeometricNoise
    randomizer: ShufflerNoise = field(init=False, repr=False, compare=False)
    kind = "topped-up-histogram"
    reference: ClassVar[str] = cite("MSE25")

    def __post_init__(self) -> None:
        if self.noise.share_kept < 1:
            raise InvalidInput("a batch that is topped up keeps all reports. Make the task with shuffledp task new.")
        object.__setattr__(self, "randomizer", ShufflerNoise(size=self.histogram.size, noise=self.noise))

    @property
    def domain(self) -> Listed:
        """The values that are counted."""
        return self.histogram.domain

    @property
    def size(self) -> int:
        """Number of values."""
        return self.histogram.size

    @property
    def noise_variance(self) -> float:
        """What the noise adds to the variance of an estimate."""
        return self.noise.variance / (1 - self.histogram.gamma) ** 2

    def sentence(self) -> str:
        """What one user does, and the shuffler."""
        return f"{self.histogram.sentence()}; {self.noise.sentence()}, because too few users reported"

    # What a user sends

    @property
    def local_randomizer(self) -> RandomizedResponse:
        """The histogram's: it is what is left against a shuffler that knows its dummies."""
        return self.histogram.randomizer

    def encode(self, values: NDArray[Any], randomness: RandomSource, *, first_row: int) -> Symbols:  # noqa: ARG002
        return checks.symbols(values, self.size)

    def randomize(self, values: NDArray[Any], randomness: RandomSource, *, first_row: int) -> NDArray[Any]:
        """As planned: users do not know that they will be few."""
        return self.histogram.randomize(values, randomness, first_row=first_row)

    def attacker_view(self) -> AttackerView:
        return self.histogram.attacker_view()

    # Estimates

    def debias(self, counts: NDArray[np.int64], n: int) -> Reals:
        reports: Any = counts[..., :-1] - self.noise.mean
        return self.histogram.debias(reports, n)

    @property
    def reading(self) -> "ToppedUpReading":
        return ToppedUpReading(self)

    def noised(self, estimate: Estimate, bins: Any = 1, *, scale: float = 1.0) -> NoisedEstimate:
        """An estimate of sums of so many counts with the limits of the noise, and of the chances of users beside it.

        In units of messages: a user is 1 - gamma of them.
        """
        unit = 1 - self.histogram.gamma
        squared = np.square(estimate.standard_error * scale) - bins * self.noise_variance
        users = np.maximum(squared, 0.0) * unit**2
        return noised_estimate(estimate, self.noise, bins, users=users, scale=unit * scale)

    # How far off they are

    def variance(self, users: Reals, n: int) -> Reals:
        return np.asarray(self.histogram.variance(users, n) + self.noise_variance)

    def max_shift(self, n: int) -> float:
        """A message more or less."""
        return self.histogram.max_shift(n)

    def simulate(self, population: Population, generator: np.random.Generator, runs: int) -> Reals:
        """The histogram's counts, and the noise."""
        users = np.tile(self.held(population), (runs, 1))
        counts = self.histogram.simulated_counts(users, generator) + self.noise.simulated(generator, users.shape)
        return self.debias(np.concatenate([counts, np.full((runs, 1), population.n)], axis=1), population.n)

    # As data

    def document(self) -> Document:
        return {"kind": self.kind, "histogram": self.histogram.document(), "noise": self.noise.document()}

    @classmethod
    def from_document(cls, document: object) -> Self:
        return cls(**fields(document, cls.kind, histogram=Histogram.from_document, noise=noise_of))

    @classmethod
    def examples(cls) -> list[Self]:
        """A list and a table."""
        usual = TwoSidedGeometric.least(1.0, 1e-6)
        table = CrossTable((("sex", Labels(("f", "m"))),), Labels(("no", "perhaps", "yes")))
        return [
            cls(
                histogram=Histogram(RandomizedResponse(size=3, gamma=0.2), Labels(("red", "green", "blue"))),
                noise=usual,
            ),
            cls(histogram=Histogram(RandomizedResponse(size=6, gamma=0.1), table), noise=usual),
        ]


@dataclass(frozen=True, slots=True)
class ToppedUpStatistics(NoisedBins):
    """Statistics of such counts: the noise of the shuffler is independent of everything, and its variance is added."""

    protocol: ToppedUp

    @property
    def _planned(self) -> Statistics:
        return Statistics(self.protocol.histogram, self.counts)

    def union_error(self, value: Reals, bins: NDArray[np.integer] | int) -> Reals:
        """No error where all are counted: their number is public."""
        noise = np.where(np.asarray(bins) == self.size, 0, bins) * self.protocol.noise_variance
        return np.sqrt(np.square(self._planned.union_error(value, bins)) + noise)

    def part_and_whole(self, part: Reals, part_bins: int, whole: Reals, whole_bins: int) -> tuple[Reals, Reals, Reals]:
        small, both, large = self._planned.part_and_whole(part, part_bins, whole, whole_bins)
        noise = self.protocol.noise_variance
        return small + part_bins * noise, both + part_bins * noise, large + whole_bins * noise


class ToppedUpReading(Reading[ToppedUp]):
    """Counts, frequencies, ranges, quantiles; of a table its margins, and the shares within groups."""

    __slots__ = ()

    def of(self, estimate: Estimate) -> Estimate:
        """With the limits of the noise."""
        return self.protocol.noised(estimate)

    def statistics(self, estimate: Estimate, counts: Any = None) -> ToppedUpStatistics:  # noqa: ARG002
        return ToppedUpStatistics(self.protocol, estimate)

    def beside(self, estimate: Estimate) -> dict[str, Estimate]:
        table = self.protocol.domain
        return margins(table, self.statistics(estimate)) if isinstance(table, CrossTable) else {}

    def notes(self) -> tuple[str, ...]:
        local = self.protocol.histogram.epsilon0
        left = (
            "nothing"
            if local is None or not math.isfinite(local)
            else f"epsilon0 = {rounded_up(local)} for each report"
        )
        return (
            "Too few people reported for them to hide each other, so the shuffler topped the batch up: it added dummies of "
            "every answer, and the guarantee is that of these dummies. Against a shuffler that sees this answer, or that "
            f"colludes with the analyzer, there remains {left}.",
        )
