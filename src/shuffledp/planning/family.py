"""The interface of a family of protocols: from a question to the one with the best parameters.

The planner takes the most accurate of what the planned families propose and proves its guarantee; `compare` lists what all
of them propose. So a family cannot claim too much: what it proposes is only a proposal.
"""

import math
from abc import ABC, abstractmethod
from typing import Any, Generic, Literal, TypeVar

from shuffledp.arithmetic.inversion import Search, search
from shuffledp.core import checks
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.planning.question import Question
from shuffledp.protocols.deployable import Deployable
from shuffledp.protocols.protocol import ShuffleProtocol

Trust = Literal["the curator", "the shuffler", "the shuffler's noise", "nobody"]
Asked = TypeVar("Asked", bound=Question)
"""The kind of question that a family answers."""


class Family(ABC, Generic[Asked]):
    """Protocols that differ in their parameters only."""

    name: str
    trust: Trust
    """Whom users must trust."""
    accounted_by: str
    """What proves the privacy of what is proposed."""
    question_type: type[Asked]
    """The kind of question that it answers."""

    def answers(self, question: Question) -> bool:
        """Whether it can answer this very one."""
        return isinstance(question, self.question_type)

    def compared(self, question: Asked) -> Asked:
        """The question as `compare` puts it to this family: with what it must be told, if nothing was said about that."""
        return question

    @abstractmethod
    def propose(self, question: Asked) -> ShuffleProtocol:
        """The most accurate protocol that is private enough; raises InvalidInput or NoClaim if there is none."""


class PlannedFamily(Family[Asked]):
    """A family that `plan` chooses from."""

    name = "shuffledp"
    trust: Trust = "the shuffler"
    accounted_by = "best"

    def answers(self, question: Question) -> bool:
        """Not if the shuffler is to add noise, which only some families know how to use."""
        return super().answers(question) and question.noise is None

    @abstractmethod
    def propose(self, question: Asked) -> Deployable:
        """The most accurate protocol that is private enough and can be deployed; otherwise raises InvalidInput or NoClaim."""

    def guess(self, question: Asked) -> float | None:  # noqa: ARG002
        """About the cost of what it would propose, without the work of proposing it; None if that is not known.

        The planner leaves out families that are hopeless by this. It decides about accuracy, never about privacy.
        """
        return None

    def propose_for_error(self, question: Asked, cost: float) -> Deployable:
        """The most private protocol whose cost is at most this; the question's epsilon is not looked at.

        Raises InvalidInput if there is none. This searches for epsilon; a family may know a better way.
        """

        def excess(epsilon: float) -> float:
            """How far the cost is above what is wanted, in logarithms."""
            try:
                reached = question.cost(self.propose(question.at(epsilon=epsilon)))
            except (InvalidInput, NoClaim):
                return math.inf
            return math.log(reached / cost)

        axis = Search(low=1e-9, high=checks.LARGEST_EPSILON, towards="larger")
        least = search(excess, axis, start=1.0, precision=1e-6)
        if least is None:
            raise too_small()
        return self.propose(question.at(epsilon=least))


AnyFamily = PlannedFamily[Any]


def too_small() -> InvalidInput:
    """The error for an answer that no protocol gives."""
    return InvalidInput("no epsilon gives an error that small. Allow a larger one.")


def says_nothing() -> InvalidInput:
    """The error for so much blanket that nothing else is left."""
    return InvalidInput("only messages that say nothing would be private enough. Use more users or a larger epsilon.")
