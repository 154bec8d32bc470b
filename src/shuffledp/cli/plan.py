"""`shuffledp plan`: from a question to parameters."""

import json
from pathlib import Path
from typing import Any

import click

from shuffledp.cli.files import write_text
from shuffledp.cli.numbers import Reals, Wholes
from shuffledp.core.digits import rounded_up
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.planning.inverse import epsilon_possible, users_needed
from shuffledp.planning.plan import TASKS, Plan, Task, epsilon_at, plan


@click.command("plan")
@click.argument("task", type=click.Choice(TASKS))
@click.option("--n", type=Wholes(), help="Reports required before release (min_batch).")
@click.option("--epsilon", type=Reals(), help="Central privacy parameter.")
@click.option("--delta", type=Reals(), required=True, help="Central failure probability.")
@click.option("--size", type=Wholes(), help="Number of bins (histogram).")
@click.option("--labels", metavar="A,B,...", help="Names of the bins, separated by commas (histogram).")
@click.option("--labels-file", type=click.Path(dir_okay=False, path_type=Path), help="Names of the bins, one a line.")
@click.option("--low", type=Reals(), help="Least value (sum, mean [default: 0]; histogram of numbers).")
@click.option("--high", type=Reals(), help="Greatest value (sum, mean [default: 1]; histogram of numbers).")
@click.option("--precision", type=Wholes(), help="Steps of the grid (sum, mean, query) [default: the best].")
@click.option("--honest-fraction", type=Reals(), help="Share of the n users relied on [default: 1].")
@click.option("--rmse", type=Reals(), help="The error to reach: leave out --epsilon (or --n for a mean or query).")
@click.option(
    "--rmse-share", type=Reals(), help="The error to reach, of the answer divided by n: leave out --n or --epsilon."
)
@click.option("--paper", is_flag=True, help="Plan as the paper does (Theorem 3.1 and Theorem 4.1), to compare.")
@click.option("-o", "--out", type=click.Path(dir_okay=False, path_type=Path), help="Write the plan to this file.")
@click.option("--json", "as_json", is_flag=True, help="Print the plan itself.")
def plan_command(
    task: Task, labels: str | None, labels_file: Path | None, paper: bool, out: Path | None, as_json: bool,
    **numbers: tuple[Any, ...] | None,
) -> None:  # fmt: skip
    """The most accurate protocol for a TASK with n users at (epsilon, delta), certified, and its expected error.

    With --rmse or --rmse-share instead of --n or --epsilon: the fewest users, or the smallest epsilon, for that error.
    """
    if any(value is not None and len(value) > 1 for value in numbers.values()):
        raise InvalidInput("a plan is for one set of values. Give each option one.")
    given: dict[str, Any] = {name: value[0] for name, value in numbers.items() if value is not None}
    if task == "histogram" and "precision" in given:
        raise InvalidInput("--precision belongs to sum, mean and query. Use --size for a histogram.")
    if task != "histogram" and ("size" in given or labels or labels_file):
        raise InvalidInput("--size and --labels belong to histogram. Use --precision, or leave it out.")
    named = _labels(labels, labels_file)
    if named is not None:
        given["labels"] = named
    found = _solved(task, given, paper)
    text = json.dumps(found.document(), indent=2, allow_nan=False)
    if out is not None:
        write_text(out, text + "\n")
    click.echo(text if as_json else explain(found))


def _solved(task: Task, given: dict[str, Any], paper: bool) -> Plan:
    rmse, share = given.pop("rmse", None), given.pop("rmse_share", None)
    if rmse is None and share is None:
        if "n" not in given or "epsilon" not in given:
            raise InvalidInput(
                "a plan needs --n and --epsilon, or an error (--rmse, --rmse-share) instead of one of them."
            )
        return plan(task, paper=paper, **given)
    if (rmse is not None and share is not None) or ("n" in given) == ("epsilon" in given) or paper:
        raise InvalidInput(
            "for an error, give one of --rmse and --rmse-share, one of --n and --epsilon, and no --paper."
        )
    is_mean = task in ("mean", "query")
    if "n" in given:
        target = rmse if share is None else share if is_mean else share * given["n"]
        return epsilon_possible(task, rmse=target, **given)
    if rmse is not None and not is_mean:
        raise InvalidInput(
            f"more users do not make the error of a {task} smaller, only its share of n. Use --rmse-share."
        )
    return users_needed(task, rmse_share=rmse if share is None else share, **given)


def _labels(text: str | None, file: Path | None) -> list[str] | None:
    if text is not None and file is not None:
        raise InvalidInput("give --labels or --labels-file, not both.")
    if file is not None:
        try:
            return file.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            raise InvalidInput(f"cannot read labels from {file}. Give a text file with one a line.") from None
    return None if text is None else [label.strip() for label in text.split(",")]


def explain(found: Plan) -> str:
    """The plan in words."""
    shape = f"{found.size} bins" if found.task == "histogram" else f"a grid of {found.size - 1} steps"
    what = "over all bins" if found.task == "histogram" else "at the worst data"
    half = max(1, found.guarantee.n // 2)
    lines = [
        f"{found.task} of {found.min_batch:,} users: randomized response on {shape}",
        f"each user says anything with probability {found.threshold / 2**64:.6g}"
        f" (locally {rounded_up(found.randomizer.epsilon0)}-private), else the truth",
        f"guarantee: {found.guarantee}",
        f"expected error (root mean square, {what}): {found.rmse:.6g}",
    ]
    if found.paper_error is not None:
        lines.append(
            f"mean squared error {found.mean_squared_error:.6g}; the paper bounds it by {found.paper_error:.6g}"
        )
    try:
        lines.append(f"if only {half:,} honest reports arrive, epsilon is {rounded_up(epsilon_at(found, half))}")
    except NoClaim as error:
        lines.append(f"if only {half:,} honest reports arrive, this bound says nothing: {error}")
    return "\n".join(lines)
