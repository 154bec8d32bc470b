"""A plan: one protocol with its parameters, guarantee and forecast, as a file that configures everybody.

The file carries the SHA-256 of its canonical form, so an edited one is refused; and loading proves the guarantee again, so
one with a recomputed hash is refused if its claim does not follow.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, Final, Literal, Self, get_args

from shuffledp.accounting.account import account, bound_named, calibrate
from shuffledp.arithmetic.balls import log_down
from shuffledp.core import checks
from shuffledp.core.canonical import digest
from shuffledp.core.guarantee import ADJACENCY, Guarantee
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.protocols.bins import Bins, interval
from shuffledp.protocols.histogram import Histogram
from shuffledp.protocols.summation import Summation
from shuffledp.randomizers.response import RandomizedResponse

Task = Literal["histogram", "sum", "mean", "query"]
TASKS: Final[tuple[Task, ...]] = get_args(Task)
PAPER_BOUND: Final = "histogram-theorem"
VERSION: Final = 2
"""Of the file: since 2 its canonical form is RFC 8785 and the threshold a string."""
_WORD = 1 << 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to run.

    Attributes:
        task: histogram, sum, mean or query (the mean of a question answered in [0, 1]).
        size: number of messages: bins, or grid points (precision + 1).
        threshold: blanket probability in units of 2^-64; the guarantee is computed from it.
        low: least value; None for a histogram that is not of numbers.
        high: greatest value; likewise.
        labels: names of a histogram's bins, if they have any.
        guarantee: what is promised once min_batch reports are shuffled; its n counts honest ones.
        min_batch: reports required before anything is released.
    """

    task: Task
    size: int
    threshold: int
    low: float | None
    high: float | None
    labels: tuple[str, ...] | None
    guarantee: Guarantee
    min_batch: int

    @property
    def randomizer(self) -> RandomizedResponse:
        """The randomizer, exactly as it runs."""
        return RandomizedResponse(size=self.size, gamma=Fraction(self.threshold, _WORD))

    @property
    def protocol(self) -> Histogram | Summation:
        """Randomizer and estimator."""
        if self.task == "histogram":
            return Histogram(self.randomizer, Bins(size=self.size, labels=self.labels, low=self.low, high=self.high))
        if self.low is None or self.high is None:
            raise InvalidInput(f"a {self.task} needs a range of values. Give low and high.")
        return Summation(randomizer=self.randomizer, low=self.low, high=self.high)

    @property
    def mean_squared_error(self) -> float:
        """Expected squared error of the task's answer: summed over bins (histogram), at the worst data (the others)."""
        error = self.protocol.mean_squared_error(self.min_batch)
        return error / self.min_batch**2 if self.is_mean else error

    @property
    def rmse(self) -> float:
        """The root of the mean squared error."""
        return math.sqrt(self.mean_squared_error)

    @property
    def rmse_share(self) -> float:
        """The root mean squared error of the answer divided by the number of users."""
        return self.rmse if self.is_mean else self.rmse / self.min_batch

    @property
    def is_mean(self) -> bool:
        """Whether the answer is an average over users."""
        return self.task in ("mean", "query")

    @property
    def paper_error(self) -> float | None:
        """The bound on the mean squared error in the proof of Theorem 4.1, for a plan by the paper's recipe."""
        if self.guarantee.bound != PAPER_BOUND or not isinstance(self.protocol, Summation):
            return None
        n, g, k = self.min_batch, self.protocol.gamma, self.protocol.precision
        error = n / (1 - g) ** 2 * ((1 - g) / (4 * k**2) + g / 2) * (self.protocol.high - self.protocol.low) ** 2
        return error / n**2 if self.is_mean else error

    def honest_of(self, reports: int) -> int:
        """How many of so many reports the plan relies on, at its honest fraction."""
        return reports * self.guarantee.n // self.min_batch

    @property
    def sha256(self) -> str:
        """The hash of the plan's canonical form, its name."""
        return digest(self._body())

    def document(self) -> dict[str, Any]:
        """The plan as JSON data, its hash included."""
        body = self._body()
        return body | {"sha256": digest(body)}

    def _body(self) -> dict[str, Any]:
        shape = {"size": self.size} if self.task == "histogram" else {"precision": self.size - 1}
        labels = {} if self.labels is None else {"labels": list(self.labels)}
        span = {} if self.low is None else {"low": self.low, "high": self.high}
        paper = {} if self.paper_error is None else {"paper_mean_squared_error_bound": self.paper_error}
        return {
            "version": VERSION,
            "protocol": {
                "name": self.task, **shape, **labels, **span, "gamma": self.threshold / _WORD,
                "threshold": str(self.threshold), "epsilon0": self.randomizer.epsilon0,
            },
            "guarantee": {
                "epsilon": self.guarantee.epsilon, "delta": self.guarantee.delta, "n": self.guarantee.n,
                "bound": self.guarantee.bound, "adjacency": self.guarantee.adjacency,
            },
            "forecast": {"mean_squared_error": self.mean_squared_error, "rmse": self.rmse, **paper},
            "min_batch": self.min_batch,
        }  # fmt: skip

    @classmethod
    def from_document(cls, document: Any) -> Self:
        """Read a plan; refused if it was edited or if its guarantee does not follow from its parameters."""
        not_a_plan = InvalidInput("this is not a plan. Make one with shuffledp plan.")
        if isinstance(document, dict) and "protocol" in document and document.get("version") != VERSION:
            raise InvalidInput(
                f"this plan is not of version {VERSION}, the one this software reads. Make it again with shuffledp plan."
            )
        try:
            body = {key: value for key, value in document.items() if key != "sha256"}
            matches = document["sha256"] == digest(body)
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
            raise not_a_plan from None
        if not matches:
            raise InvalidInput(
                "the plan does not match its SHA-256: it was edited. Make a new one with shuffledp plan."
            )
        try:
            protocol, promise = body["protocol"], body["guarantee"]
            plan = cls(
                task=protocol["name"],
                size=protocol["size"] if protocol["name"] == "histogram" else protocol["precision"] + 1,
                threshold=_whole(protocol["threshold"]),
                low=protocol.get("low"),
                high=protocol.get("high"),
                labels=tuple(protocol["labels"]) if "labels" in protocol else None,
                guarantee=Guarantee(**promise, reference=bound_named(promise["bound"]).reference),
                min_batch=body["min_batch"],
            )
            follows = plan._well_formed() and plan._body() == body and plan.holds()
        except (AttributeError, KeyError, TypeError, ValueError, ArithmeticError, NoClaim):
            raise not_a_plan from None
        if not follows:
            raise InvalidInput(
                "the plan's claim does not follow from its parameters. Make a new one with shuffledp plan."
            )
        return plan

    def _well_formed(self) -> bool:
        """Whether every field has its very type and is within what plans are made of."""
        whole = all(type(x) is int for x in (self.size, self.threshold, self.guarantee.n, self.min_batch))
        real = all(type(x) in (int, float) for x in (self.guarantee.epsilon, self.guarantee.delta))
        range_ = all(x is None or type(x) in (int, float) for x in (self.low, self.high))
        if not (whole and real and range_ and self.task in TASKS):
            return False
        checks.epsilon(self.guarantee.epsilon, positive=True)
        checks.probability(self.guarantee.delta, "delta")
        checks.users(self.min_batch)
        checks.size(self.size)
        return 0 < self.threshold < _WORD and self.protocol is not None

    def holds(self) -> bool:
        """Whether the accountant proves the guarantee from the threshold."""
        sensible = 1 <= self.guarantee.n <= self.min_batch and 0 < self.threshold < _WORD
        question = self.task != "query" or (self.low, self.high) == (0.0, 1.0)
        if not (sensible and question and self.guarantee.adjacency == ADJACENCY):
            return False
        claim = bound_named(self.guarantee.bound).claim(
            self.randomizer.blanket(), n=self.guarantee.n, epsilon=self.guarantee.epsilon, side="upper"
        )
        return claim.regime is None and claim.log_delta.upper <= log_down(self.guarantee.delta)


