"""A plan: one protocol with its parameters, guarantee and forecast, as a file that configures everybody.

The file carries the SHA-256 of its canonical form, so an edited one is refused; and loading proves the guarantee again, so
one with a recomputed hash is refused if its claim does not follow.
"""

import hashlib
import json
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, Literal, Self

from shuffledp.accounting.account import bound_named, calibrate
from shuffledp.accounting.solve import Problem, solve
from shuffledp.arithmetic.balls import log_down
from shuffledp.core import checks
from shuffledp.core.guarantee import ADJACENCY, Guarantee
from shuffledp.errors import InvalidInput
from shuffledp.protocols.histogram import Histogram
from shuffledp.protocols.summation import Summation
from shuffledp.randomizers.response import RandomizedResponse

Task = Literal["histogram", "sum", "mean"]
_WORD = 1 << 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to run.

    Attributes:
        task: histogram, sum or mean.
        size: number of messages: bins, or grid points (precision + 1).
        threshold: blanket probability in units of 2^-64; the guarantee is computed from it.
        low: least value (sum, mean).
        high: greatest value (sum, mean).
        guarantee: what is promised once min_batch reports are shuffled; its n counts honest ones.
        min_batch: reports required before anything is released.
    """

    task: Task
    size: int
    threshold: int
    low: float
    high: float
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
            return Histogram(self.randomizer)
        return Summation(randomizer=self.randomizer, low=self.low, high=self.high)

    @property
    def mean_squared_error(self) -> float:
        """Expected squared error of the task's answer: summed over bins (histogram), at the worst data (sum, mean)."""
        error = self.protocol.mean_squared_error(self.min_batch)
        return error / self.min_batch**2 if self.task == "mean" else error

    def document(self) -> dict[str, Any]:
        """The plan as JSON data, its hash included."""
        body = self._body()
        return body | {"sha256": _digest(body)}

    def _body(self) -> dict[str, Any]:
        shape = {"size": self.size} if self.task == "histogram" else {"precision": self.size - 1}
        span = {} if self.task == "histogram" else {"low": self.low, "high": self.high}
        return {
            "protocol": {
                "name": self.task, **shape, **span, "gamma": self.threshold / _WORD, "threshold": self.threshold,
                "epsilon0": self.randomizer.epsilon0,
            },
            "guarantee": {
                "epsilon": self.guarantee.epsilon, "delta": self.guarantee.delta, "n": self.guarantee.n,
                "bound": self.guarantee.bound, "adjacency": self.guarantee.adjacency,
            },
            "forecast": {"mean_squared_error": self.mean_squared_error, "rmse": math.sqrt(self.mean_squared_error)},
            "min_batch": self.min_batch,
        }  # fmt: skip

    @classmethod
    def from_document(cls, document: Any) -> Self:
        """Read a plan; refused if it was edited or if its guarantee does not follow from its parameters."""
        try:
            body = {key: value for key, value in document.items() if key != "sha256"}
            if document["sha256"] != _digest(body):
                raise InvalidInput(
                    "the plan does not match its SHA-256: it was edited. Make a new one with shuffledp plan."
                )
            protocol, promise = body["protocol"], body["guarantee"]
            plan = cls(
                task=protocol["name"],
                size=protocol["size"] if protocol["name"] == "histogram" else protocol["precision"] + 1,
                threshold=protocol["threshold"],
                low=protocol.get("low", 0.0),
                high=protocol.get("high", 1.0),
                guarantee=Guarantee(**promise, reference=bound_named("best").reference),
                min_batch=body["min_batch"],
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            if isinstance(error, InvalidInput):
                raise
            raise InvalidInput("this is not a plan. Make one with shuffledp plan.") from None
        if plan._body() != body or not plan.holds():
            raise InvalidInput(
                "the plan's claim does not follow from its parameters. Make a new one with shuffledp plan."
            )
        return plan

    def holds(self) -> bool:
        """Whether the accountant proves the guarantee from the threshold."""
        sensible = 1 <= self.guarantee.n <= self.min_batch and 0 < self.threshold < _WORD
        if not sensible or self.guarantee.adjacency != ADJACENCY:
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
    low: float = 0.0,
    high: float = 1.0,
    precision: int | None = None,
    honest_fraction: float = 1.0,
) -> Plan:
    """The most accurate protocol for a task with n users at (epsilon, delta).

    gamma is the smallest that the certified accountant grants; the precision of a sum or mean minimises the exact
    worst-case error.

    >>> plan("histogram", n=100_000, epsilon=0.5, delta=1e-6, size=10).protocol.gamma < 0.02
    True
    """
    checks.users(n)
    honest = int(Fraction(repr(checks.real(honest_fraction, "honest_fraction"))) * n)
    if not (0 < honest_fraction <= 1 and honest >= 1):
        raise InvalidInput(f"honest_fraction must be above 0 and at most 1 and leave a user; got {honest_fraction}.")
    checks.epsilon(epsilon, positive=True)
    checks.probability(delta, "delta")

    @cache
    def at(bins: int) -> Plan:
        return _plan_at(task, bins, n, honest, epsilon, delta, low, high)

    if task == "histogram":
        if size is None:
            raise InvalidInput("a histogram needs the number of bins. Give size.")
        return at(checks.size(size))
    if task not in ("sum", "mean"):
        raise InvalidInput(f"there is no task {task!r}. Use histogram, sum or mean.")
    if precision is not None:
        return at(checks.size(precision + 1, name="precision + 1"))
    # The error falls with the precision (rounding) and then rises (more blanket): golden section on the logarithm
    left, right = math.log(2), math.log(8 * n ** (1 / 3) + 8)
    ratio = (math.sqrt(5) - 1) / 2
    while math.exp(right) - math.exp(left) > 2:
        first, second = (round(math.exp(x)) for x in (right - ratio * (right - left), left + ratio * (right - left)))
        if at(first + 1).mean_squared_error <= at(second + 1).mean_squared_error:
            right = left + ratio * (right - left)
        else:
            left = right - ratio * (right - left)
    around = range(max(1, math.floor(math.exp(left)) - 1), math.ceil(math.exp(right)) + 2)
    return min((at(k + 1) for k in around), key=lambda candidate: candidate.mean_squared_error)


def _plan_at(task: Task, bins: int, n: int, honest: int, epsilon: float, delta: float, low: float, high: float) -> Plan:
    gamma = calibrate(RandomizedResponse.family(size=bins, parameter="gamma"), n=honest, epsilon=epsilon, delta=delta)
    threshold = RandomizedResponse(size=bins, gamma=gamma).threshold
    if threshold == _WORD:
        raise InvalidInput(
            "only messages that say nothing would be private enough. Use more users or a larger epsilon."
        )
    bound = bound_named("best")
    found = Plan(
        task=task,
        size=bins,
        threshold=threshold,
        low=float(low),
        high=float(high),
        guarantee=Guarantee(epsilon=epsilon, delta=delta, n=honest, bound=bound.name, reference=bound.reference),
        min_batch=n,
    )
    if not found.holds():  # pragma: no cover - rounding gamma up only adds blanket
        raise InvalidInput("the plan could not be certified. Please report this.")
    return found


def epsilon_at(plan_: Plan, n: int) -> float:
    """The epsilon of the plan's protocol at its delta with another number of honest reports."""
    problem = Problem(randomizer=plan_.randomizer.blanket(), n=n, delta=plan_.guarantee.delta)
    return float(solve(bound_named(plan_.guarantee.bound), problem).value or 0.0)


def _digest(body: dict[str, Any]) -> str:
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()
