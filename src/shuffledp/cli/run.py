"""`shuffledp run`: a plan carried out on a file."""

import json
from pathlib import Path
from typing import Any, Literal

import click

from shuffledp.arithmetic.balls import sum_up
from shuffledp.cli import history
from shuffledp.cli.files import read_plan, write_text
from shuffledp.cli.numbers import Reals, Wholes
from shuffledp.cli.progress import progress
from shuffledp.cli.tables import aligned
from shuffledp.core.digits import rounded_up
from shuffledp.engines.answer import Answer
from shuffledp.engines.derived import derived
from shuffledp.engines.intake import Policy
from shuffledp.engines.run import run_file
from shuffledp.errors import InvalidInput
from shuffledp.figures.style import check_picture

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("run")
@click.argument("plan", type=_FILE)
@click.argument("data", type=_FILE)
@click.option("--column", help="Column with the values.")
@click.option("--query", help="SQL expression of one row's columns, instead of a column.")
@click.option(
    "--missing",
    type=click.Choice(["refuse", "skip"]),
    default="refuse",
    show_default=True,
    help="What to do with missing values.",
)
@click.option("--missing-as", metavar="VALUE", help="Let missing values count as this bin or number.")
@click.option(
    "--outside",
    type=click.Choice(["refuse", "clamp"]),
    default="refuse",
    show_default=True,
    help="What to do with numbers outside the plan's range.",
)
@click.option("--other", metavar="LABEL", help="Let labels that the plan does not know count as this one.")
@click.option(
    "--user", metavar="COLUMN", help="Column that says who a row belongs to; a second row of somebody is refused."
)
@click.option("--max-rows-per-user", type=Wholes(), help="Use at most so many rows a person, and account for them.")
@click.option("--confidence", type=Reals(), help="Of the intervals [default: 0.95].")
@click.option("--simultaneous", is_flag=True, help="Intervals that hold for all bins at once.")
@click.option("--project", is_flag=True, help="Also the nearest possible histogram: nothing negative, n in all.")
@click.option("--frequencies", is_flag=True, help="Also shares of users.")
@click.option("--cdf", is_flag=True, help="Also cumulative counts, in the plan's order of bins.")
@click.option("--quantile", type=Reals(), help="Also the bins where these shares of users are reached.")
@click.option("--top", type=Wholes(), help="Also the largest bins.")
@click.option("--range", "ranges", metavar="FIRST..LAST", multiple=True, help="Also the count from one bin to another.")
@click.option("--multiline", is_flag=True, help="Cells of the CSV file may contain line breaks.")
@click.option("--truth", is_flag=True, help="Also the exact answer, which is not private.")
@click.option("--plot", type=_FILE, help="Draw the answer (.png, .svg or .pdf).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("-o", "--out", type=_FILE, help="Write the JSON to this file.")
def run_command(
    plan: Path, data: Path, column: str | None, query: str | None, missing: Literal["refuse", "skip"],
    missing_as: str | None, outside: Literal["refuse", "clamp"], other: str | None, user: str | None,
    max_rows_per_user: tuple[int, ...] | None, confidence: tuple[float, ...] | None, simultaneous: bool,
    project: bool, frequencies: bool, cdf: bool, quantile: tuple[float, ...] | None, top: tuple[int, ...] | None,
    ranges: tuple[str, ...], multiline: bool, truth: bool, plot: Path | None, as_json: bool, out: Path | None,
) -> None:  # fmt: skip
    """Carry out PLAN on DATA (CSV, Parquet or Arrow, one report a row): randomize, shuffle, estimate."""
    for name, given in (("--max-rows-per-user", max_rows_per_user), ("--confidence", confidence), ("--top", top)):
        if given is not None and len(given) > 1:
            raise InvalidInput(f"{name} takes one number. Give one.")
    if plot is not None:
        check_picture(plot)
    if out is not None and not out.parent.is_dir():
        raise InvalidInput(f"cannot write {out}: there is no folder {out.parent}. Choose another place.")
    chosen = read_plan(plan)
    level = confidence[0] if confidence else 0.95
    with progress(1000, "Randomizing") as bar:
        answer = run_file(
            chosen, data, column=column, query=query, user=user, truth=truth, multiline=multiline,
            policy=Policy(missing=missing, missing_as=missing_as, outside=outside, other=other),
            max_rows_per_user=max_rows_per_user[0] if max_rows_per_user else None,
            progress=lambda share: bar.update(int(1000 * share) - bar.pos),
        )  # fmt: skip
    document = answer.document(confidence=level, simultaneous=simultaneous)
    extra = derived(
        answer, confidence=level, project=project, frequencies=frequencies, cdf=cdf, quantiles=quantile or (),
        top=top[0] if top else None, ranges=ranges,
    )  # fmt: skip
    if extra:
        document["derived"] = extra
    document["notes"] += _spend(answer, data)  # before anything is shown
    if plot is not None:
        from shuffledp.figures.answers import draw

        draw(answer, plot, confidence=level, simultaneous=simultaneous)
    if out is not None:
        write_text(out, json.dumps(document, indent=2, allow_nan=False) + "\n")
    click.echo(json.dumps(document, indent=2, allow_nan=False) if as_json else _words(answer, document))


def _spend(answer: Answer, data: Path) -> list[str]:
    """Write the release down, and warn when these people were asked before."""
    if answer.guarantee is None:  # pragma: no cover - the command's randomness is always secret
        return []
    notes = []
    mark, promise = history.digest(data), answer.guarantee
    before = history.earlier(mark)
    if before:
        same = sum(release.plan == answer.plan.sha256 for release in before)
        if all(release.unit == promise.adjacency for release in before):
            epsilon = rounded_up(sum_up(promise.epsilon, *(release.epsilon for release in before)))
            delta = rounded_up(sum_up(promise.delta, *(release.delta for release in before)))
            together = f"All answers together are ({epsilon}, {delta})-differentially private by adding up."
        else:
            together = (
                "They protect different things (one row, or several rows of a person), so their budgets do not add up."
            )
        notes.append(
            f"The budget is spent again: this file was answered {len(before)} time(s) before ({same} with this plan). {together}"
        )
    if not history.remember(mark, answer.plan.sha256, promise.epsilon, promise.delta, promise.adjacency):
        notes.append("This release could not be written down, so a second one will not be noticed.")
    for note in notes:
        click.echo(f"shuffledp: warning: {note}", err=True)
    return notes


def _words(answer: Answer, document: dict[str, Any]) -> str:
    """The answer for people."""
    low, high = (column.tolist() for column in answer.estimate.interval(
        document["estimate"]["confidence"], simultaneous=document["estimate"].get("simultaneous", False)
    ))  # fmt: skip
    level = f"{100 * document['estimate']['confidence']:g} %"
    header = [answer.plan.task, "estimate", "standard error", f"{level} from", "to"]
    rows = [
        [name, *(_number(x) for x in numbers)]
        for name, *numbers in zip(
            answer.names, answer.estimate.value, answer.estimate.standard_error, low, high, strict=True
        )
    ]
    if answer.truth is not None:
        header.append("truth (not private)")
        rows = [[*row, _number(exact)] for row, exact in zip(rows, answer.truth, strict=True)]
    lines = [aligned(header, rows), ""]
    lines.append(f"{answer.n:,} reports, {answer.unit}")
    for what, tally in (("rejected", answer.rejected), ("adjusted", answer.adjusted)):
        lines += [f"{what}: {count:,} {reason}" for reason, count in tally.items()]
    for name, value in document.get("derived", {}).items():
        lines.append(f"{name}: {json.dumps(value)}")
    if answer.guarantee is not None:
        lines.append(f"guarantee: {answer.guarantee}")
        if answer.realised_epsilon is not None and answer.realised_epsilon < answer.guarantee.epsilon:
            lines.append(f"with the reports that came, epsilon is {rounded_up(answer.realised_epsilon)}")
    return "\n".join([*lines, *(f"note: {note}" for note in answer.notes)])


def _number(value: float) -> str:
    return f"{value:,.2f}" if abs(value) >= 1000 else f"{value:.6g}"
