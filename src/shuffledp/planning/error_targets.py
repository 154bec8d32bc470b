"""The inverse questions: the users an error needs, and the privacy an error allows."""

import math
from functools import cache
from typing import Any

from shuffledp.accounting.account import account
from shuffledp.core import checks
from shuffledp.core.turnout import reports_expected
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.planning import registry
from shuffledp.planning.ask import ask
from shuffledp.planning.choose import Proposal, best, certified, choose, promising, proposals
from shuffledp.planning.family import AnyFamily, too_small
from shuffledp.planning.plan import Plan
from shuffledp.planning.question import Question
from shuffledp.protocols.deployable import Deployable

_RESOLUTION = 1000
_LEAST_EPSILON = 1e-9


def users_needed(
    question: str, *, rmse_share: float, epsilon: float, delta: float, honest_fraction: float = 1.0, **options: Any
) -> Plan:
    """The plan with the fewest users (to a thousandth) whose answer, divided by their number, errs by `rmse_share`.

    For a mean or query that is the error of the answer; for a histogram or texts, of what the objective makes small: all
    frequencies together, or the worst of one up to a share of the users.

    >>> users_needed("mean", rmse_share=0.01, epsilon=1.0, delta=1e-6).min_batch < 1100
    True
    """
    target = _positive(rmse_share, "rmse_share")
    terms: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "honest_fraction": honest_fraction}
    asked = ask(question, n=checks.LARGEST_N, options=options, **terms)  # bad input is not "too few users"

    @cache
    def at(n: int) -> Plan | None:
        try:
            return choose(asked.at(n=n))
        except (InvalidInput, NoClaim):
            return None

    def error(plan: Plan) -> float:
        cost = math.sqrt(asked.at(n=plan.min_batch).cost(plan.protocol))
        return cost if plan.protocol.reading.averages else cost / plan.min_batch

    def enough(n: int) -> bool:
        plan = at(n)
        return plan is not None and error(plan) <= target

    high = 4
    while not enough(high):
        plan = at(high)
        # the error falls about like n^(-5/6) or faster, so this seldom jumps too far
        jump = 4.0 if plan is None else (error(plan) / target) ** 1.2
        high = math.ceil(high * min(1e4, max(1.05, jump)))
        if high > 10**12:
            raise InvalidInput("not even 1e12 users give an error that small. Allow a larger one.")
    low = 1
    while high - low > max(1, high // _RESOLUTION):  # to a thousandth: `first_integer` would go on to the last user
        middle = math.ceil(math.sqrt(low * high)) if high > 4 * low else (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    answer = at(high)
    if answer is None:  # pragma: no cover - enough(high) held
        raise InvalidInput("no plan was found. Allow a larger error.")
    return answer


def epsilon_possible(
    question: str, *, n: int, delta: float, rmse: float, honest_fraction: float = 1.0, dropout: float = 0.0, **options: Any
) -> Plan:  # fmt: skip
    """The plan with the smallest epsilon whose forecast error, of what the objective makes small, is at most `rmse`.

    >>> found = epsilon_possible("sum", n=10_000, delta=1e-6, rmse=20.0)
    >>> (found.guarantee.epsilon < 0.7, found.rmse <= 20.0)
    (True, True)
    """
    squared = _positive(rmse, "rmse") ** 2
    reports = reports_expected(n, dropout)
    asked = ask(question, n=reports, epsilon=1.0, delta=delta, honest_fraction=honest_fraction, options=options)
    if squared < 1e-200:
        raise too_small()
    epsilon, protocol = best(_proposals_for_error(asked, squared))
    if not epsilon < checks.LARGEST_EPSILON:
        raise too_small()
    answer = certified(asked.at(epsilon=max(epsilon, _LEAST_EPSILON)), protocol)
    answer.check_memory()
    return answer


def _proposals_for_error(asked: Question, squared: float) -> list[Proposal[tuple[float, Deployable]]]:
    """Each family's most private protocol that errs no more than this, with its epsilon."""

    def propose(family: AnyFamily) -> tuple[tuple[float, Deployable], float]:
        protocol = family.propose_for_error(asked, squared)
        epsilon = account(protocol.randomizer, n=asked.honest, delta=asked.delta).epsilon
        return (epsilon, protocol), epsilon

    def worth_asking(family: AnyFamily, least: float | None) -> bool:
        """Unless at the epsilon that is reached already it would err far more."""
        if least is None:
            return True
        return bool(promising([family], asked.at(epsilon=max(least, _LEAST_EPSILON)), least=squared))

    return proposals(registry.answering(asked), propose, worth_asking)


def _positive(value: float, name: str) -> float:
    number = checks.real(value, name, "down")
    if not 0 < number < math.inf:
        raise InvalidInput(f"{name} must be above 0; got {number}. Give the error that is acceptable.")
    return number
