"""`shuffledp verify`: certificates, proved again."""

import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

import click

from shuffledp.certificates.verify import Verification, verify
from shuffledp.cli.exits import NO_CLAIM
from shuffledp.cli.output import json_option, show
from shuffledp.cli.progress import working
from shuffledp.core.digits import counted
from shuffledp.core.files import read_json


@click.command(
    "verify", epilog="Exit code: 0 if every claim is confirmed, 3 if one is not, 2 for a file that is not JSON."
)
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@json_option
def verify_command(files: tuple[Path, ...], as_json: bool) -> None:
    """Prove the claims of certificates again, in ball arithmetic, with none of the code that made them.

    Each FILE is a certificate (`shuffledp account --certificate`), or JSON with one in its field "certificate".
    """
    found = []
    for file in files:
        document = read_json(file, "JSON", "Give a certificate.")
        with working(f"Verifying {file.name}") as say:
            found.append((file, verify(document, _counter(say))))
    words = "\n".join(_words(file, verification) for file, verification in found)
    result = {"results": [{"file": str(file)} | verification.document() for file, verification in found]}
    show(result, words, as_json=as_json)
    if not all(verification.confirmed for _, verification in found):
        sys.exit(NO_CLAIM)


def _counter(say: Callable[[str], None]) -> Callable[[], None]:
    """Says how many sums there were; how many it takes is not known before."""
    steps = count(1)
    return lambda: say(counted(next(steps), "sum"))


def _words(file: Path, found: Verification) -> str:
    lines = [f"{file}: {found.verdict}: {found.reason}"]
    if found.certificate is not None:
        lines.append(f"  claim: {found.certificate.statement}")
    if found.reached is not None:
        lines.append(f"  proved at this epsilon: delta <= {found.reached:.6g}")
    return "\n".join(lines)
