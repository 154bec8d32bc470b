"""Plans for many rounds: how much of the budget each may spend, and what it costs to ask everybody every time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from shuffledp.accounting.composition import ROUNDING
from shuffledp.accounting.first_guess import share_of_budget
from shuffledp.accounting.releases import excess
from shuffledp.arithmetic.inversion import Search, search
from shuffledp.core import checks
from shuffledp.core.digits import rounded_up
from shuffledp.core.turnout import reports_expected
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.planning.ask import ask
from shuffledp.planning.choose import choose
from shuffledp.planning.error_targets import epsilon_possible
from shuffledp.planning.options import NOISE
from shuffledp.planning.over_time import OverTime, rounds_together
from shuffledp.planning.plan import Plan
from shuffledp.planning.question import Question
from shuffledp.protocols.sampling import sampled_error

_CLOSE: Final = 1.5e-5
"""By which share of it the epsilon of all rounds may stay below the one that is allowed, about."""
_ROUGH: Final = 1e-2
"""How close an epsilon is found where plans are only compared: the one that is taken is certified."""
_SMALL_PART: Final = 10
_FEWER: Final = 5
"""How many times fewer rounds per person the next line of a table has."""


def plan_rounds(
    question: str, *, n: int, epsilon: float, delta: float, rounds: int, rounds_per_person: int | None = None,
    honest_fraction: float = 1.0, dropout: float = 0.0, **options: Any,
) -> Plan:  # fmt: skip
    """The plan of one round, if all rounds together must be (epsilon, delta)-DP for everybody who takes part.

    Of the n people a random part is asked in each round, so that nobody takes part in more than `rounds_per_person` rounds. Who
    is asked when need not be secret. One round by itself is stated at the same delta.

    >>> daily = plan_rounds("mean", n=100_000, epsilon=1.0, delta=1e-6, rounds=7)
    >>> daily.guarantee.epsilon < 0.4
    True
    """
    per_person = rounds if rounds_per_person is None else rounds_per_person
    total = OverTime(rounds=rounds, per_person=per_person, epsilon=epsilon, delta=delta)
    reports = asked_per_round(reports_expected(n, dropout), total)
    asked = ask(question, n=reports, epsilon=epsilon, delta=delta, honest_fraction=honest_fraction, options=options)
    return _planned(asked, total, _CLOSE)


def rounds_possible(question: str, *, rmse: float, delta: float, rounds: int, **asked: Any) -> Plan:
    """The plan of one round whose error is at most `rmse`, and what all rounds together then cost those who take part in each.

    >>> weekly = rounds_possible("mean", n=100_000, rmse=0.01, delta=1e-6, rounds=52)
    >>> weekly.over_time.epsilon < 0.1
    True
    """
    one = epsilon_possible(question, rmse=rmse, delta=_delta_of_one(asked.get(NOISE.name), delta, rounds), **asked)
    total = OverTime(rounds=rounds, per_person=rounds, epsilon=one.guarantee.epsilon, delta=delta)
    together = one.guarantee.epsilon
    if total.rounds > 1:
        together = max(_stated(one, total.rounds, total.delta), 1e-9)
    if not together <= checks.LARGEST_EPSILON:
        raise InvalidInput("no epsilon of all rounds together gives an error that small. Allow a larger one.")
    return _certified(one, replace(total, epsilon=together))


def _planned(asked: Question, total: OverTime, close: float) -> Plan:
    per_person, epsilon, delta = total.per_person, total.epsilon, total.delta
    if per_person == 1:
        return _certified(choose(asked), total)
    made: dict[float, Plan] = {}
    asked = asked.at(delta=_delta_of_one(asked.noise, delta, per_person))

    def too_much(one: float) -> float:
        plan = choose(asked.at(epsilon=one))
        made[one] = plan
        return excess(rounds_together(plan.protocol.randomizer, plan.guarantee, per_person), delta, epsilon)

    axis = Search(low=1e-9, high=checks.epsilon(epsilon, positive=True), towards="smaller")
    start = share_of_budget(epsilon, delta, per_person)
    one = search(too_much, axis, start, precision=close / 4, steepness=1.0, close=close)
    if one is None:
        raise InvalidInput("no round would be private enough. Use more people, fewer rounds or a larger epsilon.")
    plan = made[one]
    stated = replace(plan.guarantee, epsilon=_stated(plan, 1, plan.guarantee.delta))
    return _certified(replace(plan, guarantee=stated), total)


def _stated(plan: Plan, rounds: int, delta: float) -> float:
    """The epsilon of so many rounds as it is printed for this plan, also by whoever composes it."""
    together = rounds_together(plan.protocol.randomizer, plan.guarantee, rounds).epsilon(delta)
    printed = float(rounded_up(together))
    # a number of few digits was seen to hold
    return printed if printed == together else max(printed, float(rounded_up(together * (1 + ROUNDING))))


def _delta_of_one(noise: str | None, delta: float, rounds: int) -> float:
    """The delta at which one of so many rounds is stated: the same, unless each fails by itself, as noise of the shuffler may.

    Then all failures together take a small part of it. That takes a few more dummies, and costs no accuracy.
    """
    return delta if noise is None or rounds == 1 else delta / (_SMALL_PART * rounds)


def _certified(one: Plan, total: OverTime) -> Plan:
    """The plan of one round with what all rounds guarantee, which is proved here as it will be when the file is read."""
    made = replace(one, over_time=total)
    if not made.holds():
        raise NoClaim("the rounds of a plan could not be certified. Please report this.")
    return made


def asked_per_round(n: int, total: OverTime) -> int:
    """How many of n people are asked in each round."""
    asked = n * total.per_person // total.rounds
    if asked < 1:
        raise InvalidInput("nobody would be asked in a round. Use more people or more rounds per person.")
    return asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """How often to ask a person.

    Attributes:
        per_person: in how many rounds.
        plan: of one round; None if there is none.
        rmse: of its answer about all people, those who are not asked included, at the worst data; None if that is not known.
        note: why there is no plan.
    """

    per_person: int
    plan: Plan | None = None
    rmse: float | None = None
    note: str = ""


def choices(
    made: Plan, question: str, *, n: int, honest_fraction: float = 1.0, dropout: float = 0.0, **options: Any
) -> list[Choice]:
    """The plan of one of many rounds beside others: everybody in all rounds, and random parts of the people in fewer."""
    total, people = _total(made), reports_expected(n, dropout)
    asked = ask(
        question, n=made.min_batch, epsilon=total.epsilon, delta=total.delta, honest_fraction=honest_fraction,
        options=options,
    )  # fmt: skip
    compared = []
    for per_person in sorted({*fewer(total.rounds), total.per_person}, reverse=True):
        other = replace(total, per_person=per_person)
        try:
            plan = made if other == total else _planned(asked.at(n=asked_per_round(people, other)), other, _ROUGH)
        except (InvalidInput, NoClaim) as refused:
            compared.append(Choice(per_person=per_person, note=str(refused)))
            continue
        error = sampled_error(plan.protocol, plan.min_batch, people)
        compared.append(Choice(per_person=per_person, plan=plan, rmse=None if error is None else math.sqrt(error)))
    return compared


def fewer(rounds: int) -> list[int]:
    """All rounds, a fifth of them, and so on, and one."""
    found = [rounds]
    while found[-1] > _FEWER:
        found.append(round(found[-1] / _FEWER))
    return found if found[-1] == 1 else [*found, 1]


def spent(made: Plan, after: Sequence[int]) -> dict[int, float]:
    """The epsilon of somebody who took part in so many rounds, at the delta of all of them."""
    total = _total(made)
    return {rounds: total.epsilon_after(rounds, made.protocol.randomizer, made.guarantee) for rounds in after}


def _total(made: Plan) -> OverTime:
    if made.over_time is None:
        raise InvalidInput("this plan says nothing about rounds. Plan with `rounds`.")
    return made.over_time
