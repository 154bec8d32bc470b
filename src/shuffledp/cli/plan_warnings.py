"""Warnings on standard error, a line each."""

from shuffledp.cli.output import print_error
from shuffledp.planning.concerns import concerns
from shuffledp.planning.plan import Plan


def warn(plan: Plan) -> None:
    """What a careful colleague would ask about this plan."""
    for concern in concerns(plan):
        print_error(f"warning: {concern}")
