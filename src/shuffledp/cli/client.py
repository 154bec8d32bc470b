"""`shuffledp client` and `shuffledp simulate-clients`: reports from the command line."""

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import click

from shuffledp.cli.progress import progress
from shuffledp.cli.task import read_task
from shuffledp.cli.tokens import read_tokens
from shuffledp.core.words import KeyedWords
from shuffledp.engines.intake import Intake, Policy
from shuffledp.engines.table import Table
from shuffledp.errors import InvalidInput
from shuffledp.esa.client import Client
from shuffledp.esa.crypto import seal_message
from shuffledp.esa.keys import KeyList
from shuffledp.esa.sender import ARRIVED, NotDelivered, Sender, submit
from shuffledp.esa.task import Task
from shuffledp.protocols.histogram import Histogram

_FILE = click.Path(dir_okay=False, path_type=Path)
_INNER = "Public keys of a shuffler after the first, from the analyzer out; once for each."


@click.group("client")
def client_group() -> None:
    """A user's side of a collection."""


@client_group.command("submit")
@click.argument("task", type=_FILE)
@click.option("--url", required=True, help="Address of the shuffler.")
@click.option("--analyzer-keys", type=_FILE, required=True, help="The analyzer's public list of keys.")
@click.option("--value-file", type=click.File("r"), default="-", help="Where the value is [default: standard input].")
@click.option("--shuffler-keys", type=_FILE, multiple=True, help=_INNER)
@click.option("--token", type=_FILE, help="File with one token, if the shuffler wants them.")
@click.option(
    "--state", type=click.Path(file_okay=False, path_type=Path), required=True, help="Folder where reports wait."
)
def submit_command(
    task: Path, url: str, analyzer_keys: Path, shuffler_keys: tuple[Path, ...], token: Path | None, value_file: Any, state: Path
) -> None:  # fmt: skip
    """Report one value for TASK in the current window. The value is read, not given as an argument: others see those."""
    found, sender = read_task(task), Sender(url=url.rstrip("/"))
    tokens = read_tokens(token) if token is not None else [b""]
    if len(tokens) != 1:
        raise InvalidInput(f"{token} has {len(tokens)} tokens. Give a file with one.")
    shufflers = [*map(KeyList.load, shuffler_keys), sender.keys(found)]
    client = Client(task=found, analyzer=KeyList.load(analyzer_keys), shufflers=shufflers, folder=state)
    try:
        text = value_file.read().strip()
    except UnicodeDecodeError:
        raise InvalidInput("the value is not text in UTF-8.") from None
    outcome = submit(client, _value(found, text), sender=sender, credential=tokens[0])
    if outcome not in ARRIVED:
        raise InvalidInput(f"the shuffler did not take the report ({outcome}). Check that task and keys are current.")
    click.echo("the report has arrived")


@click.command("simulate-clients")
@click.argument("task", type=_FILE)
@click.argument("data", type=_FILE)
@click.option("--column", required=True, help="Column with the values; one client a row.")
@click.option("--url", required=True, help="Address of the shuffler.")
@click.option("--analyzer-keys", type=_FILE, required=True, help="The analyzer's public list of keys.")
@click.option("--shuffler-keys", type=_FILE, multiple=True, help=_INNER)
@click.option("--tokens", type=_FILE, help="File with a token for each row, if the shuffler wants them.")
def simulate_clients(
    task: Path, data: Path, column: str, url: str, analyzer_keys: Path, shuffler_keys: tuple[Path, ...], tokens: Path | None
) -> None:  # fmt: skip
    """Let every row of DATA be a client of TASK: randomize, seal and send for real, from one machine."""
    found, sender = read_task(task), Sender(url=url.rstrip("/"))
    analyzer, shufflers = KeyList.load(analyzer_keys), [*map(KeyList.load, shuffler_keys), sender.keys(found)]
    credentials = read_tokens(tokens) if tokens is not None else None
    table, words = Table(path=data, labels=found.plan.labels or ()), KeyedWords.fresh()
    name, outcomes, row = table.column(column), Counter[str](), 0
    intake = Intake(found.plan.protocol, Policy())
    protocol = found.plan.protocol
    plain = Histogram(protocol.randomizer) if isinstance(protocol, Histogram) else protocol
    with progress(1000, "Reporting") as bar:
        for batch, share in table.batches([name]):
            values, _ = intake.take(batch.column(name), row)
            messages = plain.randomizer.randomize(plain.encode(values, words, first_row=row), words, first_row=row)
            sealed = [seal_message(int(message), found, analyzer, shufflers) for message in messages]
            if credentials is not None:
                if len(credentials) < row + len(sealed):
                    raise InvalidInput(f"there are only {len(credentials):,} tokens. Issue one for each row.")
                sealed = [token + record for token, record in zip(credentials[row:], sealed, strict=False)]
            try:
                outcomes.update(sender.send(found, sealed))
            except NotDelivered as error:
                raise InvalidInput(str(error)) from None
            row += len(values)
            bar.update(int(1000 * share) - bar.pos)
    for outcome, count in sorted(outcomes.items()):
        click.echo(f"{outcome}: {count:,}")
    if set(outcomes) - set(ARRIVED):
        sys.exit(1)


def _value(task: Task, text: str) -> Any:
    """What the user typed, as the plan understands it; never shown."""
    protocol = task.plan.protocol
    if isinstance(protocol, Histogram) and protocol.bins.labels is not None:
        return text
    number = None
    try:
        number = float(text)
    except ValueError:
        number = None
    if number is None:
        raise InvalidInput("the value is not a number. This task takes numbers.")
    return (
        int(number) if isinstance(protocol, Histogram) and not protocol.bins.numeric and number.is_integer() else number
    )
