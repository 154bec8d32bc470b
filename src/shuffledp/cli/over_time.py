"""`shuffledp plan --rounds`: one round of many, and what all of them cost."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from shuffledp.cli.option_names import as_flags
from shuffledp.cli.output import print_lines
from shuffledp.cli.plan_output import publish
from shuffledp.cli.progress import progress, working
from shuffledp.core.captions import Wording
from shuffledp.core.digits import about, column_up
from shuffledp.core.text_tables import aligned
from shuffledp.errors import InvalidInput
from shuffledp.planning.from_targets import plan_from_targets
from shuffledp.planning.rounds import Choice, choices, fewer, spent

_REST = ("rounds", "rounds_per_person", "epsilon", "delta", "rmse", "rmse_share")


def plan_over_time(
    question: str, given: dict[str, Any], *, paper: bool, wording: Wording, out: Path | None, force: bool, as_json: bool,
    plot: Path | None,
) -> None:  # fmt: skip
    """Plan, write and show."""
    error = {"rmse", "rmse_share"} & given.keys()
    if "rounds" not in given:
        raise InvalidInput("--rounds-per-person is for a plan of several rounds. Add --rounds, or leave it out.")
    if paper or not {"n", "rounds"} <= given.keys() or len(error | {"epsilon"} & given.keys()) != 1:
        raise InvalidInput(
            "rounds are planned for --n and one of --epsilon, --rmse and --rmse-share, and without --paper. Give these two."
        )
    if error and "rounds_per_person" in given:
        raise InvalidInput(
            "an error is planned for people who take part in every round. Leave out --rounds-per-person, or give --epsilon."
        )
    with working("Planning the rounds"):
        plan = replace(plan_from_targets(question, given), wording=wording)
    publish(plan, out, force=force, as_json=as_json)
    if not as_json:
        print_lines(plan.explain())
    if as_json and plot is None:
        return
    total = given.get("rounds_per_person", given["rounds"])
    costs, after = dict[int, float](), sorted(fewer(total))
    with progress(len(after), "Composing") as bar:
        for rounds in after:
            costs |= spent(plan, [rounds])
            bar.update(1)
    with working("Comparing"):
        rest = {name: value for name, value in given.items() if name not in _REST}
        beside = choices(plan, question, **rest)
    if not as_json:
        print_lines(f"\n{_costs(costs)}\n\n{_table(beside, total, plan.protocol.reading.averages)}")
    if plot is not None:
        from shuffledp.figures.over_time import draw_rounds

        draw_rounds(plan, costs, beside, plot)


def _costs(costs: dict[int, float]) -> str:
    rows = [[f"{rounds:,}", epsilon] for rounds, epsilon in zip(costs, column_up(list(costs.values())), strict=True)]
    return aligned(["rounds taken part in", "epsilon spent"], rows)


def _table(beside: list[Choice], chosen: int, averages: bool) -> str:
    rows, planned = [], [choice.plan for choice in beside if choice.plan is not None]
    epsilons = iter(column_up([plan.guarantee.epsilon for plan in planned]))
    for choice in beside:
        mark = " (this plan)" if choice.per_person == chosen else ""
        if choice.plan is None:
            rows.append([f"{choice.per_person:,}{mark}", "-", "-", "-"])
            continue
        error = "-" if choice.rmse is None else about(choice.rmse)
        rows.append([f"{choice.per_person:,}{mark}", f"{choice.plan.min_batch:,}", next(epsilons), error])
    what = "expected error of a round" if averages else "expected error of a round, for all people"
    table = aligned(["rounds per person", "people per round", "epsilon of a round", what], rows)
    return "\n".join(
        [table, *(f"{choice.per_person:,}: {as_flags(choice.note)}" for choice in beside if choice.plan is None)]
    )
