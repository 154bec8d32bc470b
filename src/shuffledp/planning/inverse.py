"""The inverse questions: the users an error needs, and the privacy an error allows."""

import math
from fractions import Fraction
from functools import cache
from typing import Any

from shuffledp.accounting.account import account
from shuffledp.core import checks
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.planning.plan import Plan, Question, Task, least, plan
from shuffledp.protocols.histogram import Histogram
from shuffledp.protocols.summation import Summation
from shuffledp.randomizers.response import RandomizedResponse

_RESOLUTION = 1000


def users_needed(task: Task, *, rmse_share: float, epsilon: float, delta: float, **shape: Any) -> Plan:
    """The plan with the fewest users (to a thousandth) whose answer, divided by their number, errs by `rmse_share`.

    For a mean or query that is the error of the answer; for a histogram, of all frequencies together.

    >>> users_needed("mean", rmse_share=0.01, epsilon=1.0, delta=1e-6).min_batch < 1100
    True
    """
    target = _positive(rmse_share, "rmse_share")

    @cache
    def at(n: int) -> Plan | None:
        try:
            return plan(task, n=n, epsilon=epsilon, delta=delta, **shape)
        except (InvalidInput, NoClaim):
            return None

    def enough(n: int) -> bool:
        found = at(n)
        return found is not None and found.rmse_share <= target

    fixed = {name: value for name, value in shape.items() if name not in ("precision", "paper")}
    if shape.get("precision") is not None:
        checks.size(shape["precision"] + 1, name="precision + 1")
    Question(task=task, n=checks.LARGEST_N, epsilon=epsilon, delta=delta, **fixed)  # bad input is not "too few users"
    high = 4
    while not enough(high):
        found = at(high)
        # the error falls about like n^(-5/6) or faster, so this seldom jumps too far
        jump = 4.0 if found is None else (found.rmse_share / target) ** 1.2
        high = math.ceil(high * min(1e4, max(1.05, jump)))
        if high > 10**12:
            raise InvalidInput("not even 1e12 users give an error that small. Allow a larger one.")
    low = 1
    while high - low > max(1, high // _RESOLUTION):
        middle = math.ceil(math.sqrt(low * high)) if high > 4 * low else (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    answer = at(high)
    if answer is None:  # pragma: no cover - enough(high) held
        raise InvalidInput("no plan was found. Allow a larger error.")
    return answer


def epsilon_possible(
    task: Task, *, n: int, delta: float, rmse: float, precision: int | None = None, **shape: Any
) -> Plan:
    """The plan with the smallest epsilon whose forecast error is at most `rmse`.

    >>> found = epsilon_possible("sum", n=10_000, delta=1e-6, rmse=20.0)
    >>> (found.guarantee.epsilon < 0.7, found.rmse <= 20.0)
    (True, True)
    """
    wanted = _positive(rmse, "rmse")
    asked = Question(task=task, n=n, epsilon=1.0, delta=delta, **shape)
    squared = (wanted * n if task in ("mean", "query") else wanted) ** 2
    if squared < 1e-200:
        raise InvalidInput("no epsilon gives an error that small. Allow a larger one.")

    @cache
    def most_blanket(messages: int) -> int:
        """The largest threshold whose error is small enough, 0 if none is: the error grows with it."""
        low, high = 0, 1 << 64
        while high - low > 1:
            middle = (low + high) // 2
            good = _error(asked, messages, middle) <= squared
            low, high = (middle, high) if good else (low, middle)
        return low

    @cache
    def epsilon(messages: int) -> float:
        threshold = most_blanket(messages)
        if threshold == 0:
            return math.inf
        randomizer = RandomizedResponse(size=messages, gamma=Fraction(threshold, 1 << 64))
        return account(randomizer, n=asked.honest, delta=delta).epsilon

    if asked.bins is not None:
        messages = asked.bins
    elif precision is not None:
        messages = checks.size(precision + 1, name="precision + 1")
    else:
        # below this the rounding alone errs too much
        coarsest = math.floor((asked.span[1] - asked.span[0]) * math.sqrt(n / squared) / 2) + 1
        if coarsest > 1e6:
            raise InvalidInput("no epsilon gives an error that small. Allow a larger one.")
        messages = least(lambda steps: epsilon(steps + 1), coarsest + 1, 30 * coarsest + 30) + 1
    if not epsilon(messages) < checks.LARGEST_EPSILON:
        raise InvalidInput("no epsilon gives an error that small. Allow a larger one.")
    reached = Question(task=task, n=n, epsilon=max(epsilon(messages), 1e-9), delta=delta, **shape)
    return reached.certified(messages, most_blanket(messages))


def _error(asked: Question, messages: int, threshold: int) -> float:
    randomizer = RandomizedResponse(size=messages, gamma=Fraction(max(1, threshold), 1 << 64))
    if asked.bins is not None:
        return Histogram(randomizer).mean_squared_error(asked.n)
    return Summation(randomizer=randomizer, low=asked.span[0], high=asked.span[1]).mean_squared_error(asked.n)


def _positive(value: float, name: str) -> float:
    number = checks.real(value, name)
    if not 0 < number < math.inf:
        raise InvalidInput(f"{name} must be above 0; got {number}. Give the error you can live with.")
    return number
