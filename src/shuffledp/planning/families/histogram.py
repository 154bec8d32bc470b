"""Histograms: what is asked about them, and randomized response with the least blanket that is private enough."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

from shuffledp.accounting.first_guess import gaussian_gamma, gaussian_mu
from shuffledp.core import checks
from shuffledp.core.randomness import WORD
from shuffledp.domains.cross_table import CrossTable
from shuffledp.domains.intervals import Intervals
from shuffledp.domains.labels import Labels
from shuffledp.domains.listed import Listed
from shuffledp.domains.whole_numbers import WholeNumbers
from shuffledp.errors import InvalidInput
from shuffledp.planning.families.randomized_response import BlanketFamily
from shuffledp.planning.options import (
    BY,
    HIGH,
    LABELS,
    LOW,
    MESSAGES_PER_USER,
    NOISE,
    OBJECTIVE,
    SHARE,
    SIZE,
    Option,
    groups,
    messages_of,
    noise,
    texts,
)
from shuffledp.planning.question import Given, Question
from shuffledp.protocols.counting import MANY, Counting
from shuffledp.protocols.deployable import Deployable
from shuffledp.protocols.histogram import Histogram
from shuffledp.randomizers.response import RandomizedResponse

USUAL_SHARE: Final = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramQuestion(Question):
    """How many users hold each value.

    Attributes:
        domain: the values.
        share: up to which share of the users hold a value whose error counts; None if the error of all values together does.
        messages_per_user: how many messages a user may send on average; None if nothing was said, which means one.
    """

    domain: Listed
    share: float | None = None
    messages_per_user: float | None = None
    called: ClassVar[tuple[str, ...]] = ("histogram",)
    options: ClassVar[tuple[Option, ...]] = (SIZE, LABELS, BY, LOW, HIGH, OBJECTIVE, SHARE, MESSAGES_PER_USER, NOISE)

    @classmethod
    def read(cls, given: Given, **terms: Any) -> Self:
        """A histogram needs values, and one objective."""
        domain = _values(given)
        share = _wanted_share(given.get("objective"), given.get("share"), domain.size)
        messages, added = messages_of(given), noise(given)
        if messages is not None and added is not None:
            raise InvalidInput(
                "dummies come from users or from the shuffler. Give `messages_per_user` or `noise`, not both."
            )
        return cls(
            domain=domain, share=share, messages_per_user=messages, noise=added, **terms,
        )  # fmt: skip

    @property
    def dummies_allowed(self) -> float:
        """How many messages a user may send beside the true one, on average."""
        return (self.messages_per_user or 1.0) - 1

    @property
    def judged_share(self) -> float | None:
        return self.share

    def cost(self, protocol: Deployable) -> float:
        """The total squared error, or the largest of a value that up to a share of the users hold."""
        if self.share is None or not isinstance(protocol, Counting):
            return protocol.mean_squared_error(self.n)
        return protocol.worst_variance(self.share, self.n)

    @property
    def objective(self) -> str:
        """Over all bins, or of one."""
        if self.share is None:
            return "expected error (root mean square, over all bins)"
        return f"standard error of a bin that at most {100 * self.share:g} % of the users hold"


class HistogramFamily(BlanketFamily[HistogramQuestion]):
    """Histograms with the least blanket that is private enough."""

    question_type = HistogramQuestion

    def steps(self, question: HistogramQuestion) -> int:
        """As many messages as bins."""
        return question.domain.size - 1

    def guess(self, question: HistogramQuestion) -> float | None:
        """With the blanket that a Gaussian would need: randomized response is a design of single messages."""
        if question.bound != "best":
            return None
        size, mu = question.domain.size, gaussian_mu(question.epsilon, question.delta)
        threshold = max(1, math.ceil(gaussian_gamma(1 / size, 0.0, question.honest, mu) * WORD))
        if threshold >= WORD:
            return math.inf
        return question.cost(self.build(question, RandomizedResponse.of_threshold(size=size, threshold=threshold)))

    def build(self, question: HistogramQuestion, randomizer: RandomizedResponse) -> Histogram:
        """On the values that were asked for."""
        return Histogram(randomizer, question.domain)


def checked_share(share: float) -> float:
    """A share of the users."""
    if not 0 <= checks.real(share, "share") <= 1:
        raise InvalidInput(f"share must be from 0 to 1; got {share}. Use e.g. 0.01.")
    return float(share)


def _values(given: Given) -> Listed:
    size, labels, low, high = (given.get(name) for name in ("size", "labels", "low", "high"))
    if size is None and labels is None:
        raise InvalidInput("a histogram needs the values to count. Give `labels`, or `size` for their number.")
    if size is not None and labels is not None:
        raise InvalidInput("the number of bins is the number of labels. Give `size` or `labels`, not both.")
    if (low is None) != (high is None) or (labels is not None and low is not None):
        if labels is not None:
            raise InvalidInput("labels are not a range of numbers. Give `labels`, or `size`, `low` and `high`.")
        raise InvalidInput("a range of numbers has two ends. Give both `low` and `high`, or neither.")
    values = _one_column(size, labels, low, high)
    by = groups(given.get("by"))
    return CrossTable(by, values) if by else values


def _one_column(size: Any, labels: Any, low: Any, high: Any) -> Listed:
    if labels is not None:
        return Labels(texts(labels, "labels"))
    return WholeNumbers(size) if low is None else Intervals(size, low, high)


def _wanted_share(objective: Any, share: Any, size: int) -> float | None:
    if objective not in (None, *OBJECTIVE.words):
        raise InvalidInput(
            f"the objective is {' or '.join(OBJECTIVE.words)}; got {objective!r}. Leave it out for the usual one."
        )
    if share is not None:
        if objective == "total":
            raise InvalidInput("a share belongs to the objective share. Leave out the objective or the share.")
        return checked_share(share)
    if objective == "share" or (objective is None and size > MANY):
        return USUAL_SHARE
    return None
