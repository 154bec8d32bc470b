"""Sums, means and queries: what is asked about them, and randomized response on the grid with the least error."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self, cast

from shuffledp.accounting.error_floor import summation_error_floor
from shuffledp.accounting.histogram_theorem import PAPER_BOUND
from shuffledp.core import checks
from shuffledp.domains.reals import RealRange
from shuffledp.errors import InvalidInput
from shuffledp.planning.families.randomized_response import BlanketFamily
from shuffledp.planning.family import too_small
from shuffledp.planning.options import HIGH, LOW, MESSAGES_PER_USER, PRECISION, Option, messages_of
from shuffledp.planning.question import ErrorFloor, Given, Question
from shuffledp.protocols.deployable import Deployable
from shuffledp.protocols.summation import Summation
from shuffledp.protocols.summing import Total
from shuffledp.protocols.with_dummies import WithDummies
from shuffledp.randomizers.response import RandomizedResponse
from shuffledp.references import cite

ONE_MORE: Final = 1.25
"""Messages of a user, on average: another digit, and a few dummies."""


class TotalQuestion(Question):
    """A sum, a mean or a query, of all users or of groups of them."""

    __slots__ = ()
    precision: int | None
    messages_per_user: float | None

    def with_one_more(self, protocol: Deployable) -> Self:
        return self.at(messages_per_user=true_messages(protocol) + ONE_MORE)

    @property
    def total(self) -> Total:
        """What the values are added up to: the question's name."""
        return cast("Total", self.name)

    @classmethod
    def averages(cls, name: str) -> bool:
        """A mean and a query do."""
        return name != "sum"


@dataclass(frozen=True, slots=True, kw_only=True)
class SumQuestion(TotalQuestion):
    """The sum of a number, its mean, or the share of the users of whom something is true.

    Attributes:
        domain: the range of the number.
        precision: steps of the grid; None for the best.
        messages_per_user: how many messages a user may send on average; None if nothing was said, which means one.
    """

    domain: RealRange
    precision: int | None = None
    messages_per_user: float | None = None
    called: ClassVar[tuple[str, ...]] = ("sum", "mean", "query")
    options: ClassVar[tuple[Option, ...]] = (LOW, HIGH, PRECISION, MESSAGES_PER_USER)

    @classmethod
    def read(cls, given: Given, **terms: Any) -> Self:
        """A query has its range already."""
        return cls(
            domain=range_of(terms["name"], given),
            precision=precision_of(given),
            messages_per_user=messages_of(given),
            **terms,
        )

    def error_floor(self) -> ErrorFloor | None:
        """Theorem 4.2, for delta below 1/2."""
        if not self.delta < 0.5:
            return None
        floor = summation_error_floor(n=self.n, epsilon=self.epsilon, delta=self.delta)
        scale = self.n if self.averages(self.name) else 1
        return ErrorFloor(rmse=math.sqrt(floor) * self.domain.span / scale, reference=cite("BBGN19", "Theorem 4.2"))


class SummationFamily(BlanketFamily[SumQuestion]):
    """Sums, means and queries on the grid with the least error."""

    question_type = SumQuestion

    def build(self, question: SumQuestion, randomizer: RandomizedResponse) -> Summation:
        """On the range that was asked for."""
        domain = question.domain
        return Summation(randomizer=randomizer, low=domain.low, high=domain.high, total=question.total)

    def steps(self, question: SumQuestion) -> int | range:
        """The steps of the grid: as asked, as Theorem 4.1 says, or the best."""
        n, epsilon = question.n, question.epsilon
        if question.precision is not None:
            return question.precision
        if question.bound == PAPER_BOUND:
            per_symbol = max(14 * math.log(2 / question.delta) / epsilon**2, 27 / epsilon)
            return max(1, round(math.pow(n / per_symbol, 1 / 3)))
        return range(2, round(8 * n ** (1 / 3) + 8) + 1)

    def steps_for_error(self, question: SumQuestion, cost: float) -> int | range:
        """Below the coarsest grid the rounding alone errs too much."""
        if question.precision is not None:
            return question.precision
        n = question.n
        share = cost * n**2 if question.averages(question.name) else cost
        coarsest = math.floor(question.domain.span * math.sqrt(n / share) / 2) + 1
        if coarsest > 1e6:
            raise too_small()
        return range(coarsest + 1, 30 * coarsest + 31)


def true_messages(protocol: Deployable) -> int:
    """How many messages of a user are no dummies."""
    return protocol.randomizer.true_messages if isinstance(protocol, WithDummies) else 1


def range_of(name: str, given: Given) -> RealRange:
    """The numbers that users may hold, from 0 to 1 if nothing was said."""
    low, high = given.get("low"), given.get("high")
    if name == "query" and (low is not None or high is not None):
        raise InvalidInput("a query is answered in [0, 1]. Leave `low` and `high` out, or plan a mean.")
    return RealRange(0.0 if low is None else low, 1.0 if high is None else high)


def precision_of(given: Given) -> int | None:
    """Steps of the grid, as asked."""
    if given.get("precision") is None:
        return None
    steps = checks.whole(given["precision"], "precision", "Use e.g. 10.")
    if steps < 1:
        raise InvalidInput(f"`precision` must be at least 1; got {steps}. Leave it out for the best one.")
    checks.size(steps + 1, name="precision + 1")
    return int(steps)
