"""Files on the command line: plans in, results out, whole or not at all."""

import os
from pathlib import Path

from shuffledp.core.files import write_whole
from shuffledp.errors import InvalidInput
from shuffledp.planning.plan import Plan


def read_plan(path: Path) -> Plan:
    """A plan, proved again."""
    return Plan.load(path)


def check_place(path: Path) -> None:
    """Refuse a file that could not be written, before the work for it begins."""
    if not path.parent.is_dir():
        raise InvalidInput(f"cannot write {path}: there is no folder {path.parent}. Choose another place.")
    if not os.access(path.parent, os.W_OK):
        raise InvalidInput(f"cannot write {path}: you may not write in that folder. Choose another place.")


def write_new(path: Path, text: str, *, replace: bool) -> None:
    """Write a text to a file that does not exist yet, or has it already; another one only if it may be replaced."""
    try:
        same = path.read_text(encoding="utf-8") == text
    except FileNotFoundError:
        same = True
    except (OSError, UnicodeDecodeError):
        same = False
    if not (same or replace):
        raise InvalidInput(f"{path} exists and is something else. Choose another name, or use --force to replace it.")
    write_text(path, text)


def write_text(path: Path, text: str) -> None:
    """Write a text so that a reader never sees half of it."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file so that a reader never sees half of it."""
    try:
        write_whole(path, data)
    except OSError as error:
        raise InvalidInput(f"cannot write {path}: {error.strerror}. Choose another place.") from None
