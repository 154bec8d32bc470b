"""`shuffledp tokens`: who may report, once per token."""

import base64
from pathlib import Path

import click

from shuffledp.cli.command import Group
from shuffledp.cli.documents import check_place
from shuffledp.cli.numbers import WholeRange
from shuffledp.cli.output import json_option, show
from shuffledp.cli.secret_files import read_secret, write_secret
from shuffledp.cli.task import read_task
from shuffledp.core.digits import counted
from shuffledp.core.files import create_private
from shuffledp.errors import InvalidInput
from shuffledp.service.shuffler.admission import OneTimeTokens

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.group("tokens", cls=Group)
def tokens_group() -> None:
    """One-time tokens: each admits one report to a shuffler that was started with their key."""


@tokens_group.command("key")
@click.option("-o", "--out", type=_FILE, required=True, help="Key file; only its owner can read it.")
@json_option
def key(out: Path, as_json: bool) -> None:
    """Make a new secret: for issuing tokens, and for operators and analyzers too."""
    check_place(out)
    write_secret(out)
    show({"file": str(out)}, f"wrote {out}", as_json=as_json)


@tokens_group.command("issue")
@click.argument("task", type=_FILE)
@click.option("--key", "secret", type=_FILE, required=True, help="Key file; the shuffler uses the same one.")
@click.option("--count", type=WholeRange(1, 10**8), required=True, help="How many.")
@click.option("-o", "--out", type=_FILE, required=True, help="Write the tokens to this file, one per line.")
@json_option
def issue(task: Path, secret: Path, count: int, out: Path, as_json: bool) -> None:
    """Issue tokens for TASK: one token per report."""
    check_place(out)
    issuer, loaded = OneTimeTokens(read_secret(secret).encode()), read_task(task)
    try:
        create_private(out, (_text(issuer.issue(loaded.id)) for _ in range(count)))
    except FileExistsError:
        raise InvalidInput(f"{out} exists: its tokens may have been given out. Choose another file.") from None
    except OSError as error:
        raise InvalidInput(f"cannot write {out}: {error.strerror}. Choose another place.") from None
    show({"tokens": count, "file": str(out)}, f"issued {counted(count, 'token')}", as_json=as_json)


def _text(token: bytes) -> str:
    return base64.urlsafe_b64encode(token).decode().rstrip("=")


def read_tokens(path: Path) -> list[bytes]:
    """Tokens from a file, one per line."""
    try:
        lines = path.read_text(encoding="ascii").split()
        return [base64.b64decode(line + "=" * (-len(line) % 4), altchars=b"-_", validate=True) for line in lines]
    except (OSError, ValueError):
        raise InvalidInput(f"{path} is not a file of tokens. Make one with shuffledp tokens issue.") from None
