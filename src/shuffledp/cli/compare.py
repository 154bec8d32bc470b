"""`shuffledp compare`: every protocol for a question, side by side."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from shuffledp.baselines.compare import RUNS, compare
from shuffledp.baselines.registry import families
from shuffledp.cli.documents import check_place
from shuffledp.cli.numbers import Real, Whole
from shuffledp.cli.option_names import as_flags
from shuffledp.cli.output import print_lines
from shuffledp.cli.progress import progress
from shuffledp.cli.questions import QUESTION, QuestionCommand, given_options
from shuffledp.figures.style import check_picture


@click.command("compare", cls=QuestionCommand)
@QUESTION
@click.option("--n", type=Whole(), required=True, help="Number of users.")
@click.option("--epsilon", type=Real(), required=True, help="Central privacy parameter.")
@click.option("--delta", type=Real(), required=True, help="Central failure probability.")
@click.option("--simulate", is_flag=True, help=f"Also measure the error in {RUNS:,} simulated runs of each protocol.")
@click.option("--seed", type=Whole(), help="Seed, to repeat a simulation [default: a new one each time].")
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw the error against n = 1e3 ... 1e9 (.png, .svg, .pdf).",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def compare_command(question: str, simulate: bool, plot: Path | None, as_json: bool, **arguments: Any) -> None:
    """All protocols for a QUESTION at one (epsilon, delta): whom users must trust, what they send, how far off the answer is."""
    if plot is not None:
        from shuffledp.figures.comparison import SIZES, draw

        check_picture(plot)
        check_place(plot)
    given = given_options(question, arguments)
    with progress(len(families(question)), "Comparing") as bar:
        rows = compare(question, runs=RUNS if simulate else 0, progress=lambda _: bar.update(1), **given)
    if plot is not None:
        curves = {}
        shared = {name: value for name, value in given.items() if name not in ("n", "seed")}
        with progress(len(SIZES), "Plotting") as bar:
            for n in SIZES:
                curves[n] = compare(question, n=n, **shared)
                bar.update(1)
        draw(question, curves, plot, epsilon=given["epsilon"], delta=given["delta"])
    if as_json:
        document = {
            "question": question, **given, "runs": RUNS if simulate else 0, "candidates": [asdict(row) for row in rows]
        }  # fmt: skip
        print_lines(json.dumps(document, indent=2, allow_nan=False))
    else:
        print_lines(as_flags(str(rows)))
