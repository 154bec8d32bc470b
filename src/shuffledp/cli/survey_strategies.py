"""Ways to ask several questions, as a table."""

from collections.abc import Sequence

from shuffledp.cli.option_names import as_flags
from shuffledp.core.digits import about
from shuffledp.core.text_tables import aligned
from shuffledp.planning.choose import Proposal
from shuffledp.planning.plan import Plan


def strategies_table(strategies: Sequence[Proposal[Plan]]) -> str:
    """The expected error of each question in each way, and of all together; the best one is marked."""
    plans = {strategy.family: strategy.made for strategy in strategies if strategy.made is not None}
    best = min(strategies, key=lambda strategy: strategy.cost).family
    errors = {name: plan.forecast.by_question for name, plan in plans.items()}
    rows = [[question, *(about(errors[name][question]) for name in plans)] for question in next(iter(errors.values()))]
    costs = [f"{100 * strategy.cost**0.5:.2f} %" for strategy in strategies if strategy.made is not None]
    rows.append(["all, as a share of their range", *costs])
    rows.append(["messages per user", *(f"{plan.protocol.messages_per_user:g}" for plan in plans.values())])
    header = ["expected error", *(_short(name) + (" (best)" if name == best else "") for name in plans)]
    notes = [
        f"{_short(strategy.family)}: {as_flags(str(strategy.refusal))}"
        for strategy in strategies
        if strategy.refusal is not None
    ]
    return "\n".join([aligned(header, rows), *notes])


def _short(name: str) -> str:
    """Without the name of this package."""
    return name.removeprefix("shuffledp, ")
