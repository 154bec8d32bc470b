"""`shuffledp run`: a plan carried out on a file."""

import json
from pathlib import Path
from typing import Final, Literal

import click

from shuffledp.cli.candidate_options import candidates_option, false_positives_option, top_option
from shuffledp.cli.command import Command
from shuffledp.cli.documents import check_place, read_plan, write_bytes, write_text
from shuffledp.cli.numbers import Real, Reals
from shuffledp.cli.output import print_error, print_lines
from shuffledp.cli.progress import progress
from shuffledp.cli.row_options import chosen_rows, row_options
from shuffledp.cli.state_folder import state_folder
from shuffledp.core.visible import visible
from shuffledp.domains.domain import Policy
from shuffledp.engines.run import run_source
from shuffledp.figures.result_page import check_report, rendered
from shuffledp.figures.style import check_picture
from shuffledp.results.derived import check_asked, derived
from shuffledp.results.history import NOT_REMEMBERED, History
from shuffledp.results.result import Result
from shuffledp.results.text import in_words
from shuffledp.sources.candidates_file import read_candidates

_FILE = click.Path(dir_okay=False, path_type=Path)
_FEW: Final = 10
"""Shares that are a line."""


def _shares(result: Result) -> list[str]:
    """What share of the users has each value, in lines: nobody should ask again, and spend again, to see it."""
    if result.counted_questions:
        each = {f" by {visible(name)}": result.frequencies(name) for name in result.counted_questions}
    elif result.statistics is not None and result.statistics.curve is None:
        each = {"": result.frequencies()}
    else:
        return []
    lines = []
    for what, shares in each.items():
        listed = zip(shares.names, shares.value, strict=True)
        said = "; ".join(f"{visible(name)} {100 * share:.1f} %" for name, share in listed)
        if len(shares.names) > _FEW:
            said = f"the estimates divided by {result.n:,}{'' if what else '; with --frequencies they are listed'}"
        lines.append(f"shares of users{what}: {said}")
    return lines


@click.command("run", cls=Command)
@row_options
@candidates_option
@click.option("--confidence", type=Real(), default="0.95", show_default=True, help="Confidence of the intervals.")
@click.option("--simultaneous", is_flag=True, help="Intervals that hold for all bins at once.")
@click.option(
    "--project",
    is_flag=True,
    help="Also the nearest possible histogram or curve (no negative counts, n in total), which is no longer unbiased.",
)
@click.option("--frequencies", is_flag=True, help="Also the share of users in each bin.")
@click.option("--cdf", is_flag=True, help="Also cumulative counts, in the plan's order of bins.")
@click.option(
    "--quantile",
    type=Reals(),
    help="Also the bins where these shares of users are reached [default for a distribution: quartiles].",
)
@top_option
@false_positives_option
@click.option(
    "--range",
    "ranges",
    metavar="FIRST..LAST",
    multiple=True,
    help="Also the count from one bin to another, or between two edges of a distribution.",
)
@click.option("--truth", is_flag=True, help="Also show the exact answer, which is not private.")
@click.option("--plot", type=_FILE, help="Draw the answer (.png, .svg or .pdf).")
@click.option(
    "--report", "reports", type=_FILE, multiple=True, help="Write a page (.html) or a picture (.png); may be repeated."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("-o", "--out", type=_FILE, help="Write the JSON to this file, in place of one that is there.")
def run_command(
    plan: Path, data: Path | None, files: str | None, column: str | None, query: str | None, candidates: Path | None,
    missing: Literal["refuse", "skip"], missing_as: str | None, outside: Literal["refuse", "clamp"], other: str | None,
    match: Literal["exactly", "loosely"],
    explain_errors: bool, user: str | None, max_rows_per_user: int | None, row_id: str | None, confidence: float,
    simultaneous: bool, project: bool, frequencies: bool, cdf: bool, quantile: tuple[float, ...] | None, top: int | None,
    false_positives: float | None,
    ranges: tuple[str, ...], separator: str, decimal: str, multiline: bool, engine: str, master: str | None,
    remote: str | None, table: str | None, truth: bool, plot: Path | None,
    reports: tuple[Path, ...],
    as_json: bool, out: Path | None,
) -> None:  # fmt: skip
    """Carry out PLAN on DATA (or --files: CSV, Parquet or Arrow, one report per row): randomize, shuffle, estimate."""
    if plot is not None:
        check_picture(plot)
    for path in reports:
        check_report(path)
    for path in (*reports, *filter(None, (plot, out))):
        check_place(path)
    chosen, asked = read_plan(plan, data), None if candidates is None else read_candidates(candidates)
    check_asked(
        chosen, confidence=confidence, quantiles=quantile or (), others=bool(
            project or frequencies or cdf or top is not None or ranges or false_positives is not None
        ),
    )  # fmt: skip
    rows = chosen_rows(
        data, files, table, engine=engine, master=master, remote=remote, column=column, query=query, user=user,
        max_rows_per_user=max_rows_per_user, row_id=row_id, multiline=multiline, separator=separator, decimal=decimal,
    )  # fmt: skip
    with rows as (paths, source, how), progress(1000, "Randomizing") as bar:
        result = run_source(
            chosen, source, truth=truth, engine=how, candidates=asked,
            policy=Policy(
                missing=missing, missing_as=missing_as, outside=outside, other=other, match=match,
                explain_errors=explain_errors,
            ),
            progress=lambda share: bar.update(int(1000 * share) - bar.pos),
        )  # fmt: skip
    document = result.document(confidence=confidence, simultaneous=simultaneous)
    extra = derived(
        result, confidence=confidence, simultaneous=simultaneous, project=project, frequencies=frequencies, cdf=cdf,
        quantiles=quantile or (), top=top, ranges=ranges, false_positives=false_positives,
    )  # fmt: skip
    if extra:
        document["derived"] = extra
    words = in_words(document, result.unit, result.guarantee)
    words = "\n".join([words, *([] if frequencies else _shares(result))])
    notes = [NOT_REMEMBERED]
    if paths:
        notes = History(state_folder() / "releases.jsonl").book(result, paths)  # before anything is shown
    for warning in (*notes, *filter(None, (result.misfits, result.cost_of_rows))):
        print_error(f"warning: {warning}")
    document["notes"] += notes
    text = json.dumps(document, indent=2, allow_nan=False)
    print_lines(text if as_json else words)  # first: the budget is booked, so it must not get lost
    if out is not None:
        write_text(out, text + "\n")
    for path in (*reports, *([] if plot is None else [plot])):
        write_bytes(path, rendered(document, path))
