"""`shuffledp client` and `shuffledp simulate-clients`: reports from the command line."""

import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any, Literal

import click

from shuffledp.cli.command import Command, Group
from shuffledp.cli.csv_options import separator_options
from shuffledp.cli.output import print_lines, show
from shuffledp.cli.progress import progress
from shuffledp.cli.row_options import policy_options
from shuffledp.cli.task import fingerprints, read_task
from shuffledp.cli.tokens import read_tokens
from shuffledp.core.randomness import KeyedRandomness
from shuffledp.core.report_outcome import Outcome
from shuffledp.domains.domain import Policy
from shuffledp.errors import InvalidInput
from shuffledp.protocols.randomized import fits, randomized
from shuffledp.service.client.client import Announcement, Client
from shuffledp.service.client.sender import NotDelivered, Sender, submit
from shuffledp.service.sealing.keys import KeyList
from shuffledp.service.task import Task
from shuffledp.sources.file_source import FileSource

_FILE = click.Path(dir_okay=False, path_type=Path)
_INNER = "Public keys of an inner shuffler; repeat for each, starting next to the analyzer."
_EARLIER = "an earlier report for this window has arrived and stands; the value given now was not used"


@click.group("client", cls=Group)
def client_group() -> None:
    """A user's side of a collection."""


@client_group.command("submit", context_settings={"allow_extra_args": True})
@click.argument("task", type=_FILE)
@click.option("--url", required=True, help="Address of the shuffler.")
@click.option("--analyzer-keys", type=_FILE, help="The analyzer's public list of keys, from the analyzer.")
@click.option(
    "--analyzer-fingerprint", "fingerprint", help="Instead of the list: the fingerprint of the analyzer's key."
)
@click.option("--value-file", type=click.File("r"), default="-", help="File with the value [default: standard input].")
@click.option("--shuffler-keys", type=_FILE, multiple=True, help=_INNER)
@click.option("--token", type=_FILE, help="File with one token, if the shuffler requires tokens.")
@click.option(
    "--state",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="Folder for reports that have not arrived yet.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def submit_command(
    context: click.Context, task: Path, url: str, analyzer_keys: Path | None, fingerprint: str | None,
    shuffler_keys: tuple[Path, ...], token: Path | None, value_file: Any, state: Path, as_json: bool,
) -> None:  # fmt: skip
    """Report one value for TASK in the current window.

    The value is read from standard input, because other users can see command-line arguments.
    """
    if context.args:  # perhaps the value: it is not shown
        raise InvalidInput("the value is read from standard input, not given as an argument. Give nothing after TASK.")
    loaded, sender = read_task(task), Sender(url=url)
    tokens = read_tokens(token) if token is not None else [b""]
    if len(tokens) != 1:
        raise InvalidInput(f"{token} has {len(tokens)} tokens. Give a file with one.")
    try:
        text = value_file.read().strip()
    except UnicodeDecodeError:
        raise InvalidInput("the value is not text in UTF-8. Save it in that encoding.") from None
    analyzer, announced = _analyzer(analyzer_keys, fingerprint, loaded, sender)
    client = Client(task=loaded, analyzer=analyzer, inner_shufflers=[*map(KeyList.load, shuffler_keys)], folder=state)
    if not client.reports:
        _check_value(loaded, text)
    done = submit(client, text, sender=sender, credential=tokens[0], announced=announced)
    if not done.outcome.arrived:
        raise InvalidInput(
            f"the shuffler did not accept the report ({done.outcome}). Check that task and keys are current."
        )
    show(
        {"outcome": done.outcome, "earlier": done.earlier},
        _EARLIER if done.earlier else "the report has arrived",
        as_json=as_json,
    )
    print_lines(fingerprints(analyzer), err=True)


