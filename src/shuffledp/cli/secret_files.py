"""Secrets in files that only their owner can read."""

import secrets
from pathlib import Path

from shuffledp.core.files import create_private, others_can_read
from shuffledp.errors import InvalidInput


def read_secret(path: Path) -> str:
    """A token or key; one that others can read, or that can be guessed, is refused."""
    try:
        text = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        raise InvalidInput(f"cannot read the token {path}. Write 16 or more characters to it.") from None
    if others_can_read(path):
        raise InvalidInput(f"others can read the token {path}. Set its permissions to 600.")
    if len(text) < 16:
        raise InvalidInput(f"the token in {path} is too short. Use 16 or more random characters.")
    return text


def write_secret(path: Path) -> None:
    """Make a new random one; a file that exists is left alone."""
    try:
        create_private(path, [secrets.token_urlsafe(32)])
    except FileExistsError:
        raise InvalidInput(f"{path} exists. Choose another file.") from None
    except OSError as error:
        raise InvalidInput(f"cannot write {path}: {error.strerror}. Choose another place.") from None
