"""The inverse questions: the users an error needs, and the privacy an error allows."""

import math
from functools import cache
from typing import Any

from shuffledp.accounting.account import account
from shuffledp.core import checks
from shuffledp.core.honest import reports_expected
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.planning.plan import Plan, ask, certified, plan, promising
from shuffledp.protocols import registry
from shuffledp.protocols.deployable import Deployable
from shuffledp.protocols.family import too_small

_RESOLUTION = 1000


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
    shared: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "honest_fraction": honest_fraction}
    asked = ask(question, n=checks.LARGEST_N, options=options, **shared)  # bad input is not "too few users"
    family = registry.answering(asked)[0]

    @cache
    def at(n: int) -> Plan | None:
        try:
            return plan(question, n=n, **shared, **options)
        except (InvalidInput, NoClaim):
            return None

    def error(found: Plan) -> float:
        cost = math.sqrt(family.cost(found.protocol, asked.at(n=found.min_batch)))
        return cost if found.protocol.averages else cost / found.min_batch

    def enough(n: int) -> bool:
        found = at(n)
        return found is not None and error(found) <= target

    high = 4
    while not enough(high):
        found = at(high)
        # the error falls about like n^(-5/6) or faster, so this seldom jumps too far
        jump = 4.0 if found is None else (error(found) / target) ** 1.2
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
    question: str,
    *,
    n: int,
    delta: float,
    rmse: float,
    honest_fraction: float = 1.0,
    dropout: float = 0.0,
    **options: Any,
) -> Plan:
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
    proposals, refusals = list[tuple[float, Deployable]](), list[InvalidInput | NoClaim]()
    for family in registry.answering(asked):
        best = min((epsilon for epsilon, _ in proposals), default=None)
        if best is not None and not promising([family], asked.at(epsilon=max(best, 1e-9)), least=squared):
            continue  # at the epsilon that is reached already it would err far more
        try:
            proposal = family.propose_for_error(asked, squared)
            epsilon = account(proposal.randomizer, n=asked.honest, delta=delta).epsilon
        except (InvalidInput, NoClaim) as refused:
            refusals.append(refused)
        else:
            proposals.append((epsilon, proposal))
    if not proposals:
        raise refusals[0]
    epsilon, protocol = min(proposals, key=lambda found: found[0])
    if not epsilon < checks.LARGEST_EPSILON:
        raise too_small()
    answer = certified(asked.at(epsilon=max(epsilon, 1e-9)), protocol)
    answer.check_memory()
    return answer


def _positive(value: float, name: str) -> float:
    number = checks.real(value, name, "down")
    if not 0 < number < math.inf:
        raise InvalidInput(f"{name} must be above 0; got {number}. Give the error that is acceptable.")
    return number
