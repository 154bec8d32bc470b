"""`shuffledp compare`: every protocol for a task, side by side."""

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from shuffledp.cli.numbers import Reals, Wholes
from shuffledp.cli.progress import progress
from shuffledp.cli.tables import aligned
from shuffledp.core.digits import rounded_up
from shuffledp.errors import InvalidInput
from shuffledp.figures.style import check_picture
from shuffledp.planning.compare import RUNS, Candidate, Comparison, compare


@click.command("compare")
@click.argument("task", type=click.Choice(["histogram", "sum", "mean"]))
@click.option("--n", type=Wholes(), required=True, help="Users.")
@click.option("--epsilon", type=Reals(), required=True, help="Central privacy parameter.")
@click.option("--delta", type=Reals(), required=True, help="Central failure probability.")
@click.option("--size", type=Wholes(), help="Number of bins (histogram).")
@click.option("--low", type=Reals(), help="Least value (sum, mean) [default: 0].")
@click.option("--high", type=Reals(), help="Greatest value (sum, mean) [default: 1].")
@click.option("--simulate", is_flag=True, help=f"Also measure the error on {RUNS:,} simulated runs of each.")
@click.option("--seed", type=Wholes(), help="Repeat a simulation [default: a new one each time].")
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw the error against n = 1e3 ... 1e9 (.png, .svg, .pdf).",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def compare_command(
    task: Comparison, simulate: bool, plot: Path | None, as_json: bool, **numbers: tuple[Any, ...] | None
) -> None:
    """All protocols for a TASK at one (epsilon, delta): whom users must trust, what they send, how far off the answer is."""
    if any(value is not None and len(value) > 1 for value in numbers.values()):
        raise InvalidInput("a comparison is for one set of values. Give each option one.")
    given: dict[str, Any] = {name: value[0] for name, value in numbers.items() if value is not None}
    if task == "histogram" and ("low" in given or "high" in given):
        raise InvalidInput("--low and --high belong to sum and mean. Leave them out.")
    if task != "histogram" and "size" in given:
        raise InvalidInput("--size belongs to histogram. Leave it out.")
    if plot is not None:
        from shuffledp.figures.comparison import SIZES, draw

        check_picture(plot)
    with progress(10, "Comparing") as bar:
        rows = compare(task, runs=RUNS if simulate else 0, progress=lambda _: bar.update(1), **given)
    if plot is not None:
        curves = {}
        shared = {name: value for name, value in given.items() if name not in ("n", "seed")}
        with progress(len(SIZES), "Plotting") as bar:
            for n in SIZES:
                curves[n] = compare(task, n=n, **shared)
                bar.update(1)
        draw(task, curves, plot, epsilon=given["epsilon"], delta=given["delta"])
    if as_json:
        document = {"task": task, **given, "runs": RUNS if simulate else 0, "candidates": [asdict(row) for row in rows]}
        click.echo(json.dumps(document, indent=2, allow_nan=False))
    else:
        click.echo(_table(rows, simulate))


def _table(rows: list[Candidate], simulate: bool) -> str:
    header = ["protocol", "users trust", "messages", "bits", "epsilon0", "rmse", *(["simulated"] if simulate else [])]
    cells = []
    for row in rows:
        line = [row.name, row.trust, _whole(row.messages), _whole(row.bits)]
        line.append("-" if row.epsilon0 is None else rounded_up(row.epsilon0, 4))
        line.append("-" if row.rmse is None else _error(row.rmse))
        if simulate:
            line.append("-" if row.simulated is None else _error(row.simulated))
        cells.append(line)
    notes = [f"{row.name}: {row.note}" for row in rows if row.note]
    return "\n".join([aligned(header, cells), *([""] if notes else []), *notes])


def _whole(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _error(value: float) -> str:
    return f"{value:,.1f}" if value >= 1000 and math.isfinite(value) else f"{value:.4g}"
