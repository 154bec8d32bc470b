"""The interface of a family of protocols: from a question to the one with the best parameters.

The planner takes the most accurate of what the planned families propose and proves its guarantee; `compare` lists what all
of them propose. So a family cannot claim too much: what it proposes is only a proposal.
"""

import math
from abc import ABC, abstractmethod
from typing import ClassVar, Literal, NamedTuple

from shuffledp.arithmetic.inversion import Search, search
from shuffledp.core import checks
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.protocols.deployable import Deployable
from shuffledp.protocols.options import BY, Option
from shuffledp.protocols.protocol import ShuffleProtocol
from shuffledp.protocols.question import Question

Trust = Literal["the curator", "the shuffler", "nobody"]


class ErrorFloor(NamedTuple):
    """A root mean squared error that no protocol of one message per user can be below, and who proved it."""

    rmse: float
    reference: str


class Family(ABC):
    """Protocols that differ in their parameters only."""

    name: str
    trust: Trust
    """Whom users must trust."""
    accounted_by: str
    """What proves the privacy of what is proposed."""
    questions: ClassVar[tuple[str, ...]]
    """Names of the questions that it answers."""
    options: ClassVar[tuple[Option, ...]]
    """What may be said about them."""

    def answers(self, question: Question) -> bool:
        """Whether it can answer this one: with groups only if it knows of them."""
        return question.option(BY.name) is None or BY in self.options

    def check(self, question: Question) -> None:  # noqa: B027 - most have nothing to refuse
        """Refuse options that make no sense, apart from the other numbers."""

    def compared(self, question: Question) -> Question:
        """The question as `compare` puts it to this family: with what it must be told, if nothing was said about that."""
        return question

    @abstractmethod
    def propose(self, question: Question) -> ShuffleProtocol:
        """The most accurate protocol that is private enough; raises InvalidInput or NoClaim if there is none."""


class PlannedFamily(Family):
    """A family that `plan` chooses from."""

    name = "shuffledp"
    trust: Trust = "the shuffler"
    accounted_by = "best"

    @abstractmethod
    def propose(self, question: Question) -> Deployable:
        """As above; one that can be deployed."""

    def cost(self, protocol: Deployable, question: Question) -> float:
        """What the planner makes small. The first family that answers a question says it for all."""
        return protocol.mean_squared_error(question.n)

    def objective(self, question: Question) -> str:  # noqa: ARG002
        """What the root of the cost is, in words."""
        return "expected error (root mean square)"

    def judged_share(self, question: Question) -> float | None:  # noqa: ARG002
        """If the error of one entry is what counts: up to which share of the users hold it. None: the whole answer's."""
        return None

    def guess(self, question: Question) -> float | None:  # noqa: ARG002
        """About the cost of what it would propose, without the work of proposing it; None if that is not known.

        The planner leaves out families that are hopeless by this. It decides about accuracy, never about privacy.
        """
        return None

    def averages(self, question: str) -> bool:  # noqa: ARG002
        """Whether the answer to a question is an average over users, not a total."""
        return False

    def error_floor(self, question: Question) -> ErrorFloor | None:  # noqa: ARG002
        """What cannot be done better, if that is known."""
        return None

    def propose_for_error(self, question: Question, cost: float) -> Deployable:
        """The most private protocol whose cost is at most this; the question's epsilon is not looked at.

        Raises InvalidInput if there is none. This searches for epsilon; a family may know a better way.
        """

        def excess(epsilon: float) -> float:
            """How far the cost is above what is wanted, in logarithms."""
            try:
                found = self.cost(self.propose(question.at(epsilon=epsilon)), question)
            except (InvalidInput, NoClaim):
                return math.inf
            return math.log(found / cost)

        axis = Search(low=1e-9, high=checks.LARGEST_EPSILON, towards="larger")
        least = search(excess, axis, start=1.0, precision=1e-6)
        if least is None:
            raise too_small()
        return self.propose(question.at(epsilon=least))


def too_small() -> InvalidInput:
    """The error for an answer that no protocol gives."""
    return InvalidInput("no epsilon gives an error that small. Allow a larger one.")
