"""Warnings on standard error, a line each."""

import click

from shuffledp.planning.concerns import concerns
from shuffledp.planning.plan import Plan


def warn(plan: Plan) -> None:
    """What a careful colleague would ask about this plan."""
    for concern in concerns(plan):
        click.echo(f"shuffledp: warning: {concern}", err=True)
