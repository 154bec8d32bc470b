"""What more than one message per user gains, and what one more would."""

import math
from typing import Any

from shuffledp.core.digits import about
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.planning import registry
from shuffledp.planning.ask import ask
from shuffledp.planning.choose import choose
from shuffledp.planning.options import MESSAGES_PER_USER
from shuffledp.planning.plan import Plan
from shuffledp.planning.question import Question


def message_gain(plan: Plan, question: str, **asked: Any) -> str:
    """The error of a plan, and what it would be with one message per user, in a sentence.

    >>> from shuffledp.planning.from_targets import plan_for
    >>> found = plan_for("histogram", n=10**6, epsilon=1.0, delta=1e-6, size=1000, messages_per_user=1.1)
    >>> print(message_gain(found, "histogram", size=1000))
    1.043 messages per user instead of 1: standard error of a bin that at most 1 % of the users hold 6.528 instead of 21.17
    """
    one = _asked(plan, question, **asked | {"messages_per_user": None})
    try:
        other = about(math.sqrt(one.cost(choose(one).protocol)))
    except (InvalidInput, NoClaim):
        other = "no plan"
    return (
        f"{about(plan.protocol.messages_per_user)} messages per user instead of 1: {one.objective} "
        f"{about(math.sqrt(one.cost(plan.protocol)))} instead of {other}"
    )


def next_message(plan: Plan, question: str, **asked: Any) -> str | None:
    """About what the error would be with one more message per user, in a sentence; None if that would not make it smaller.

    >>> from shuffledp.planning.from_targets import plan_for
    >>> print(next_message(plan_for("mean", n=10**6, epsilon=1.0, delta=1e-6), "mean"))
    with up to 2.25 messages per user: expected error (root mean square) about 7.9e-6 instead of 0.00002644, no local guarantee
    """
    this = _asked(plan, question, **asked)
    more = this.with_one_more(plan.protocol)
    if more is None or plan.guarantee.bound != this.bound:
        return None
    guesses = [guess for family in registry.answering(more) if (guess := family.guess(more)) is not None]
    now, then = this.cost(plan.protocol), min(guesses, default=math.inf)
    if not then < now:
        return None
    allowed = getattr(more, MESSAGES_PER_USER.name)
    return (
        f"with up to {allowed:g} messages per user: {this.objective} about {about(math.sqrt(then), digits=2)} instead of "
        f"{about(math.sqrt(now))}, no local guarantee"
    )


def _asked(plan: Plan, question: str, *, honest_fraction: float = 1.0, **options: Any) -> Question:
    """What a plan answers."""
    promise = plan.guarantee
    return ask(
        question,
        n=plan.min_batch,
        epsilon=promise.epsilon,
        delta=promise.delta,
        honest_fraction=honest_fraction,
        options=options,
    )
