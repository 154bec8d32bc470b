"""`shuffledp analyzer` and `shuffledp ledger`: from a released batch to a result."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from shuffledp.cli.files import write_bytes, write_text
from shuffledp.cli.numbers import Reals, Wholes
from shuffledp.cli.progress import progress
from shuffledp.cli.secrets import read_secret
from shuffledp.cli.state import state_folder
from shuffledp.cli.tables import aligned
from shuffledp.cli.task import read_task
from shuffledp.core.digits import rounded_up
from shuffledp.errors import InvalidInput
from shuffledp.esa.analyzer import analyze
from shuffledp.esa.collector import Collector
from shuffledp.esa.keys import KeyRing
from shuffledp.esa.ledger import Ledger, releases
from shuffledp.esa.opened import OpenedBefore
from shuffledp.figures.report import check_report, page, picture

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.group("analyzer")
def analyzer_group() -> None:
    """The analyzer: opens released batches and estimates."""


@analyzer_group.command("run")
@click.argument("task", type=_FILE)
@click.option("--url", required=True, help="Address of the shuffler.")
@click.option("--token", type=_FILE, required=True, help="File with the analyzer's token.")
@click.option("--keys", type=_FILE, required=True, help="The analyzer's key file.")
@click.option("--batch", type=Wholes(), help="Which batch [default: the latest released one].")
@click.option("--ledger", type=_FILE, help="Budget file of the population.")
@click.option("--budget-epsilon", type=Reals(), help="Its epsilon; needed for a new ledger only.")
@click.option("--budget-delta", type=Reals(), help="Its delta; needed for a new ledger only.")
@click.option("--expect-head", metavar="HEX", help="Refuse a ledger without this head, which an earlier result showed.")
@click.option(
    "--opened",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder that remembers which reports were opened [default: opened in shuffledp's state folder].",
)
@click.option("--processes", type=Wholes(), help="Processes that open records [default: all cores].")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("-o", "--out", type=_FILE, help="Write the JSON to this file.")
@click.option(
    "--report", "reports", type=_FILE, multiple=True, help="Write a page (.html) or a picture (.png); may be repeated."
)
def run_analyzer(
    task: Path, url: str, token: Path, keys: Path, batch: tuple[int, ...] | None, ledger: Path | None,
    budget_epsilon: tuple[float, ...] | None, budget_delta: tuple[float, ...] | None, expect_head: str | None,
    opened: Path | None, processes: tuple[int, ...] | None, as_json: bool, out: Path | None,
    reports: tuple[Path, ...],
) -> None:  # fmt: skip
    """Fetch a released batch of TASK, open it, and say what it says, under which guarantee."""
    for path in reports:
        check_report(path)
    if any(given is not None and len(given) != 1 for given in (batch, processes)):
        raise InvalidInput("--batch and --processes take one number each.")
    found, ring = read_task(task), KeyRing.load(keys)
    book = _ledger(ledger, budget_epsilon, budget_delta, expect_head)
    if book is not None:
        book.check()
    released = Collector(url=url, token=read_secret(token)).fetch(found, batch[0] if batch else None)
    with progress(1000, "Opening") as bar:
        result = analyze(
            released, found, ring, ledger=book, opened_before=OpenedBefore(opened or state_folder() / "opened"),
            processes=processes[0] if processes else os.cpu_count() or 1,
            watch=lambda share: bar.update(int(1000 * share) - bar.pos),
        )  # fmt: skip
    text = json.dumps(result, indent=2, allow_nan=False)
    if out is not None:
        write_text(out, text + "\n")
    for path in reports:
        write_bytes(path, page(result).encode() if path.suffix.lower() == ".html" else picture(result))
    click.echo(text if as_json else _words(result))


@click.group("ledger")
def ledger_group() -> None:
    """Budgets of populations."""


@ledger_group.command("show")
@click.argument("ledger", type=_FILE)
@click.option("--expect-head", metavar="HEX", help="Refuse a ledger without this head, which an earlier result showed.")
def show(ledger: Path, expect_head: str | None) -> None:
    """What was spent of LEDGER's budget."""
    if not ledger.is_file():
        raise InvalidInput(f"there is no ledger {ledger}. The first release makes one.")
    click.echo(_spent(asdict(Ledger(ledger, expect_head=expect_head).balance())))


def _ledger(
    path: Path | None, epsilon: tuple[float, ...] | None, delta: tuple[float, ...] | None, expect_head: str | None
) -> Ledger | None:
    if any(given is not None and len(given) != 1 for given in (epsilon, delta)):
        raise InvalidInput("--budget-epsilon and --budget-delta take one number each.")
    if path is None:
        if epsilon or delta or expect_head:
            raise InvalidInput("a budget is kept in a ledger. Give --ledger.")
        return None
    return Ledger(
        path, epsilon=epsilon[0] if epsilon else None, delta=delta[0] if delta else None, expect_head=expect_head
    )


def _spent(balance: dict[str, Any]) -> str:
    """The budget in two lines."""
    spent, budget, delta = (rounded_up(balance[name]) for name in ("spent_epsilon", "budget_epsilon", "delta"))
    return (
        f"budget: epsilon = {spent} of {budget} spent at delta = {delta} in {releases(balance['releases'])}\n"
        f"ledger head {balance['head']}"
    )


def _words(result: dict[str, Any]) -> str:
    """The result for people."""
    estimate, guarantee = result["estimate"], result["guarantee"]
    many = isinstance(estimate["value"], list)
    names = estimate.get("labels", ["answer"])
    columns = [estimate[key] if many else [estimate[key]] for key in ("value", "standard_error", "interval")]
    rows = [
        [name, f"{value:.6g}", f"{error:.6g}", f"{low:.6g}", f"{high:.6g}"]
        for name, value, error, (low, high) in zip(names, *columns, strict=True)
    ]
    percent = f"{100 * estimate['confidence']:g} %"
    lines = [aligned(["", "estimate", "standard error", f"{percent} from", "to"], rows), ""]
    lines.append(f"{result['n']:,} valid of {result['received']:,} reports")
    lines += [f"rejected: {count:,} {reason}" for reason, count in sorted(result["rejected"].items())]
    delta = f"delta = {rounded_up(guarantee['delta'])}"
    lines.append(f"epsilon = {rounded_up(guarantee['epsilon'])} at {delta} from {guarantee['n']:,} honest reports on")
    honest, received = guarantee["realised_honest"], result["received"]
    lines.append(
        f"epsilon = {rounded_up(guarantee['realised_epsilon'])} at {delta} if at least {honest:,} of the {received:,} reports "
        f"received ({rounded_up(100 * honest / received, 3)} %) are from honest users"
    )
    shift = rounded_up(result["max_shift_per_false_report"])
    lines.append(f"one false report can shift an estimate by at most {shift}")
    lines.append(result["trust"])
    lines += result["notes"]
    if result["ledger"]:
        lines.append(_spent(result["ledger"]))
    return "\n".join(lines)
