"""What baselines on a design have in common: counts of the messages that belong to each value."""

from abc import abstractmethod
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.account import calibrate
from shuffledp.arithmetic.balls import evaluate
from shuffledp.baselines.document_fields import Fields
from shuffledp.core import checks
from shuffledp.core.population import Population
from shuffledp.core.randomness import WORD
from shuffledp.domains.whole_numbers import WholeNumbers
from shuffledp.errors import InvalidInput
from shuffledp.planning.families.histogram import HistogramQuestion
from shuffledp.planning.family import Family, Trust
from shuffledp.protocols.counting import Counting
from shuffledp.protocols.membership import Membership
from shuffledp.randomizers.design_response import DesignBlanket, DesignResponse, design_blanket, design_threshold
from shuffledp.randomizers.generic import Generic
from shuffledp.randomizers.structure import Design

Reals = NDArray[np.float64]


class DesignCounts(Counting, Fields):
    """Each value has its share of the messages; a user sends one of its value's, or with probability g any.

    Formula: as in `Membership`, with p1 = 1 - g + g s and p0 = (1 - g) o / s + g s.
    Legend: s = share, o = overlap of the design, g = threshold / 2^64.
    """

    __slots__ = ()
    size: int
    threshold: int

    @property
    @abstractmethod
    def design(self) -> Design:
        """How many messages belong to one value, and to two."""

    def check(self) -> None:
        """Refuse what is no size or no probability below 1."""
        checks.size(self.size)
        if not 0 < self.threshold < WORD:
            raise InvalidInput("a value is ignored with a probability above 0 and below 1. Use another threshold.")

    @property
    def gamma(self) -> float:
        """The probability of ignoring the value."""
        return self.threshold / WORD

    @property
    def domain(self) -> WholeNumbers:
        """The values that are counted."""
        return WholeNumbers(self.size)

    def blanket(self) -> DesignBlanket:
        """The privacy blanket."""
        return design_blanket(self.design, gamma=Fraction(self.threshold, WORD))

    @property
    def epsilon0(self) -> float:
        """The local privacy parameter, rounded up."""
        return evaluate(self.blanket().epsilon0).upper

    @property
    def counters(self) -> int:
        """The messages that belong to each value, and all."""
        return self.size + 1

    def reports(self, counts: NDArray[np.int64]) -> int:
        return int(counts[-1])

    @property
    def law(self) -> Membership:
        """Of messages to values."""
        g, share, overlap = self.gamma, self.design.share, self.design.overlap
        return Membership(1 - g + g * float(share), (1 - g) * float(overlap / share) + g * float(share))

    def debias(self, counts: NDArray[np.int64], n: int) -> Reals:
        """Unbiased counts of users."""
        return self.law.unbiased(counts[..., :-1], n)

    def variance(self, users: Reals, n: int) -> Reals:
        return self.law.variance(users, n)

    def max_shift(self, n: int) -> float:  # noqa: ARG002
        """A message belongs to a value or not."""
        return 1 / self.law.gap

    def simulate(self, population: Population, generator: np.random.Generator, runs: int) -> Reals:
        """Each count is exact in law (their dependence through shared messages is not kept)."""
        held, n = np.tile(self.held(population), (runs, 1)), population.n
        return self.law.unbiased(self.law.drawn(held, n, generator), n)


class PublishedDesign(Family[HistogramQuestion]):
    """Histograms by a design with its paper's parameters, private by itself or accounted for by its blanket when shuffled."""

    name: str
    trust: Trust
    question_type = HistogramQuestion

    def __init__(self, *, shuffled: bool) -> None:
        self._shuffled = shuffled
        self.trust, self.accounted_by = ("the shuffler", "its blanket") if shuffled else ("nobody", "epsilon0")
        if shuffled:
            self.name = f"{self.name}, shuffled"

    @abstractmethod
    def published(self, question: HistogramQuestion, size: int, epsilon0: float) -> Any:
        """With the paper's parameters at a local epsilon0; how often the value is ignored is still to be said."""

    def propose(self, question: HistogramQuestion) -> DesignCounts:
        """Local: epsilon is epsilon0. Shuffled: the design for the epsilon0 that is safe for any, then its own gamma."""
        asked: dict[str, Any] = {"n": question.n, "epsilon": question.epsilon, "delta": question.delta}
        epsilon0 = calibrate(Generic.family(), **asked) if self._shuffled else question.epsilon
        found: DesignCounts = self.published(question, question.domain.size, epsilon0)
        if self._shuffled:
            least = calibrate(DesignResponse.family(found.design), **asked)
            threshold = design_threshold(found.design, gamma=least)
        else:
            threshold = design_threshold(found.design, epsilon0=epsilon0)
        return replace(found, threshold=threshold)  # type: ignore[type-var]
