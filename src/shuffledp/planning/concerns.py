"""What a careful colleague would ask about a plan before it is used."""

import math
from collections.abc import Iterator
from typing import Final

from shuffledp.core.digits import rounded_up
from shuffledp.domains.grouped_reals import GroupedReals
from shuffledp.domains.reals import RealRange
from shuffledp.domains.vectors import Vectors
from shuffledp.planning.plan import Plan
from shuffledp.protocols.by_group import BySum
from shuffledp.protocols.cumulative import Cumulative
from shuffledp.protocols.deployable import Deployable
from shuffledp.protocols.survey import Survey

LARGE_EPSILON: Final = 10.0
USELESS: Final = 0.5
"""An error of this share of the whole range says nothing."""


def concerns(plan: Plan) -> Iterator[str]:
    """A sentence of fact and one of advice for each.

    >>> from shuffledp.planning.from_targets import plan_for
    >>> for one in concerns(plan_for("query", n=1000, epsilon=1.0, delta=0.01)):
    ...     print(one)
    delta = 0.01 is above 1/n = 0.001: publishing the value of one person picked at random would satisfy it. Use 1e-6 or less.
    """
    people, promise, total = plan.min_batch, plan.guarantee, plan.over_time
    epsilon, delta = promise.epsilon, promise.delta
    if total is not None:
        people, epsilon, delta = people * total.rounds // total.per_person, total.epsilon, total.delta
    if delta > 1 / people:
        yield (
            f"delta = {rounded_up(delta)} is above 1/n = {1 / people:.3g}: publishing the value of one person picked at "
            "random would satisfy it. Use 1e-6 or less."
        )
    if epsilon > LARGE_EPSILON:
        yield (
            f"epsilon = {rounded_up(epsilon)} is large: it hardly limits what can be learned about a person. Usual values "
            "are 0.1 to 2."
        )
    error = _error(plan.protocol, plan.min_batch)
    if error > USELESS:
        yield (
            f"the expected error is {100 * error:.0f} % of the whole range, so the answer would say next to nothing. Ask more "
            "people, ask for less, or allow a larger epsilon."
        )


def _error(protocol: Deployable, n: int) -> float:
    """How far off the answer is, as a share of all that it can be: a mean's of its range, a count's of the users.

    Of several questions the worst, of groups one with an even share of the users, of a distribution its quartiles.
    """
    if isinstance(protocol, BySum):
        share = 1 / protocol.groups
        return math.sqrt(protocol.group_variance(share, n)) / (
            _span(protocol) * (1 if protocol.reading.averages else share * n)
        )
    if isinstance(protocol, Cumulative):
        return protocol.rank_error(n)
    if isinstance(protocol, Survey):
        errors = zip(protocol.questions, protocol.errors(n), strict=True)
        return math.sqrt(max(question.share_error(squared, n) for question, squared in errors))
    return protocol.rmse(n) / (_span(protocol) * (1 if protocol.reading.averages else n))


def _span(protocol: Deployable) -> float:
    """How far apart the answers of two people can be; counts are of 1 each."""
    domain = protocol.domain
    if isinstance(domain, GroupedReals):
        domain = domain.value
    if isinstance(domain, Vectors):
        return domain.diameter
    return domain.span if isinstance(domain, RealRange) else 1.0
