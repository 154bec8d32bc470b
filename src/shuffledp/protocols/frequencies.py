"""Frequencies of values from any large list by one shuffled message: design response on the affine plane or space."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.account import calibrate
from shuffledp.accounting.gaussian_guess import gaussian_gamma, gaussian_mu
from shuffledp.core.document import fields
from shuffledp.core.estimate import Estimate
from shuffledp.core.population import Population
from shuffledp.core.words import WORD
from shuffledp.domains.listed import Listed
from shuffledp.domains.registry import from_document as domain_of
from shuffledp.domains.whole_numbers import WholeNumbers
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.protocols.bins import listed
from shuffledp.protocols.counted_response import CountedResponse
from shuffledp.protocols.histogram_question import HistogramQuestion, wanted_share
from shuffledp.protocols.question import Question
from shuffledp.protocols.statistics import Ranked, Ranking
from shuffledp.randomizers.design import DesignResponse
from shuffledp.randomizers.structures import AffineSpace
from shuffledp.references import cite

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frequencies(CountedResponse):
    """How many users hold each of many values.

    Formula: with T_v the messages that belong to v, (T_v - n p0) / (p1 - p0) is unbiased, p1 = 1 - g + g s,
    p0 = (1 - g) o / s + g s; its variance is (f p1 (1 - p1) + (n - f) p0 (1 - p0)) / (p1 - p0)^2 if f users hold v.
    Legend: s = share, o = overlap of the structure, g = gamma of the law that is sampled.
    Reference: FNNT22 (projective geometry response); docs/maths/design.md.
    """

    randomizer: DesignResponse
    listed: Listed
    kind = "frequencies"
    reference: ClassVar[str] = cite("FNNT22")

    def __post_init__(self) -> None:
        if not isinstance(self.randomizer.structure, AffineSpace):
            raise InvalidInput("frequencies are sent as lines of a plane. Make the plan again with shuffledp plan.")
        if self.listed.size > self.randomizer.symbols:
            raise InvalidInput(
                f"{self.listed.size:,} values do not fit {self.randomizer.symbols:,} points. Use a larger prime."
            )
        self.check_gamma()

    @property
    def domain(self) -> Listed:
        """What each point stands for."""
        return self.listed

    def debias(self, counts: NDArray[np.int64], n: int) -> Reals:
        """All values at once, by FFT."""
        if counts.ndim > 1:
            return np.stack([self.debias(row, n) for row in counts])
        return self._unbiased(self.randomizer.structure.totals(counts)[: self.listed.size], n)

    def variance(self, users: Reals, n: int) -> Reals:
        """The exact variance of each value's estimate when that many of the n users hold it."""
        p1, p0 = self._chances()
        return np.asarray((users * p1 * (1 - p1) + (n - users) * p0 * (1 - p0)) / (p1 - p0) ** 2)

    def mean_squared_error(self, n: int) -> float:
        """Summed over all values: the same for every dataset of n users."""
        p1, p0 = self._chances()
        return n * (p1 * (1 - p1) + (self.listed.size - 1) * p0 * (1 - p0)) / (p1 - p0) ** 2

    def max_shift(self, n: int) -> float:  # noqa: ARG002
        """A message belongs to a value or not."""
        p1, p0 = self._chances()
        return 1 / (p1 - p0)

    def simulate(self, population: Population, generator: np.random.Generator, runs: int) -> Reals:
        """Each count is exact in law (their dependence through shared messages is not kept)."""
        p1, p0 = self._chances()
        held, n = np.tile(self.held(population), (runs, 1)), population.n
        return self._unbiased(generator.binomial(held, p1) + generator.binomial(n - held, p0), n)

    def statistics(self, estimate: Estimate) -> Ranking:
        """Shares and the most frequent values."""
        return Ranked(estimate)

    @classmethod
    def from_document(cls, document: object) -> Self:
        """Of a design response and a list of values."""
        found = fields(document, cls.kind, domain=domain_of, randomizer=DesignResponse.from_document)
        if not isinstance(found["domain"], Listed):
            raise InvalidInput("frequencies are of a list of values. Make the plan again with shuffledp plan.")
        return cls(randomizer=found["randomizer"], listed=found["domain"])

    @classmethod
    def examples(cls) -> list[Self]:
        """A plane that is filled, a plane and a space that are not."""
        return [
            cls(randomizer=DesignResponse.private(AffineSpace(prime=3), gamma=0.2), listed=WholeNumbers(9)),
            cls(randomizer=DesignResponse.private(AffineSpace(prime=5), gamma=0.1), listed=WholeNumbers(17)),
            cls(
                randomizer=DesignResponse.private(AffineSpace(prime=2, dimension=3), gamma=0.3), listed=WholeNumbers(7)
            ),
        ]

    def _unbiased(self, totals: NDArray[np.int64], n: int) -> Reals:
        p1, p0 = self._chances()
        return np.asarray((totals - n * p0) / (p1 - p0))

    def _chances(self) -> tuple[float, float]:
        g, structure = self.gamma, self.randomizer.structure
        share, among = float(structure.share), structure.shared / structure.choices
        return 1 - g + g * share, (1 - g) * among + g * share


