"""Means, sums and queries by group: what is asked about them, and the grid that serves groups of a named share best."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from shuffledp.domains.grouped_reals import GroupedReals
from shuffledp.errors import InvalidInput
from shuffledp.planning.families.histogram import checked_share
from shuffledp.planning.families.randomized_response import BlanketFamily
from shuffledp.planning.families.summation import TotalQuestion, precision_of, range_of
from shuffledp.planning.options import (
    BY,
    HIGH,
    LOW,
    MESSAGES_PER_USER,
    PRECISION,
    SHARE,
    Option,
    groups,
    messages_of,
)
from shuffledp.planning.question import Given, Question
from shuffledp.protocols.by_group import BySum
from shuffledp.protocols.deployable import Deployable
from shuffledp.protocols.grouped import GroupedSummation
from shuffledp.randomizers.response import RandomizedResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedSumQuestion(TotalQuestion):
    """The mean of a number in each group, its sum, or the share of the users of whom something is true.

    Attributes:
        domain: the groups and the range of the number.
        share: of the users: the grid is the best for groups that hold so many.
        precision: steps of the grid; None for the best.
        messages_per_user: how many messages a user may send on average; None if nothing was said, which means one.
    """

    domain: GroupedReals
    share: float
    precision: int | None = None
    messages_per_user: float | None = None
    called: ClassVar[tuple[str, ...]] = ("mean", "sum", "query")
    options: ClassVar[tuple[Option, ...]] = (BY, LOW, HIGH, PRECISION, SHARE, MESSAGES_PER_USER)

    def __post_init__(self) -> None:
        Question.__post_init__(self)
        if not self.share * self.n >= 1:
            raise InvalidInput(f"a share of {self.share:g} is less than one of {self.n:,} users. Use a larger one.")

    @classmethod
    def fits(cls, given: Given) -> bool:
        return BY.name in given

    @classmethod
    def read(cls, given: Given, **terms: Any) -> Self:
        """Groups that can be told apart, and a share that somebody has: half of an even one, if nothing was said."""
        range_ = range_of(terms["name"], given)
        domain = GroupedReals(groups(given["by"]), range_)
        share = checked_share(0.5 / domain.groups if given.get("share") is None else given["share"])
        return cls(
            domain=domain, share=share, precision=precision_of(given), messages_per_user=messages_of(given), **terms
        )

    @property
    def objective(self) -> str:
        return f"standard error of the {self.name} of a group with {100 * self.share:g} % of the users"

    def cost(self, protocol: Deployable) -> float:
        """The largest variance of the answer for a group of the named share."""
        if not isinstance(protocol, BySum):
            return protocol.mean_squared_error(self.n)
        return protocol.group_variance(self.share, self.n)


class GroupedFamily(BlanketFamily[GroupedSumQuestion]):
    """The number of steps with the least worst error of a group that holds the named share of the users."""

    question_type = GroupedSumQuestion

    def build(self, question: GroupedSumQuestion, randomizer: RandomizedResponse) -> GroupedSummation:
        """On the groups and the range that were asked for."""
        return GroupedSummation(randomizer=randomizer, domain=question.domain, total=question.total)

    def messages(self, question: GroupedSumQuestion, steps: int) -> int:
        """A grid for every group."""
        return question.domain.groups * (steps + 1)

    def steps(self, question: GroupedSumQuestion) -> int | range:
        """As asked, or the best."""
        if question.precision is not None:
            return question.precision
        return range(2, round(8 * (question.n * question.share) ** (1 / 3) + 8) + 1)
