"""The tables of the SQLite store, which versions of them are read, and what SQLite's errors mean."""

import hashlib
import sqlite3
from typing import Final, get_args
from uuid import UUID, uuid4

from shuffledp.errors import InvalidInput
from shuffledp.service.stores.batch import BatchState
from shuffledp.service.stores.store import Instance

SCHEMA: Final = 5
"""Since 4 a store knows which one it is, and where; since 5 a batch may wait for noise, which earlier versions leave out."""
_READ: Final = (3, 4, 5)
_INSTANCE: Final = "CREATE TABLE instance (id TEXT NOT NULL, generation INTEGER NOT NULL, place TEXT) STRICT"
"""One row; its place is null if it is a backup, which has none."""
TABLES: Final = f"""
CREATE TABLE task (
    id TEXT PRIMARY KEY, document TEXT NOT NULL, hop INTEGER NOT NULL CHECK (hop >= 1), number INTEGER NOT NULL UNIQUE,
    retired INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE batch (
    id INTEGER PRIMARY KEY AUTOINCREMENT, task TEXT NOT NULL REFERENCES task, window INTEGER, opened REAL NOT NULL,
    state TEXT NOT NULL CHECK (state IN ({", ".join(repr(state) for state in get_args(BatchState))})),
    count INTEGER NOT NULL DEFAULT 0 CHECK (count >= 0), key INTEGER NOT NULL, fingerprint TEXT NOT NULL, secret BLOB,
    digest TEXT,
    erased INTEGER NOT NULL DEFAULT 0, purged INTEGER NOT NULL DEFAULT 0,
    CHECK ((secret IS NOT NULL) = (state = 'CLOSING')), CHECK ((digest IS NOT NULL) = (state = 'RELEASED'))
) STRICT;
CREATE UNIQUE INDEX one_open_batch ON batch (task, key, fingerprint) WHERE state = 'OPEN';
CREATE TABLE piece (
    batch INTEGER NOT NULL REFERENCES batch, number INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (batch, number)
) STRICT;
CREATE TABLE sealed (
    task INTEGER NOT NULL, id BLOB NOT NULL, batch INTEGER NOT NULL REFERENCES batch, inner BLOB NOT NULL, PRIMARY KEY (task, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE report (task INTEGER NOT NULL, id BLOB NOT NULL, PRIMARY KEY (task, id)) STRICT, WITHOUT ROWID;
CREATE TABLE spending (task INTEGER NOT NULL, id BLOB NOT NULL, PRIMARY KEY (task, id)) STRICT, WITHOUT ROWID;
CREATE TABLE spent (task INTEGER NOT NULL, id BLOB NOT NULL, PRIMARY KEY (task, id)) STRICT, WITHOUT ROWID;
{_INSTANCE};
PRAGMA user_version = {SCHEMA};
"""
_REASONS: Final = {
    "SQLITE_BUSY": "another program holds it. Try again.",
    "SQLITE_LOCKED": "another program holds it. Try again.",
    "SQLITE_FULL": "its disk is full. Make room.",
    "SQLITE_READONLY": "it is read-only. Check its permissions and its disk.",
    "SQLITE_CANTOPEN": "it cannot be opened. Check that its folder exists and can be written.",
    "SQLITE_CORRUPT": "it is damaged. Restore a backup.",
    "SQLITE_NOTADB": "it is not a store. Choose another file.",
    "SQLITE_IOERR": "its disk reports an error. Check the disk.",
}


def version_of(connection: sqlite3.Connection, name: str) -> int:
    """The schema of a database; 0 if it is empty. One that this version cannot use is refused and left as it is."""
    version, tables = connection.execute(
        "SELECT (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_master)"
    ).fetchone()
    if version > SCHEMA:
        raise InvalidInput(f"{name} was written by a newer version (schema {version}). Use that version.")
    if version == 0 and tables:
        raise InvalidInput(f"{name} is a database of something else. Choose another file.")
    if version and version not in _READ:
        raise InvalidInput(
            f"{name} is of an earlier version, whose tasks and reports this one does not read. Release what is in it "
            "with the version that made it, and begin with a new file."
        )
    return int(version)


def kept_instance(connection: sqlite3.Connection) -> tuple[Instance, str | None] | None:
    """Which store this is, and its place, as it is written in it; None in one of an earlier schema."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'instance'").fetchone():
        return None
    own, generation, place = connection.execute("SELECT id, generation, place FROM instance").fetchone()
    return Instance(id=UUID(own), generation=generation), place


def former_instance(connection: sqlite3.Connection) -> Instance:
    """Which store one of an earlier schema is: copies of it, whose first batch is the same, are the same store."""
    first = connection.execute("SELECT task, opened, fingerprint FROM batch ORDER BY id LIMIT 1").fetchone()
    (generation,) = connection.execute("SELECT count(*) FROM batch WHERE state <> 'OPEN'").fetchone()
    own = uuid4() if first is None else UUID(bytes=hashlib.sha256(repr(first).encode()).digest()[:16], version=4)
    return Instance(id=own, generation=generation)


def add_instance(connection: sqlite3.Connection, place: str | None) -> None:
    """Turn a store of an earlier schema into one of this."""
    found = former_instance(connection)
    connection.execute(_INSTANCE)
    connection.execute("INSERT INTO instance VALUES (?, ?, ?)", (str(found.id), found.generation, place))
    mark_version(connection)


def mark_version(connection: sqlite3.Connection) -> None:
    """Say that earlier versions must not use it any more."""
    connection.execute(f"PRAGMA user_version = {SCHEMA}")


def why(error: sqlite3.Error | OSError) -> str:
    """What really happened, and what to do; never anything that is stored."""
    if isinstance(error, OSError):
        return f"{error.strerror}. Choose another place."
    name = getattr(error, "sqlite_errorname", "") or ""
    return next(
        (reason for prefix, reason in _REASONS.items() if name.startswith(prefix)), f"{name or 'SQLite failed'}."
    )
