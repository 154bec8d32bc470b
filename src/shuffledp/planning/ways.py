"""All ways to ask a question, each planned, side by side."""

from dataclasses import dataclass
from typing import Any

from shuffledp.core.honest import reports_expected
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.planning.plan import Plan, ask, certified
from shuffledp.protocols import registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """What one family proposes.

    Attributes:
        name: of the family.
        plan: its certified plan, if there is one.
        cost: what the planner makes small.
        note: why there is none.
    """

    name: str
    plan: Plan | None = None
    cost: float = float("inf")
    note: str = ""


def ways(
    question: str, *, n: int, epsilon: float, delta: float, honest_fraction: float = 1.0, dropout: float = 0.0, **options: Any
) -> list[Way]:  # fmt: skip
    """The plans of all families that answer a question, in their order; refused if none has one.

    >>> questions = [{"name": name, "ask": "histogram", "labels": ["no", "yes"]} for name in ("smokes", "drinks")]
    >>> found = ways("survey", n=10_000, epsilon=1.0, delta=1e-6, questions=questions, way="table")
    >>> [way.name for way in found if way.plan]
    ['shuffledp, joint table']
    """
    asked = ask(
        question, n=reports_expected(n, dropout), epsilon=epsilon, delta=delta, honest_fraction=honest_fraction, options=options
    )  # fmt: skip
    families = registry.answering(asked)
    found, refusals = [], list[InvalidInput | NoClaim]()
    for family in families:
        try:
            plan = certified(asked, family.propose(asked))
        except (InvalidInput, NoClaim) as refused:
            found.append(Way(name=family.name, note=str(refused)))
            refusals.append(refused)
            continue
        found.append(Way(name=family.name, plan=plan, cost=families[0].cost(plan.protocol, asked)))
    if len(refusals) == len(found):
        raise refusals[-1]
    return found


def best_way(found: list[Way]) -> Plan:
    """The plan with the least cost, which must fit this machine."""
    plan = min((way for way in found if way.plan is not None), key=lambda way: way.cost).plan
    if plan is None:
        raise NoClaim("none of the ways is private enough. Use more users or a larger epsilon.")
    plan.check_memory()
    return plan