def plan(
    task: Task,
    *,
    n: int,
    epsilon: float,
    delta: float,
    size: int | None = None,
    labels: Sequence[str] | None = None,
    low: float | None = None,
    high: float | None = None,
    precision: int | None = None,
    honest_fraction: float = 1.0,
    paper: bool = False,
) -> Plan:
    """The most accurate protocol for a task with n users at (epsilon, delta).

    gamma is the smallest that the certified accountant grants; the precision of a sum, mean or query minimises the exact
    worst-case error. With `paper`, gamma is that of Theorem 3.1 and the precision that of Theorem 4.1.

    >>> plan("histogram", n=100_000, epsilon=0.5, delta=1e-6, size=10).protocol.gamma < 0.02
    True
    """
    question = Question(
        task=task, n=n, epsilon=epsilon, delta=delta, size=size, labels=labels, low=low, high=high,
        honest_fraction=honest_fraction, bound=PAPER_BOUND if paper else "best",
    )  # fmt: skip

    @cache
    def at(steps: int) -> Plan:
        return question.plan_with(steps + 1)

    if question.bins is not None:
        return at(question.bins - 1)
    if precision is not None:
        return at(checks.size(precision + 1, name="precision + 1") - 1)
    if paper:
        per_symbol = max(14 * math.log(2 / delta) / epsilon**2, 27 / epsilon)
        return at(max(1, round((n / per_symbol) ** (1 / 3))))
    return at(least(lambda steps: at(steps).mean_squared_error, 2, round(8 * n ** (1 / 3) + 8)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a plan is asked for, checked; `bins` is the number of them a histogram has."""

    task: Task
    n: int
    epsilon: float
    delta: float
    size: int | None = None
    labels: Sequence[str] | None = None
    low: float | None = None
    high: float | None = None
    honest_fraction: float = 1.0
    bound: str = "best"

    def __post_init__(self) -> None:
        if self.task not in TASKS:
            raise InvalidInput(f"there is no task {self.task!r}. Use one of {', '.join(TASKS)}.")
        checks.users(self.n)
        checks.epsilon(self.epsilon, positive=True)
        checks.probability(self.delta, "delta")
        fraction = checks.real(self.honest_fraction, "honest_fraction")
        if not (0 < fraction <= 1 and self.honest >= 1):
            raise InvalidInput(f"honest_fraction must be above 0 and at most 1 and leave a user; got {fraction}.")
        if self.task == "histogram":
            if self.size is None and self.labels is None:
                raise InvalidInput("a histogram needs the number of bins. Give size or labels.")
            if self.size is not None and self.labels is not None:
                raise InvalidInput("the number of bins is the number of labels. Give size or labels, not both.")
            Bins(size=self.bins or 0, labels=self.names, low=self.low, high=self.high)
        else:
            if self.size is not None or self.labels is not None:
                raise InvalidInput("size and labels belong to histograms. Use precision, or leave them out.")
            if self.task == "query" and (self.low is not None or self.high is not None):
                raise InvalidInput("a query is answered in [0, 1]. Leave low and high out, or plan a mean.")
            interval(*self.span)

    @property
    def honest(self) -> int:
        """Honest reports relied on."""
        return int(Fraction(repr(float(self.honest_fraction))) * self.n)

    @property
    def names(self) -> tuple[str, ...] | None:
        """The labels, frozen."""
        return None if self.labels is None else tuple(self.labels)

    @property
    def bins(self) -> int | None:
        """A histogram's number of bins."""
        if self.task != "histogram":
            return None
        return self.size if self.labels is None else len(self.labels)

    @property
    def span(self) -> tuple[float, float]:
        """The range of values, [0, 1] unless told."""
        return float(0.0 if self.low is None else self.low), float(1.0 if self.high is None else self.high)

    def plan_with(self, messages: int) -> Plan:
        """The least blanket on that many messages."""
        family = RandomizedResponse.family(size=messages, parameter="gamma")
        gamma = calibrate(family, n=self.honest, epsilon=self.epsilon, delta=self.delta, bound=self.bound)
        return self.certified(messages, RandomizedResponse(size=messages, gamma=gamma).threshold)

    def certified(self, messages: int, threshold: int) -> Plan:
        """The plan with these parameters, proved."""
        if threshold >= _WORD:
            raise InvalidInput(
                "only messages that say nothing would be private enough. Use more users or a larger epsilon."
            )
        bound = bound_named(self.bound)
        numbers = self.task != "histogram" or self.low is not None
        found = Plan(
            task=self.task,
            size=messages,
            threshold=threshold,
            low=self.span[0] if numbers else None,
            high=self.span[1] if numbers else None,
            labels=self.names,
            guarantee=Guarantee(
                epsilon=self.epsilon, delta=self.delta, n=self.honest, bound=bound.name, reference=bound.reference
            ),
            min_batch=self.n,
        )
        if not found.holds():  # pragma: no cover - rounding gamma up only adds blanket
            raise InvalidInput("the plan could not be certified. Please report this.")
        return found


def least(cost: Callable[[int], float], low: int, high: int) -> int:
    """The whole number where a cost that falls and then rises is least: golden section on the logarithm.

    The cost of a precision falls (less rounding error) and then rises (more blanket). One below `low` is tried too.
    """
    left, right = math.log(low), math.log(high)
    ratio = (math.sqrt(5) - 1) / 2
    while math.exp(right) - math.exp(left) > 2:
        first, second = (round(math.exp(x)) for x in (right - ratio * (right - left), left + ratio * (right - left)))
        if cost(first) <= cost(second):
            right = left + ratio * (right - left)
        else:
            left = right - ratio * (right - left)
    around = range(max(1, math.floor(math.exp(left)) - 1), math.ceil(math.exp(right)) + 2)
    return min(around, key=cost)


def epsilon_at(plan_: Plan, n: int) -> float:
    """The epsilon of the plan's protocol at its delta with another number of honest reports, by the plan's bound."""
    return account(plan_.randomizer, n=n, delta=plan_.guarantee.delta, bound=plan_.guarantee.bound).epsilon


def _whole(text: Any) -> int:
    """A whole number that is a string in the file, in its only spelling."""
    if not (
        isinstance(text, str) and text.isascii() and text.isdecimal() and len(text) <= 20 and str(int(text)) == text
    ):
        raise ValueError
    return int(text)