class FrequenciesFamily(HistogramQuestion):
    """The plane, or the space, whose order errs least."""

    name = "shuffledp, plane"

    def propose(self, question: Question) -> Frequencies:
        """The best order by a Gaussian guess of its blanket; then the least blanket that the accountant grants."""
        if question.bound != "best":
            raise NoClaim(f"the bound {question.bound} is not for design response. Use the best one.")
        _, structure = self._best(question)
        if structure is None:
            raise InvalidInput(
                f"{listed(question).size:,} values are too many for a plane that fits in memory. Hash them to fewer."
            )
        gamma = calibrate(
            DesignResponse.family(structure), n=question.honest, epsilon=question.epsilon, delta=question.delta
        )
        if not gamma < 1:
            raise InvalidInput(
                "only messages that say nothing would be private enough. Use more users or a larger epsilon."
            )
        return Frequencies(randomizer=DesignResponse.private(structure, gamma=gamma), listed=listed(question))

    def guess(self, question: Question) -> float | None:
        """With the blanket that a Gaussian would need."""
        return None if question.bound != "best" else self._best(question)[0]

    def _best(self, question: Question) -> tuple[float, AffineSpace | None]:
        """The least cost that is guessed, and what has it."""
        mu = gaussian_mu(question.epsilon, question.delta)
        return _least(listed(question).size, wanted_share(question), question.n, question.honest, mu)


@lru_cache(maxsize=64)
def _least(size: int, share: float | None, n: int, honest: int, mu: float) -> tuple[float, AffineSpace | None]:
    """The least cost of so many values with the blanket of a mu-Gaussian guess; the planner asks more than once."""
    domain = WholeNumbers(size)

    def cost(structure: AffineSpace) -> float:
        gamma = gaussian_gamma(float(structure.share), float(structure.overlap), honest, mu)
        threshold = max(1, math.ceil(gamma * WORD))
        if threshold >= WORD:
            return math.inf
        randomizer = DesignResponse(structure=structure, threshold=threshold)
        protocol = Frequencies(randomizer=randomizer, listed=domain)
        return protocol.mean_squared_error(n) if share is None else protocol.worst_variance(share, n)

    guesses = ((cost(structure), structure) for structure in _orders(size))
    return min(guesses, key=lambda found: found[0], default=(math.inf, None))


_MOST_MESSAGES = 1 << 26
"""Half a gigabyte of counts: the planner does not ask for more."""


@lru_cache(maxsize=64)
def _orders(size: int) -> tuple[AffineSpace, ...]:
    """Planes and spaces that hold so many values, their orders about 5 % apart: near the best the error hardly changes."""
    found = []
    for dimension in (2, 3):
        order = float(math.ceil(round(size ** (1 / dimension), 9)))
        while True:
            structure = AffineSpace.from_order(math.ceil(order), dimension)
            if structure is None or structure.messages > _MOST_MESSAGES:
                break
            if structure.values >= size:
                found.append(structure)
            order = max(structure.prime + 1, order * 1.05)
    return tuple(found)
