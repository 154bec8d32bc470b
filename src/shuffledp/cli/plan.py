"""`shuffledp plan`: from a question to parameters."""

import json
import math
from pathlib import Path

import click

from shuffledp.cli.numbers import Reals, Wholes
from shuffledp.core.digits import rounded_up
from shuffledp.errors import InvalidInput
from shuffledp.planning.plan import Plan, Task, epsilon_at, plan


@click.command("plan")
@click.argument("task", type=click.Choice(["histogram", "sum", "mean"]))
@click.option("--n", type=Wholes(), required=True, help="Reports required before release (min_batch).")
@click.option("--epsilon", type=Reals(), required=True, help="Central privacy parameter.")
@click.option("--delta", type=Reals(), required=True, help="Central failure probability.")
@click.option("--size", type=Wholes(), help="Number of bins (histogram).")
@click.option("--low", type=Reals(), help="Least value (sum, mean) [default: 0].")
@click.option("--high", type=Reals(), help="Greatest value (sum, mean) [default: 1].")
@click.option("--precision", type=Wholes(), help="Steps of the grid (sum, mean) [default: the best].")
@click.option("--honest-fraction", type=Reals(), help="Share of the n users relied on [default: 1].")
@click.option("-o", "--out", type=click.Path(dir_okay=False, path_type=Path), help="Write the plan to this file.")
@click.option("--json", "as_json", is_flag=True, help="Print the plan itself.")
def plan_command(
    task: Task, n: tuple[int, ...], epsilon: tuple[float, ...], delta: tuple[float, ...], size: tuple[int, ...] | None,
    low: tuple[float, ...] | None, high: tuple[float, ...] | None, precision: tuple[int, ...] | None,
    honest_fraction: tuple[float, ...] | None, out: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """The most accurate protocol for a TASK with n users at (epsilon, delta), certified, and its expected error."""
    given = (n, epsilon, delta, size, low, high, precision, honest_fraction)
    if any(value is not None and len(value) > 1 for value in given):
        raise InvalidInput("a plan is for one set of values. Give each option one.")
    if task == "histogram" and (low or high or precision):
        raise InvalidInput("--low, --high and --precision belong to sum and mean. Leave them out.")
    if task != "histogram" and size:
        raise InvalidInput("--size belongs to histogram. Use --precision for a sum or mean.")
    found = plan(
        task,
        n=n[0],
        epsilon=epsilon[0],
        delta=delta[0],
        size=size[0] if size else None,
        low=low[0] if low else 0.0,
        high=high[0] if high else 1.0,
        precision=precision[0] if precision else None,
        honest_fraction=honest_fraction[0] if honest_fraction else 1.0,
    )
    text = json.dumps(found.document(), indent=2, allow_nan=False)
    if out is not None:
        try:
            out.write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise InvalidInput(f"cannot write {out}: {error.strerror}. Choose another place.") from None
    click.echo(text if as_json else _explain(found))


def _explain(found: Plan) -> str:
    """The plan in words."""
    rmse = math.sqrt(found.mean_squared_error)
    shape = f"{found.size} bins" if found.task == "histogram" else f"a grid of {found.size - 1} steps"
    what = "over all bins" if found.task == "histogram" else "at the worst data"
    half = max(1, found.guarantee.n // 2)
    return "\n".join(
        [
            f"{found.task} of {found.min_batch:,} users: randomized response on {shape}",
            f"each user says anything with probability {found.threshold / 2**64:.6g}"
            f" (locally {rounded_up(found.randomizer.epsilon0)}-private), else the truth",
            f"guarantee: {found.guarantee}",
            f"expected error (root mean square, {what}): {rmse:.6g}",
            f"if only {half:,} honest reports arrive, epsilon is {rounded_up(epsilon_at(found, half))}",
        ]
    )
