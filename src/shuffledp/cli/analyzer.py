"""`shuffledp analyzer` and `shuffledp ledger`: from a released batch to a result."""

import json
import os
from dataclasses import asdict
from pathlib import Path

import click

from shuffledp.cli.candidate_options import candidates_option, false_positives_option, top_option
from shuffledp.cli.command import Group
from shuffledp.cli.documents import check_place, write_bytes, write_text
from shuffledp.cli.download_options import max_batch_option
from shuffledp.cli.numbers import Real, WholeRange
from shuffledp.cli.output import print_error, print_lines
from shuffledp.cli.progress import progress
from shuffledp.cli.secret_files import read_secret
from shuffledp.cli.spark_options import check_engine, spark_options
from shuffledp.cli.state_folder import state_folder
from shuffledp.cli.task import read_task
from shuffledp.cli.unsealing_option import chosen_tallier, unsealing_option
from shuffledp.engines.export import read_export
from shuffledp.errors import InvalidInput
from shuffledp.figures.result_page import check_report, rendered
from shuffledp.results.derived import derived
from shuffledp.results.text import in_words
from shuffledp.service.analyzer.analyzer import analyze, check_role
from shuffledp.service.analyzer.batch_fetcher import BatchFetcher
from shuffledp.service.analyzer.ledger import Ledger
from shuffledp.service.analyzer.opened_reports import OpenedReports
from shuffledp.service.sealing.keys import KeyRing
from shuffledp.sources.candidates_file import read_candidates

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.group("analyzer", cls=Group)
def analyzer_group() -> None:
    """The analyzer: opens released batches and estimates."""


@analyzer_group.command("run")
@click.argument("task", type=_FILE)
@click.option("--url", required=True, help="Address of the shuffler.")
@click.option("--token", type=_FILE, required=True, help="File with the analyzer's token.")
@click.option("--keys", type=_FILE, required=True, help="The analyzer's key file.")
@click.option("--batch", type=WholeRange(1), help="Which batch [default: the latest released one].")
@max_batch_option
@candidates_option
@top_option
@false_positives_option
@click.option("--ledger", type=_FILE, help="Budget file of the population.")
@click.option("--budget-epsilon", type=Real(), help="The budget's epsilon; only for a new ledger.")
@click.option("--budget-delta", type=Real(), help="The budget's delta; only for a new ledger.")
@click.option(
    "--expect-head", metavar="HEX", help="Refuse a ledger that does not contain this head, shown by an earlier result."
)
@click.option(
    "--opened",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder that remembers which reports were opened [default: opened in shuffledp's state folder].",
)
@click.option("--processes", type=WholeRange(1), help="Processes that open records [default: all cores].")
@unsealing_option
@spark_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("-o", "--out", type=_FILE, help="Write the JSON to this file, in place of one that is there.")
@click.option(
    "--report", "reports", type=_FILE, multiple=True, help="Write a page (.html) or a picture (.png); may be repeated."
)
def run_analyzer(
    task: Path, url: str, token: Path, keys: Path, batch: int | None, max_batch_bytes: int,
    candidates: Path | None, top: int | None, false_positives: float | None, ledger: Path | None,
    budget_epsilon: float | None, budget_delta: float | None, expect_head: str | None, opened: Path | None, processes: int | None,
    engine: str, master: str | None, remote: str | None,
    as_json: bool, out: Path | None, reports: tuple[Path, ...],
) -> None:  # fmt: skip
    """Fetch a released batch of TASK, open it, and print the estimate with its guarantee."""
    for path in reports:
        check_report(path)
    for path in (*reports, *([] if out is None else [out])):
        check_place(path)
    loaded, ring = read_task(task), KeyRing.load(keys)
    check_role(ring)
    asked = None if candidates is None else read_candidates(candidates)
    loaded.plan.about(asked)  # refused before anything is fetched
    book = _ledger(ledger, budget_epsilon, budget_delta, expect_head)
    if book is not None:
        book.check()
    check_engine(engine, master, remote)
    released = BatchFetcher(url=url, token=read_secret(token), max_batch_bytes=max_batch_bytes).fetch(loaded, batch)
    with chosen_tallier(engine, master, remote) as tallier, progress(1000, "Opening") as bar:
        answer = analyze(
            released, loaded, ring, ledger=book, opened_reports=OpenedReports(opened or state_folder() / "opened"),
            processes=processes or os.cpu_count() or 1, candidates=asked, tallier=tallier,
            watch=lambda share: bar.update(int(1000 * share) - bar.pos),
        )  # fmt: skip
    result = answer.document()
    try:
        extra = derived(answer, top=top, false_positives=false_positives)
        if extra:
            result["derived"] = extra
    except InvalidInput as refusal:  # the budget is booked, so the answer must not get lost
        print_error(f"warning: {refusal}")
    text = json.dumps(result, indent=2, allow_nan=False)
    if out is not None:
        write_text(out, text + "\n")
    for path in reports:
        write_bytes(path, rendered(result, path))
    print_lines(text if as_json else in_words(result, answer.unit, answer.guarantee))


@analyzer_group.command("read")
@click.argument("table", type=_FILE)
@candidates_option
@top_option
@false_positives_option
@click.option("--confidence", type=Real(), default="0.95", show_default=True, help="Confidence of the intervals.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("-o", "--out", type=_FILE, help="Write the JSON to this file, in place of one that is there.")
def read_table(
    table: Path,
    candidates: Path | None,
    top: int | None,
    false_positives: float | None,
    confidence: float,
    as_json: bool,
    out: Path | None,
) -> None:
    """Estimate from TABLE, which `shuffledp export` wrote; an edited table is refused."""
    if out is not None:
        check_place(out)
    answer = read_export(table, None if candidates is None else read_candidates(candidates))
    document = answer.document(confidence=confidence)
    extra = derived(answer, confidence=confidence, top=top, false_positives=false_positives)
    if extra:
        document["derived"] = extra
    words, text = in_words(document, answer.unit, answer.guarantee), json.dumps(document, indent=2, allow_nan=False)
    print_lines(text if as_json else words)
    if out is not None:
        write_text(out, text + "\n")


@click.group("ledger", cls=Group)
def ledger_group() -> None:
    """Budgets of populations, kept by `shuffledp analyzer run --ledger FILE`."""


@ledger_group.command("show")
@click.argument("ledger", type=_FILE)
@click.option(
    "--expect-head", metavar="HEX", help="Refuse a ledger that does not contain this head, shown by an earlier result."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(ledger: Path, expect_head: str | None, as_json: bool) -> None:
    """How much of LEDGER's budget is spent."""
    if not ledger.is_file():
        raise InvalidInput(f"there is no ledger {ledger}. The first release creates one.")
    balance = Ledger(ledger, expect_head=expect_head).balance()
    print_lines(json.dumps(asdict(balance), indent=2) if as_json else str(balance))


def _ledger(path: Path | None, epsilon: float | None, delta: float | None, expect_head: str | None) -> Ledger | None:
    if path is None:
        if any(given is not None for given in (epsilon, delta, expect_head)):
            raise InvalidInput("a budget is kept in a ledger. Give --ledger.")
        return None
    return Ledger(path, epsilon=epsilon, delta=delta, expect_head=expect_head)
