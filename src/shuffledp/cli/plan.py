"""`shuffledp plan`: from a question to parameters."""

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click

from shuffledp.cli.documents import check_place
from shuffledp.cli.numbers import Real, Whole
from shuffledp.cli.output import print_lines
from shuffledp.cli.over_time import plan_over_time
from shuffledp.cli.plan_output import publish
from shuffledp.cli.progress import working
from shuffledp.cli.questions import QUESTION, QuestionCommand, given_options
from shuffledp.cli.survey_strategies import strategies_table
from shuffledp.core.captions import Wording
from shuffledp.core.turnout import asking
from shuffledp.errors import InvalidInput
from shuffledp.figures.style import check_picture
from shuffledp.planning import registry
from shuffledp.planning.choose import best_plan
from shuffledp.planning.from_targets import plan_from_targets, survey_strategies
from shuffledp.planning.message_gain import message_gain, next_message
from shuffledp.planning.options import QUESTIONS
from shuffledp.planning.plan import Plan

_SEVERAL: Final = QUESTIONS.name


@click.command("plan", cls=QuestionCommand)
@QUESTION
@click.option(
    "--n",
    type=Whole(),
    help="People asked. Without --dropout, this many reports are required before release (min_batch).",
)
@click.option("--epsilon", type=Real(), help="Central privacy parameter.")
@click.option("--delta", type=Real(), required=True, help="Central failure probability.")
@click.option(
    "--dropout",
    type=Real(),
    help="Share of the people asked who may not answer [default: 0]; the plan is for the rest.",
)
@click.option(
    "--honest-fraction",
    type=Real(),
    help="Share of those who answer that is relied on to follow the protocol [default: 1]; the others hide nobody.",
)
@click.option(
    "--rmse",
    type=Real(),
    help="The error to reach, instead of --epsilon (or of --n for a mean or query): of a histogram that of all bins together "
    "(for r per bin, r times the root of their number), or of one value with --objective share.",
)
@click.option(
    "--rmse-share", type=Real(), help="The error to reach, of the answer divided by n, instead of --n or --epsilon."
)
@click.option("--paper", is_flag=True, help="Use the paper's parameters (Theorem 3.1 and Theorem 4.1), for comparison.")
@click.option(
    "--rounds", type=Whole(), help="Plan one of this many rounds; epsilon and delta are for all of them together."
)
@click.option(
    "--rounds-per-person",
    type=Whole(),
    help="Rounds in which one person takes part at most [default: all]; a random part of the people is asked in each.",
)
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    help="With --rounds, draw what they cost (.png, .svg or .pdf).",
)
@click.option("--title", help="Title of the answer, shown above tables, pictures and pages.")
@click.option("--question", "worded_question", metavar="TEXT", help="The question as people are asked it.")
@click.option("--unit", help="Unit of the values that people hold, such as minutes.")
@click.option("-o", "--out", type=click.Path(dir_okay=False, path_type=Path), help="Write the plan to this file.")
@click.option("--force", is_flag=True, help="Replace another file of that name.")
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
def plan_command(
    question: str, paper: bool, plot: Path | None, title: str | None, worded_question: str | None, unit: str | None,
    out: Path | None, force: bool, as_json: bool, **given: Any,
) -> None:  # fmt: skip
    """The most accurate protocol for a QUESTION to n users at (epsilon, delta), certified, and its expected error.

    With --rmse or --rmse-share instead of --n or --epsilon: the fewest users, or the smallest epsilon, for that error.

    With --rounds: the plan of one round of many, and what all of them cost.

    A survey has several questions, which FILE lists (TOML), and is asked in the best of several ways.
    """
    if out is not None:
        check_place(out)
    if plot is not None:
        check_picture(plot)
        check_place(plot)
    if plot is not None and given["rounds"] is None:
        raise InvalidInput("--plot draws what rounds cost, and none are planned. Add --rounds, or leave out --plot.")
    asked = given_options(question, given)
    wording = Wording().changed(title=title, question=worded_question, unit=unit)
    if "rounds" in asked or "rounds_per_person" in asked or plot is not None:
        plan_over_time(question, asked, paper=paper, wording=wording, out=out, force=force, as_json=as_json, plot=plot)
        return
    with working("Planning"):
        strategies = survey_strategies(question, asked, paper=paper) if _SEVERAL in asked else []
        plan = best_plan(strategies) if strategies else plan_from_targets(question, asked, paper=paper)
    plan = replace(plan, wording=wording)
    publish(plan, out, force=force, as_json=as_json)
    if as_json:
        return
    with working("Explaining"):
        explained = plan.explain()
    print_lines(explained)
    if strategies:
        print_lines(f"\n{strategies_table(strategies)}")
    else:
        _print_gains(plan, question, asked)
    dropout = given.get("dropout")
    if dropout is not None:
        print_lines(asking(plan.min_batch, dropout))


def _print_gains(plan: Plan, question: str, asked: dict[str, Any]) -> None:
    """What messages beyond the first buy, and what another one would."""
    options = {option.name for option in registry.options()} | {"honest_fraction"}
    given = {name: value for name, value in asked.items() if name in options}
    with working("Comparing"):
        several = plan.protocol.messages_per_user > 1
        gain = message_gain(plan, question, **given) if several else None
        another = next_message(plan, question, **given)
    if gain is not None:
        print_lines(gain)
    elif asked.get("messages_per_user", 1) > 1:
        print_lines("allowing this few messages beyond one per user would not make the error smaller")
    if another is not None:
        print_lines(another)
