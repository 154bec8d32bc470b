"""Files that become stores or backups: a store gets its name when it is whole, and a backup is marked as one."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final
from uuid import uuid4

from shuffledp.core.files import sync_folder
from shuffledp.errors import InvalidInput
from shuffledp.service.stores.sqlite.file_identity import FileIdentity
from shuffledp.service.stores.sqlite.schema import TABLES, add_instance, kept_instance, why

_ENDINGS: Final = ("", "-wal", "-shm", "-journal")
"""Of the files that SQLite keeps beside a database."""


@contextmanager
def becoming(store: Path) -> Iterator[Path]:
    """A file to make a store in, which takes its name and a new id when it is whole; refused if anything of another is left."""
    if store.exists():
        raise InvalidInput(f"{store} exists. Move it away, or choose another file.")
    for path in _beside(store)[1:]:
        if path.exists():  # SQLite would put what is in it into the new store
            raise InvalidInput(
                f"{path} exists, and may hold what was written last to a store of this name. Put that store back, or move the "
                "log away."
            )
    draft = store.with_name(f".{store.name}.new")
    _remove(draft)
    try:
        yield draft
        settle(draft, store.name)
        draft.rename(store)
        sync_folder(store)
    except BaseException:
        _remove(draft)
        raise


def begin(draft: Path) -> None:
    """Make the tables of a store."""
    draft.touch(mode=0o600, exist_ok=False)
    with _writing(draft) as connection:
        make_tables(connection)


def make_tables(connection: sqlite3.Connection) -> None:
    """Those of a store that is not anywhere yet."""
    for statement in TABLES.split(";"):
        connection.execute(statement)
    connection.execute("INSERT INTO instance VALUES (?, 0, NULL)", (str(uuid4()),))


def settle(draft: Path, name: str) -> None:
    """Turn a backup, or empty tables, into a store of its own, whose file will have this name."""
    place = str(FileIdentity.of(draft, name=name))
    with _writing(draft) as connection:
        connection.execute("UPDATE instance SET id = ?, place = ?", (str(uuid4()), place))


def mark_as_backup(copy: Path) -> None:
    """Say in the copy of a store that it is one."""
    with _writing(copy) as connection:
        if kept_instance(connection) is None:
            add_instance(connection, None)
        connection.execute("UPDATE instance SET place = NULL")


@contextmanager
def copying_to(copy: Path) -> Iterator[None]:
    """A new file of one's own while a backup is written to it; gone if that fails, and on disk if not."""
    if copy.exists():
        raise InvalidInput(f"{copy} exists. Choose another file.")
    try:
        os.close(os.open(copy, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        yield
        sync_folder(copy)
    except (sqlite3.Error, OSError) as error:
        copy.unlink(missing_ok=True)
        raise InvalidInput(f"cannot write {copy}: {why(error)}") from None
    except BaseException:
        copy.unlink(missing_ok=True)
        raise


@contextmanager
def _writing(path: Path) -> Iterator[sqlite3.Connection]:
    """One transaction, which is on disk when this ends."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN IMMEDIATE")
        yield connection
        connection.execute("COMMIT")


def _beside(path: Path) -> list[Path]:
    return [path.with_name(path.name + ending) for ending in _ENDINGS]


def _remove(draft: Path) -> None:
    for path in _beside(draft):
        path.unlink(missing_ok=True)
