"""What all families that answer a histogram have in common: its options, and what the best is the best of."""

from typing import Final

from shuffledp.core import checks
from shuffledp.errors import InvalidInput
from shuffledp.protocols.bins import listed
from shuffledp.protocols.counting import MANY, Counting
from shuffledp.protocols.deployable import Deployable
from shuffledp.protocols.family import PlannedFamily
from shuffledp.protocols.options import BY, HIGH, LABELS, LOW, MESSAGES_PER_USER, OBJECTIVE, SHARE, SIZE
from shuffledp.protocols.question import Question

USUAL_SHARE: Final = 0.01
MOST_MESSAGES: Final = 1001
"""Per user, on average: one and a thousand dummies."""


class HistogramQuestion(PlannedFamily):
    """Histograms."""

    questions = ("histogram",)
    options = (SIZE, LABELS, BY, LOW, HIGH, OBJECTIVE, SHARE, MESSAGES_PER_USER)

    def check(self, question: Question) -> None:
        """A histogram needs bins, and one objective."""
        listed(question)
        wanted_share(question)
        messages_allowed(question)

    def judged_share(self, question: Question) -> float | None:
        """As asked."""
        return wanted_share(question)

    def cost(self, protocol: Deployable, question: Question) -> float:
        """The total squared error, or the largest of a bin that up to a share of the users hold."""
        share = wanted_share(question)
        if share is None or not isinstance(protocol, Counting):
            return protocol.mean_squared_error(question.n)
        return protocol.worst_variance(share, question.n)

    def objective(self, question: Question) -> str:
        """Over all bins, or of one."""
        share = wanted_share(question)
        if share is None:
            return "expected error (root mean square, over all bins)"
        return f"standard error of a bin that at most {100 * share:g} % of the users hold"


def wanted_share(question: Question) -> float | None:
    """The share of users up to which a bin's error counts; None if the total over all bins does."""
    objective, share = question.option("objective"), question.option("share")
    if objective not in (None, *OBJECTIVE.words):
        raise InvalidInput(
            f"the objective is {' or '.join(OBJECTIVE.words)}; got {objective!r}. Leave it out for the usual one."
        )
    if share is not None:
        if objective == "total":
            raise InvalidInput("a share belongs to the objective share. Leave out the objective or the share.")
        return checked_share(share)
    if objective == "share" or (objective is None and listed(question).size > MANY):
        return USUAL_SHARE
    return None


def messages_allowed(question: Question) -> float:
    """How many messages a user may send on average: one, unless more are allowed."""
    messages = checks.real(question.option("messages_per_user", 1.0), "messages_per_user")
    if not 1 <= messages <= MOST_MESSAGES:
        raise InvalidInput(
            f"messages_per_user must be from 1 to {MOST_MESSAGES}; got {messages}. Use e.g. 1.25, or leave it out for one."
        )
    return messages


def checked_share(share: float) -> float:
    """A share of the users."""
    if not 0 <= checks.real(share, "share") <= 1:
        raise InvalidInput(f"share must be from 0 to 1; got {share}. Use e.g. 0.01.")
    return float(share)
