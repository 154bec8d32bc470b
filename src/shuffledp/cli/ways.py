"""Ways to ask several questions, as a table."""

from shuffledp.cli.flags import as_flags
from shuffledp.core.digits import about
from shuffledp.core.tables import aligned
from shuffledp.planning.ways import Way


def ways_table(found: list[Way]) -> str:
    """The expected error of each question in each way, and of all together; the best one is marked."""
    planned = {way.name: way.plan for way in found if way.plan is not None}
    best = min(found, key=lambda way: way.cost)
    errors = {name: plan.protocol.errors_by_question(plan.min_batch) for name, plan in planned.items()}
    rows = [
        [question, *(about(errors[name][question]) for name in planned)] for question in next(iter(errors.values()))
    ]
    rows.append(
        ["all, as a share of their range", *(f"{100 * way.cost**0.5:.2f} %" for way in found if way.name in planned)]
    )
    rows.append(["messages per user", *(f"{plan.protocol.messages_per_user:g}" for plan in planned.values())])
    header = ["expected error", *(_short(name) + (" (best)" if name == best.name else "") for name in planned)]
    notes = [f"{_short(way.name)}: {as_flags(way.note)}" for way in found if way.plan is None]
    return "\n".join([aligned(header, rows), *notes])


def _short(name: str) -> str:
    """Without the name of this package."""
    return name.removeprefix("shuffledp, ")
