"""Files on the command line: plans in, results out, whole or not at all."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from shuffledp.errors import InvalidInput
from shuffledp.planning.plan import Plan


def read_plan(path: Path) -> Plan:
    """A plan, proved again."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror}. Give a plan made by shuffledp plan -o.") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is not a plan. Make one with shuffledp plan -o.") from None
    try:
        document: Any = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        raise InvalidInput(f"{path} is not a plan. Make one with shuffledp plan -o.") from None
    return Plan.from_document(document)


def write_text(path: Path, text: str) -> None:
    """Write a text so that a reader never sees half of it."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file so that a reader never sees half of it."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(name).chmod(0o666 & ~_umask())
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InvalidInput(f"cannot write {path}: {error.strerror}. Choose another place.") from None


def _umask() -> int:
    """What the user does not want others to do with new files."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
