"""Files on the command line: plans in, results out, whole or not at all."""

import os
from collections.abc import Iterator
from pathlib import Path

import click

from shuffledp.core.files import write_whole
from shuffledp.errors import InvalidInput
from shuffledp.planning.plan import Plan
from shuffledp.sources.table_files import files_like


def read_plan(path: Path, data: Path | None = None) -> Plan:
    """A plan, proved again, that was typed before the data it is about."""
    if data is not None and data.suffix == ".json" != path.suffix:
        raise InvalidInput("the plan and the data are swapped. Give the plan first.")
    return Plan.load(path)


def check_place(path: Path) -> None:
    """Refuse a file that could not be written, before the work for it begins."""
    if not path.parent.is_dir():
        raise InvalidInput(f"cannot write {path}: there is no folder {path.parent}. Choose another place.")
    if not os.access(path.parent, os.W_OK):
        raise InvalidInput(f"cannot write {path}: you may not write in that folder. Choose another place.")
    if [other.resolve() for other in _named()].count(path.resolve()) > 1:
        raise InvalidInput(f"cannot write {path}: the same command reads it or writes it twice. Choose another place.")


def _named() -> Iterator[Path]:
    """The files that were named on the command line, each as often as it was."""
    context = click.get_current_context(silent=True)
    for name, value in () if context is None else context.params.items():
        if name == "files" and isinstance(value, str):
            yield from files_like(value)
        yield from (entry for entry in (value if isinstance(value, tuple) else [value]) if isinstance(entry, Path))


def write_new(path: Path, text: str, *, replace: bool) -> None:
    """Write a text to a file that does not exist yet, or has it already; another one only if it may be replaced."""
    try:
        same = path.read_text(encoding="utf-8") == text
    except FileNotFoundError:
        same = True
    except (OSError, UnicodeDecodeError):
        same = False
    if not (same or replace):
        raise InvalidInput(f"{path} exists and has other content. Choose another name, or use --force to replace it.")
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
