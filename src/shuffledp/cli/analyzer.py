"""`shuffledp analyzer` and `shuffledp ledger`: from a released batch to a result."""

import json
import os
from pathlib import Path
from typing import Any

import click

from shuffledp.cli.files import write_bytes, write_text
from shuffledp.cli.numbers import Reals, Wholes
from shuffledp.cli.progress import progress
from shuffledp.cli.secrets import read_secret
from shuffledp.cli.tables import aligned
from shuffledp.cli.task import read_task
from shuffledp.core.digits import rounded_up
from shuffledp.errors import InvalidInput
from shuffledp.esa.analyzer import analyze, open_batch
from shuffledp.esa.collector import Collector
from shuffledp.esa.keys import KeyRing
from shuffledp.esa.ledger import Ledger
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
@click.option("--budget-epsilon", type=Reals(), help="Its epsilon.")
@click.option("--budget-delta", type=Reals(), help="Its delta.")
@click.option("--processes", type=Wholes(), help="Processes that open records [default: all cores].")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("-o", "--out", type=_FILE, help="Write the JSON to this file.")
@click.option(
    "--report", "reports", type=_FILE, multiple=True, help="Write a page (.html) or a picture (.png); may be repeated."
)
def run_analyzer(
    task: Path, url: str, token: Path, keys: Path, batch: tuple[int, ...] | None, ledger: Path | None,
    budget_epsilon: tuple[float, ...] | None, budget_delta: tuple[float, ...] | None, processes: tuple[int, ...] | None,
    as_json: bool, out: Path | None, reports: tuple[Path, ...],
) -> None:  # fmt: skip
    """Fetch a released batch of TASK, open it, and say what it says, under which guarantee."""
    for path in reports:
        check_report(path)
    if any(given is not None and len(given) != 1 for given in (batch, processes)):
        raise InvalidInput("--batch and --processes take one number each.")
    found, ring = read_task(task), KeyRing.load(keys)
    book = _ledger(ledger, budget_epsilon, budget_delta)
    data, digest = Collector(url=url.rstrip("/"), token=read_secret(token)).fetch(found, batch[0] if batch else None)
    with progress(1000, "Opening") as bar:
        opened = open_batch(
            data, found, ring, processes=processes[0] if processes else os.cpu_count() or 1,
            watch=lambda share: bar.update(int(1000 * share) - bar.pos),
        )  # fmt: skip
    result = analyze(opened, found, digest=digest, ledger=book)
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
@click.option("--budget-epsilon", type=Reals(), required=True, help="The budget's epsilon.")
@click.option("--budget-delta", type=Reals(), required=True, help="The budget's delta.")
def show(ledger: Path, budget_epsilon: tuple[float, ...], budget_delta: tuple[float, ...]) -> None:
    """What was spent of LEDGER's budget."""
    if not ledger.is_file():
        raise InvalidInput(f"there is no ledger {ledger}. The first release makes one.")
    book = _ledger(ledger, budget_epsilon, budget_delta)
    balance = book.balance() if book is not None else None
    if balance is not None:
        click.echo(
            f"{balance.releases} releases, epsilon = {rounded_up(balance.spent_epsilon)} of {rounded_up(balance.epsilon)}"
        )
        click.echo(f"head {balance.head}")


def _ledger(path: Path | None, epsilon: tuple[float, ...] | None, delta: tuple[float, ...] | None) -> Ledger | None:
    if path is None:
        if epsilon or delta:
            raise InvalidInput("a budget needs a ledger to be kept in. Give --ledger.")
        return None
    if epsilon is None or delta is None or len(epsilon) != 1 or len(delta) != 1:
        raise InvalidInput("a ledger has one budget. Give --budget-epsilon and --budget-delta.")
    return Ledger(path, epsilon=epsilon[0], delta=delta[0])


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
    lines.append(
        f"epsilon = {rounded_up(guarantee['epsilon'])} at delta = {rounded_up(guarantee['delta'])} "
        f"with {guarantee['n']:,} honest reports; {rounded_up(guarantee['realised_epsilon'])} with those that came"
    )
    lines.append(f"each lying report shifts an estimate by at most {rounded_up(result['one_lie_shifts_by_at_most'])}")
    lines.append(result["trust"])
    if result["ledger"]:
        spent, budget = rounded_up(result["ledger"]["spent_epsilon"]), rounded_up(result["ledger"]["budget_epsilon"])
        lines.append(f"budget: epsilon = {spent} of {budget} spent in {result['ledger']['releases']} releases")
        lines.append(f"ledger head {result['ledger']['head']}")
    return "\n".join(lines)
