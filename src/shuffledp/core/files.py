"""Files that must still be there after a power cut."""

import os
from pathlib import Path


def write_private(path: Path, content: str | bytes) -> None:
    """Replace a file as a whole, or not at all, so that only its owner can read it."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.unlink(missing_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        sync_folder(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def sync_folder(path: Path) -> None:
    """The name of a new or renamed file is only kept with its folder."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
