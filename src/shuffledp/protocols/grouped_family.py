"""Means, sums and queries by group: the grid that serves groups of a named share best."""

from shuffledp.core import checks
from shuffledp.domains.grouped_reals import GroupedReals
from shuffledp.domains.reals import RealRange
from shuffledp.errors import InvalidInput
from shuffledp.protocols.blanket_family import BlanketFamily
from shuffledp.protocols.deployable import Deployable
from shuffledp.protocols.grouped import GroupedSummation
from shuffledp.protocols.grouping import groups
from shuffledp.protocols.histogram_question import checked_share
from shuffledp.protocols.options import BY, HIGH, LOW, PRECISION, SHARE
from shuffledp.protocols.question import Question
from shuffledp.protocols.summation import span
from shuffledp.randomizers.response import RandomizedResponse


class GroupedFamily(BlanketFamily):
    """The number of steps with the least worst error of a group that holds the named share of the users."""

    questions = ("mean", "sum", "query")
    options = (BY, LOW, HIGH, PRECISION, SHARE)

    def answers(self, question: Question) -> bool:
        """With groups."""
        return question.option("by") is not None

    def check(self, question: Question) -> None:
        """Groups that can be told apart, and a share that somebody has."""
        if question.name == "query" and (question.option("low") is not None or question.option("high") is not None):
            raise InvalidInput("a query is answered in [0, 1]. Leave low and high out, or plan a mean.")
        domain(question)
        share(question)
        if question.option("precision") is not None:
            steps = checks.whole(question.option("precision"), "precision", "Use e.g. 10.")
            checks.size(steps + 1, name="precision + 1")

    def averages(self, question: str) -> bool:
        """A mean and a query do."""
        return question != "sum"

    def cost(self, protocol: Deployable, question: Question) -> float:
        """The largest variance of the answer for a group of the named share."""
        if not isinstance(protocol, GroupedSummation):
            return protocol.mean_squared_error(question.n)
        return protocol.group_variance(share(question), question.n)

    def build(self, question: Question, randomizer: RandomizedResponse) -> GroupedSummation:
        """On the groups and the range that were asked for."""
        return GroupedSummation(randomizer=randomizer, domain=domain(question), total=question.name)  # type: ignore[arg-type]

    def messages(self, question: Question, steps: int) -> int:
        """A grid for every group."""
        return domain(question).groups * (steps + 1)

    def steps(self, question: Question) -> int | range:
        """As asked, or the best."""
        if question.option("precision") is not None:
            return int(question.option("precision"))
        return range(2, round(8 * (question.n * share(question)) ** (1 / 3) + 8) + 1)


def domain(question: Question) -> GroupedReals:
    """The groups and the range of values."""
    return GroupedReals(groups(question), RealRange(*span(question)))


def share(question: Question) -> float:
    """Of the users: the grid is the best for groups that hold so many; half of an even share, if nothing was said."""
    found = checked_share(question.option("share", 0.5 / domain(question).groups))
    if not found * question.n >= 1:
        raise InvalidInput(f"a share of {found:g} is less than one of {question.n:,} users. Use a larger one.")
    return found
