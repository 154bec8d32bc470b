"""Frequencies of values from any large list by one shuffled message: design response on the affine plane or space."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.counts import Counts
from shuffledp.core.estimate import Estimate
from shuffledp.core.population import Population
from shuffledp.domains.listed import Listed
from shuffledp.domains.whole_numbers import WholeNumbers
from shuffledp.errors import InvalidInput
from shuffledp.protocols.counted_response import CountedResponse
from shuffledp.protocols.decoded_totals import DecodedTotals
from shuffledp.protocols.membership import Membership
from shuffledp.protocols.reading import Reading
from shuffledp.protocols.statistics import Ranked, Ranking
from shuffledp.randomizers.design_response import DesignResponse
from shuffledp.randomizers.structure import Geometry
from shuffledp.randomizers.structures import AffineSpace
from shuffledp.references import cite

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frequencies(DecodedTotals, CountedResponse):
    """How many users hold each of many values.

    Formula: with T_v the messages that belong to v, (T_v - n p0) / (p1 - p0) is unbiased, p1 = 1 - g + g s,
    p0 = (1 - g) o / s + g s; its variance is (f p1 (1 - p1) + (n - f) p0 (1 - p0)) / (p1 - p0)^2 if f users hold v.
    Legend: s = share, o = overlap of the structure, g = gamma of the law that is sampled.
    Reference: FNNT22 (projective geometry response); docs/maths/design.md.
    """

    randomizer: DesignResponse
    domain: Listed
    kind = "frequencies"
    randomizer_type = DesignResponse
    domain_in_words = "frequencies are of a list of values"
    reference: ClassVar[str] = cite("FNNT22")

    def __post_init__(self) -> None:
        if not isinstance(self.randomizer.structure, Geometry):
            raise InvalidInput("frequencies are sent as lines of a plane. Make the plan again with shuffledp plan.")
        if self.domain.size > self.randomizer.symbols:
            raise InvalidInput(
                f"{self.domain.size:,} values do not fit {self.randomizer.symbols:,} points. Use a larger prime."
            )
        self.check_gamma()

    def decoded(self, counts: NDArray[np.int64], n: int) -> Reals:
        """All values at once, by FFT."""
        return self.law.unbiased(self.randomizer.structure.totals(counts)[: self.domain.size], n)

    @property
    def law(self) -> Membership:
        """Of messages to values."""
        return Membership.of(self.randomizer)

    def variance(self, users: Reals, n: int) -> Reals:
        """The exact variance of each value's estimate when that many of the n users hold it."""
        return self.law.variance(users, n)

    def mean_squared_error(self, n: int) -> float:
        """Summed over all values: the same for every dataset of n users."""
        p1, p0 = self.law
        return n * (p1 * (1 - p1) + (self.domain.size - 1) * p0 * (1 - p0)) / (p1 - p0) ** 2

    def max_shift(self, n: int) -> float:  # noqa: ARG002
        """A message belongs to a value or not."""
        return 1 / self.law.gap

    def simulate(self, population: Population, generator: np.random.Generator, runs: int) -> Reals:
        """Each count is exact in law (their dependence through shared messages is not kept)."""
        held, n = np.tile(self.held(population), (runs, 1)), population.n
        return self.law.unbiased(self.law.drawn(held, n, generator), n)

    @property
    def reading(self) -> "FrequenciesReading":
        return FrequenciesReading(self)

    @classmethod
    def examples(cls) -> list[Self]:
        """A plane that is filled, a plane and a space that are not."""
        return [
            cls(randomizer=DesignResponse.private(AffineSpace(prime=3), gamma=0.2), domain=WholeNumbers(9)),
            cls(randomizer=DesignResponse.private(AffineSpace(prime=5), gamma=0.1), domain=WholeNumbers(17)),
            cls(
                randomizer=DesignResponse.private(AffineSpace(prime=2, dimension=3), gamma=0.3), domain=WholeNumbers(7)
            ),
        ]


class FrequenciesReading(Reading[Frequencies]):
    """Counts, shares and the most frequent values."""

    __slots__ = ()

    def statistics(self, estimate: Estimate, counts: Counts | None = None) -> Ranking:  # noqa: ARG002
        """By the law of messages to values."""
        return Ranked(estimate, self.protocol.law)
