"""A plan that was made: what to know before it is used, its file, and as JSON."""

import json
from pathlib import Path

from shuffledp.cli.documents import write_new
from shuffledp.cli.output import print_error, print_lines
from shuffledp.planning.concerns import concerns
from shuffledp.planning.plan import Plan


def publish(plan: Plan, out: Path | None, *, force: bool, as_json: bool) -> None:
    """Warn as a careful colleague would, then write the plan where that was asked for."""
    for concern in concerns(plan):
        print_error(f"warning: {concern}")
    text = json.dumps(plan.document(), indent=2, allow_nan=False)
    if out is not None:
        write_new(out, text + "\n", replace=force)
    if as_json:
        print_lines(text)
