"""Files on the command line: plans in, results out, whole or not at all."""

from pathlib import Path

from shuffledp.core.files import read_json, write_whole
from shuffledp.errors import InvalidInput
from shuffledp.planning.plan import Plan


def read_plan(path: Path) -> Plan:
    """A plan, proved again."""
    return Plan.from_document(read_json(path, "a plan", "Make one with shuffledp plan -o."))


def write_text(path: Path, text: str) -> None:
    """Write a text so that a reader never sees half of it."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file so that a reader never sees half of it."""
    try:
        write_whole(path, data)
    except OSError as error:
        raise InvalidInput(f"cannot write {path}: {error.strerror}. Choose another place.") from None
