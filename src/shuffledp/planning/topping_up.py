"""The plan of a batch that stayed too small: the same question, answered with noise from the shuffler."""

from dataclasses import replace

from shuffledp.core.guarantee import SHUFFLER_NOISE
from shuffledp.errors import InvalidInput
from shuffledp.planning.plan import Plan
from shuffledp.protocols.histogram import Histogram
from shuffledp.protocols.topped_up import ToppedUp
from shuffledp.randomizers.geometric_noise import GeometricNoise, TwoSidedGeometric

_SMALL_PART = 10
_MOST_DUMMIES = 1 << 22
"""In all: a batch that is topped up is small, and its dummies are most of it."""


def topped_up(plan: Plan) -> Plan:
    """With dummies that are as private as the plan, for any number of people.

    They fail with a tenth of the plan's delta, so that a ledger has room for other releases; that takes a few more.

    >>> from shuffledp.planning.planner import plan
    >>> usual = plan("histogram", labels=["no", "yes"], n=10_000, epsilon=1.0, delta=1e-6)
    >>> (topped_up(usual).guarantee.n, topped_up(usual).protocol.noise.peak)
    (1, 30)
    """
    return topped_up_with(plan, TwoSidedGeometric.least(plan.guarantee.epsilon, plan.guarantee.delta / _SMALL_PART))


def topped_up_with(plan: Plan, noise: GeometricNoise) -> Plan:
    """With this noise; refused if it is not private enough."""
    histogram = plan.protocol
    if not isinstance(histogram, Histogram):
        raise InvalidInput(
            "only a batch of a histogram in which each user sends one randomized value can be topped up. Use roll-over or "
            "destroy."
        )
    if plan.over_time is not None:
        raise InvalidInput(
            "what rounds guarantee together is not known if some are topped up. Use roll-over or destroy, or plan one round."
        )
    if histogram.size * noise.mean > _MOST_DUMMIES:
        raise InvalidInput(
            f"{histogram.size:,} values would take {histogram.size * noise.mean:,.0f} dummies, more than a small batch can be "
            "topped up with. Use roll-over or destroy."
        )
    guarantee = replace(plan.guarantee, n=1, caveat=SHUFFLER_NOISE)
    made = replace(
        plan, protocol=ToppedUp(histogram=histogram, noise=noise), guarantee=guarantee, min_batch=1, dropout=None
    )
    if not made.holds():
        raise InvalidInput(
            "the dummies of this task do not give the plan's guarantee. Make the task with shuffledp task new."
        )
    return made


def refuse_topped_up(plan: Plan) -> None:
    """Nobody collects by the plan of a batch that was topped up."""
    if isinstance(plan.protocol, ToppedUp):
        raise InvalidInput(
            "this plan is that of a batch that was topped up. Make a task of the plan it was collected by."
        )
