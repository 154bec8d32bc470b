"""`shuffledp simulate`: what a plan would answer, many times over, from a true histogram alone."""

import json
from pathlib import Path

import click
import numpy as np

from shuffledp.cli.candidate_options import candidates_option
from shuffledp.cli.command import Command
from shuffledp.cli.csv_options import separator_options
from shuffledp.cli.documents import read_plan
from shuffledp.cli.numbers import WholeRange
from shuffledp.cli.output import print_error, print_lines
from shuffledp.cli.progress import progress
from shuffledp.core.digits import counted
from shuffledp.results.rehearsal import rehearse
from shuffledp.results.simulation import simulate
from shuffledp.sources.candidates_file import read_candidates
from shuffledp.sources.csv_dialect import Dialect
from shuffledp.sources.population_file import read_population

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("simulate", cls=Command)
@click.argument("plan", type=_FILE)
@click.option(
    "--truth",
    type=_FILE,
    required=True,
    help="CSV file; each line is a value or label and the number of users who hold it. A line of headings may come first.",
)
@separator_options
@candidates_option
@click.option(
    "--trials", type=WholeRange(1, 10**7), default="1000", show_default=True, help="Number of simulated runs."
)
@click.option(
    "--whole-runs",
    type=WholeRange(0, 10**6),
    default="0",
    help="Also simulate this many whole runs, to see what is found (heavy-hitters).",
)
@click.option("--seed", type=WholeRange(0), help="Seed, to repeat a simulation [default: a new one each time].")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def simulate_command(
    plan: Path, truth: Path, separator: str, decimal: str, candidates: Path | None, trials: int, whole_runs: int,
    seed: int | None, as_json: bool,
) -> None:  # fmt: skip
    """How far off PLAN's answers are for the users in --truth.

    Counts are drawn from their exact distribution, for a billion users in milliseconds. Simulated answers carry no
    guarantee.
    """
    chosen = read_plan(plan).about(None if candidates is None else read_candidates(candidates))
    population = read_population(truth, chosen.protocol.domain, Dialect(separator=separator, decimal=decimal))
    if population.n < chosen.min_batch:
        print_error(
            f"warning: these are {counted(population.n, 'user')}, and with fewer than {chosen.min_batch:,} nothing would be "
            "released."
        )
    with progress(trials, "Simulating") as bar:
        simulation = simulate(
            chosen, population, trials=trials, generator=np.random.default_rng(seed), progress=bar.update
        )
    whole = None
    if whole_runs:
        with progress(whole_runs, "Running") as bar:
            whole = rehearse(chosen, population, runs=whole_runs, seed=seed, progress=bar.update)
    if as_json:
        runs = {} if whole is None else {"whole_runs": whole.document()}
        print_lines(json.dumps(simulation.document() | runs, indent=2, allow_nan=False))
        return
    print_lines(str(simulation))
    if whole is not None:
        print_lines(str(whole))
