"""What more than one message per user buys."""

import math
from typing import Any

from shuffledp.core.digits import about
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.planning.plan import Plan, ask, plan
from shuffledp.protocols import registry


def bought(found: Plan, question: str, *, honest_fraction: float = 1.0, **options: Any) -> str:
    """The error of a plan, and what it would be with one message per user, in a sentence.

    >>> found = plan("histogram", n=10**6, epsilon=1.0, delta=1e-6, size=1000, messages_per_user=1.1)
    >>> print(bought(found, "histogram", size=1000))
    1.043 messages per user instead of 1: standard error of a bin that at most 1 % of the users hold 6.528 instead of 21.17
    """
    numbers: dict[str, Any] = {
        "n": found.min_batch,
        "epsilon": found.guarantee.epsilon,
        "delta": found.guarantee.delta,
        "honest_fraction": honest_fraction,
    }
    given = options | {"messages_per_user": None}
    asked = ask(question, options=given, **numbers)
    judge = registry.planned(question)[0]
    try:
        other = about(math.sqrt(judge.cost(plan(question, **numbers, **given).protocol, asked)))
    except (InvalidInput, NoClaim):
        other = "no plan"
    return (
        f"{about(found.protocol.messages_per_user)} messages per user instead of 1: {judge.objective(asked)} "
        f"{about(math.sqrt(judge.cost(found.protocol, asked)))} instead of {other}"
    )
