"""`shuffledp verify`: what certificates, plans, tasks and results promise, proved again."""

import json
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, Final

import click

from shuffledp.cli.exits import NO_CLAIM
from shuffledp.cli.output import json_option, one_line_each, show
from shuffledp.cli.progress import working
from shuffledp.core.canonical import digest
from shuffledp.core.digits import counted, rounded_up
from shuffledp.core.files import read_json
from shuffledp.verification.verify import Verification, verify

_LONGEST: Final = 200
"""Characters of a randomizer's document that are shown."""


@click.command(
    "verify", epilog="Exit code: 0 if every promise is confirmed, 3 if one is not, 2 for a file that is not JSON."
)
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@json_option
def verify_command(files: tuple[Path, ...], as_json: bool) -> None:
    """Prove what documents promise again, in ball arithmetic, with none of the code that found it.

    Each FILE is a certificate (`shuffledp account --certificate`), a plan, a task or a result. Give the plan or the task of a
    result as well: then they are compared.
    """
    documents = [(file, read_json(file, "a certificate, plan, task or result", "Give one of these.")) for file in files]
    beside, found = [document for _, document in documents], []
    for file, document in documents:
        with working(f"Verifying {file.name}") as say:
            found.append((file, verify(document, _counter(say), beside=beside)))
    words = "\n".join(_words(file, verification) for file, verification in found)
    result = {"results": [{"file": str(file)} | verification.document() for file, verification in found]}
    show(result, words, as_json=as_json)
    if not all(verification.confirmed for _, verification in found):
        sys.exit(NO_CLAIM)


def _counter(say: Callable[[str], None]) -> Callable[[], None]:
    """Says how many sums there were; how many it takes is not known before."""
    steps = count(1)
    return lambda: say(counted(next(steps), "sum"))


def _randomizer(document: dict[str, Any]) -> str:
    """What the users run whom the claim is about: its document, or the hash of that if it is long."""
    whole = json.dumps(document)
    return whole if len(whole) <= _LONGEST else f"the {document['kind']} with SHA-256 {digest(document)}"


def _words(file: Path, found: Verification) -> str:
    lines = [f"{file}: {found.verdict}: {found.reason}"]
    lines += [f"  proved: {claim}" for claim in found.proved]
    if found.proved and found.certificate is not None:
        lines.append(f"  randomizer: {_randomizer(found.certificate.randomizer)}")
    lines += [f"  not proved: {what}" for what in found.not_proved]
    if found.reached is not None:
        lines.append(f"  proved at this epsilon: delta <= {rounded_up(found.reached)}")
    return one_line_each(lines)