@click.command("simulate-clients", cls=Command)
@click.argument("task", type=_FILE)
@click.argument("data", type=_FILE)
@click.option("--column", help="Column with the values, unless the plan names its columns; one client per row.")
@policy_options
@separator_options
@click.option("--url", required=True, help="Address of the shuffler.")
@click.option("--analyzer-keys", type=_FILE, required=True, help="The analyzer's public list of keys.")
@click.option("--shuffler-keys", type=_FILE, multiple=True, help=_INNER)
@click.option("--tokens", type=_FILE, help="File with one token per row, if the shuffler requires tokens.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def simulate_clients(
    task: Path, data: Path, column: str | None, missing: Literal["refuse", "skip"], missing_as: str | None,
    outside: Literal["refuse", "clamp"], match: Literal["exactly", "loosely"], other: str | None, separator: str,
    decimal: str, url: str, analyzer_keys: Path, shuffler_keys: tuple[Path, ...], tokens: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Report every row of DATA as a client of TASK would: randomize, seal and send for real, from one machine."""
    policy = Policy(missing=missing, missing_as=missing_as, outside=outside, match=match, other=other)
    loaded, sender = read_task(task), Sender(url=url)
    lists = [_of_analyzer(KeyList.load(analyzer_keys)), *map(KeyList.load, shuffler_keys)]
    if len(lists) != loaded.hops:
        raise InvalidInput(f"this task has {loaded.hops} shufflers. Give the keys of all but the outermost.")
    credentials = read_tokens(tokens) if tokens is not None else None
    protocol, randomness, outcomes = loaded.plan.protocol, KeyedRandomness.fresh(), Counter[Outcome]()
    rejected, adjusted = Counter[str](), Counter[str]()
    source = FileSource(data, column=column, separator=separator, decimal=decimal)
    announced = sender.described(loaded)
    with progress(1000, "Reporting") as bar:
        for chunk in source.checked_chunks(protocol.domain):
            row = chunk.first_row
            clean, messages = randomized(protocol, chunk.raw, randomness, policy, first_row=row, in_file=True)
            rejected, adjusted = rejected + clean.rejected, adjusted + clean.adjusted
            rows = len(clean.values)
            if credentials is not None and len(credentials) < row + rows:
                raise InvalidInput(f"there are only {len(credentials):,} tokens. Issue one for each row.")
            tokens_here = [b""] * rows if credentials is None else credentials[row : row + rows]
            kept = [True] * rows if clean.keep is None else clean.keep.tolist()
            sealed = [
                token + announced.wrapped(announced.sealed(sent, loaded, lists), loaded)
                for sent, token, takes_part in zip(protocol.by_user(messages, rows), tokens_here, kept, strict=True)
                if takes_part
            ]
            try:
                outcomes.update(sender.send(loaded, sealed))
            except NotDelivered as error:
                raise InvalidInput(str(error)) from None
            bar.update(int(1000 * chunk.share) - bar.pos)
    found_outcomes = dict(sorted(outcomes.items()))
    lines = [f"{outcome}: {count:,}" for outcome, count in found_outcomes.items()]
    lines += [f"not sent: {count:,} {reason}" for reason, count in rejected.items()]
    lines += [f"adjusted: {count:,} {reason}" for reason, count in adjusted.items()]
    document = {"outcomes": found_outcomes, "rejected": dict(rejected), "adjusted": dict(adjusted)}
    show(document, "\n".join(lines), as_json=as_json)
    if not all(outcome.arrived for outcome in outcomes):
        sys.exit(1)


def _analyzer(
    keys: Path | None, fingerprint: str | None, task: Task, sender: Sender
) -> tuple[KeyList, Announcement | None]:
    """The analyzer's keys that the user trusts, and what the shuffler announced if they are known by a fingerprint."""
    if (keys is None) == (fingerprint is None):
        raise InvalidInput(
            "the analyzer's keys must come from the analyzer. Give --analyzer-keys or --analyzer-fingerprint."
        )
    if keys is not None:
        return _of_analyzer(KeyList.load(keys)), None
    wanted = str(fingerprint).strip().lower()
    if not re.fullmatch("[0-9a-f]{64}", wanted):
        raise InvalidInput("a fingerprint is 64 hexadecimal digits. Copy all of them, as keygen shows them.")
    if task.hops > 1:
        raise InvalidInput(
            "with several shufflers the shuffler does not know the analyzer's keys. Give --analyzer-keys."
        )
    announced = sender.described(task)
    listed = announced.next_keys
    trusted = [key for key in listed.keys if listed.fingerprint(key) == wanted]
    if not trusted:
        raise InvalidInput("the shuffler announces no key with this fingerprint. Ask the analyzer for the current one.")
    return KeyList(role=listed.role, keys=tuple(trusted)), announced


def _check_value(task: Task, text: str) -> None:
    """Refuse a value that does not fit, before anybody is asked for anything."""
    protocol = task.plan.protocol
    if not fits(protocol, text):
        few = " or ".join(str(sample) for sample in protocol.domain.samples()[:2])
        raise InvalidInput(
            f"the value is not one that this task takes. Write e.g. {few} to standard input, or use --value-file."
        )


def _of_analyzer(keys: KeyList) -> KeyList:
    if keys.role != "analyzer":
        raise InvalidInput(f"these keys belong to the {keys.role}. Give the analyzer's published list.")
    return keys
