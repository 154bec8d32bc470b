"""`shuffledp verify`: what certificates, plans, tasks and results promise, proved again."""

import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

import click

from shuffledp.cli.command import Command
from shuffledp.cli.exit_codes import NO_CLAIM
from shuffledp.cli.output import json_option, show
from shuffledp.cli.progress import working
from shuffledp.core.digits import counted
from shuffledp.core.files import read_json
from shuffledp.core.visible import visible
from shuffledp.verification.verify import verify


@click.command(
    "verify",
    cls=Command,
    epilog="Exit code: 0 if every promise is confirmed, 3 if one is not, 2 for a file that is not JSON.",
)
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@json_option
def verify_command(files: tuple[Path, ...], as_json: bool) -> None:
    """Prove again what documents promise, in ball arithmetic, with none of the code that found it.

    Each FILE is a certificate (`shuffledp account --certificate`), a plan, a task or a result. Give the plan or the task of a
    result as well, to compare it with them.
    """
    documents = [(file, read_json(file, "a certificate, plan, task or result", "Give one of these.")) for file in files]
    beside, verifications = [document for _, document in documents], []
    for file, document in documents:
        with working(f"Verifying {file.name}") as say:
            verifications.append((file, verify(document, _counter(say), beside=beside)))
    words = "\n".join(f"{visible(str(file))}: {verification}" for file, verification in verifications)
    result = {"results": [{"file": str(file)} | verification.document() for file, verification in verifications]}
    show(result, words, as_json=as_json)
    if not all(verification.confirmed for _, verification in verifications):
        sys.exit(NO_CLAIM)


def _counter(say: Callable[[str], None]) -> Callable[[], None]:
    """Says how many sums there were; how many it takes is not known before."""
    steps = count(1)
    return lambda: say(counted(next(steps), "sum"))
