"""Counts by a true message and a few dummies beside it: almost a curator's accuracy for a little more traffic."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.attacker_view import AttackerView
from shuffledp.core.counts import Counts
from shuffledp.core.estimate import Estimate
from shuffledp.core.population import Population
from shuffledp.core.randomness import RandomSource
from shuffledp.domains.labels import Labels
from shuffledp.domains.listed import Listed
from shuffledp.domains.whole_numbers import WholeNumbers
from shuffledp.errors import InvalidInput
from shuffledp.protocols.counting import Counting, by_share
from shuffledp.protocols.decoded_totals import DecodedTotals
from shuffledp.protocols.on_domain import OnDomain
from shuffledp.protocols.reading import Reading
from shuffledp.protocols.statistics import AmongDummies, Ranked, Ranking
from shuffledp.protocols.with_dummies import WithDummies
from shuffledp.randomizers.dummies import Dummies
from shuffledp.randomizers.identity import Identity
from shuffledp.randomizers.structures import AffineSpace
from shuffledp.references import cite

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class DummyCounts(OnDomain, DecodedTotals, Counting, WithDummies):
    """How many users hold each value of a list.

    Formula: with T_v the messages that belong to v and D the number of messages less that of users, (T_v - n p0 - D s) / (1 - p0)
    is unbiased; its variance is ((n - f) p0 (1 - p0) + n d s (1 - s)) / (1 - p0)^2 if f of the n users hold v.
    Legend: s = share, o = overlap of the structure, p0 = o / s, d = dummies per user on average.
    Subtracting the dummies that were sent, not those expected, takes n d s^2 off the variance (docs/maths/dummies.md).
    Reference: LWY22 (hashing with dummies), GGKPV21; docs/maths/dummies.md for what is sent here and its privacy.
    """

    randomizer: Dummies
    domain: Listed
    kind = "counts-with-dummies"
    randomizer_type = Dummies
    reference: ClassVar[str] = cite("LWY22")

    def __post_init__(self) -> None:
        if self.domain.size > self.randomizer.symbols:
            raise InvalidInput(
                f"{self.domain.size:,} values do not fit {self.randomizer.symbols:,} points. Use a larger structure."
            )

    def encode(self, values: NDArray[Any], randomness: RandomSource, *, first_row: int) -> NDArray[np.integer]:  # noqa: ARG002
        """A value is its symbol."""
        return values

    def attacker_view(self) -> AttackerView:
        """The randomizer's: a value is its symbol."""
        return self.randomizer.attacker_view()

    # What they add up to

    def decoded(self, counts: NDArray[np.int64], n: int) -> Reals:
        """All values at once."""
        often = counts[:-1]
        totals = self.randomizer.structure.totals(often)[: self.domain.size]
        return self.unbiased(totals, n, np.asarray(often.sum() - n))

    @property
    def reading(self) -> "DummiesReading":
        return DummiesReading(self)

    # How far off that is

    def worst_variance(self, share: float, n: int) -> float:
        return float(self.variance(np.array([0.0, share * n]), n).max())

    def errors_by_share(self, n: int) -> dict[float, float]:
        return by_share(self.variance, n)

    def variance(self, users: Reals, n: int) -> Reals:
        """The exact variance of each value's estimate when that many of the n users hold it."""
        p0, s = self.chances()
        noise = n * self.randomizer.dummies * s * (1 - s)
        return np.asarray(((n - users) * p0 * (1 - p0) + noise) / (1 - p0) ** 2)

    def mean_squared_error(self, n: int) -> float:
        """Summed over all values: the same for every dataset of n users."""
        p0, s = self.chances()
        size = self.domain.size
        noise = n * self.randomizer.dummies * s * (1 - s)
        return ((size - 1) * n * p0 * (1 - p0) + size * noise) / (1 - p0) ** 2

    def expected_error(self, population: Population) -> float:
        return self.mean_squared_error(population.n)

    def max_shift(self, n: int) -> float:  # noqa: ARG002
        """A liar may send the most messages, all of which belong to a value."""
        return self.most_messages / (1 - self.chances()[0])

    def simulate(self, population: Population, generator: np.random.Generator, runs: int) -> Reals:
        """Exact in law for values with messages of their own; else each count is (not their dependence through shared ones)."""
        p0, s = self.chances()
        held, n = np.tile(self.held(population), (runs, 1)), population.n
        dummies = generator.poisson(n * self.randomizer.dummies, (runs, 1))
        if p0 == 0:
            messages = self.randomizer.messages
            found = generator.multinomial(dummies[:, 0], np.full(messages, 1 / messages))[:, : self.domain.size]
        else:
            found = generator.binomial(dummies, s, held.shape)
        return self.unbiased(held + generator.binomial(n - held, p0) + found, n, dummies)

    # As data

    @classmethod
    def examples(cls) -> list[Self]:
        """Values with messages of their own, a plane that is not filled, and a space."""
        return [
            cls(randomizer=Dummies(structure=Identity(size=3), dummies=0.5), domain=Labels(("red", "green", "blue"))),
            cls(randomizer=Dummies(structure=AffineSpace(prime=5), dummies=1.5), domain=WholeNumbers(17)),
            cls(randomizer=Dummies(structure=AffineSpace(prime=2, dimension=3), dummies=0.2), domain=WholeNumbers(7)),
        ]

    def unbiased(self, totals: NDArray[np.int64], n: int, dummies: NDArray[np.int64]) -> Reals:
        """How many of n users hold each value, by the messages that belong to it and the number of dummies."""
        p0, s = self.chances()
        return np.asarray((totals - n * p0 - dummies * s) / (1 - p0))

    def chances(self) -> tuple[float, float]:
        """That a message of another value, and that a dummy, belongs to a value: p0 and s."""
        structure = self.randomizer.structure
        return structure.shared / structure.choices, float(structure.share)


class DummiesReading(Reading[DummyCounts]):
    """Counts, shares and the most frequent values."""

    __slots__ = ()

    def statistics(self, estimate: Estimate, counts: Counts | None = None) -> Ranking:
        """With counts, a threshold too.

        Of a value that nobody holds, each of the n true messages is one with probability p0 and each of the D dummies with s:
        at most as often as all n + D would be with the larger of both; if p0 is 0, the dummies alone.
        """
        if counts is None:
            return Ranked(estimate)
        p0, s = self.protocol.chances()
        n, dummies = estimate.n, int(counts.values[:-1].sum()) - estimate.n
        return AmongDummies(
            estimate, messages=dummies + (n if p0 else 0), chance=max(p0, s),
            unbiased=lambda total: float(self.protocol.unbiased(np.array(total), n, np.array(dummies))),
        )  # fmt: skip
