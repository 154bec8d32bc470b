"""What more than one message per user gains."""

import math
from typing import Any

from shuffledp.core.digits import about
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.planning.ask import ask
from shuffledp.planning.choose import choose
from shuffledp.planning.plan import Plan


def message_gain(plan: Plan, question: str, *, honest_fraction: float = 1.0, **options: Any) -> str:
    """The error of a plan, and what it would be with one message per user, in a sentence.

    >>> from shuffledp.planning.from_targets import plan_for
    >>> found = plan_for("histogram", n=10**6, epsilon=1.0, delta=1e-6, size=1000, messages_per_user=1.1)
    >>> print(message_gain(found, "histogram", size=1000))
    1.043 messages per user instead of 1: standard error of a bin that at most 1 % of the users hold 6.528 instead of 21.17
    """
    asked = ask(
        question, n=plan.min_batch, epsilon=plan.guarantee.epsilon, delta=plan.guarantee.delta,
        honest_fraction=honest_fraction, options=options | {"messages_per_user": None},
    )  # fmt: skip
    try:
        other = about(math.sqrt(asked.cost(choose(asked).protocol)))
    except (InvalidInput, NoClaim):
        other = "no plan"
    return (
        f"{about(plan.protocol.messages_per_user)} messages per user instead of 1: {asked.objective} "
        f"{about(math.sqrt(asked.cost(plan.protocol)))} instead of {other}"
    )
