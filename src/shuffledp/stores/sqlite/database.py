"""One SQLite file: opening, transactions, what must be on disk, and what must be gone from it."""

import os
import shutil
import sqlite3
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Self

from shuffledp.errors import InvalidInput
from shuffledp.stores.checkpoints import Reached, pass_by
from shuffledp.stores.sqlite.schema import SCHEMA, TABLES, version_of, why
from shuffledp.stores.store import StoreUnavailable

_PATIENCE: Final = 5000
"""Milliseconds to wait for another program that has the database."""
_CACHE: Final = 64 * 1024
"""Kilobytes of the database in memory."""


class Database:
    """One file and one connection to it. Use it from one thread at a time, and `twin` for another.

    WAL mode with synchronous=FULL: what is acknowledged is on disk. Pages that are freed are overwritten.

    Args:
        path: the file, or ":memory:".
        read_only: change nothing, not even a log that a crash left.
        create: make the file if it is missing.
        reached: called at each named point; tests pass their own.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        read_only: bool = False,
        create: bool = True,
        reached: Reached = pass_by,
        _turn: AbstractContextManager[bool] | None = None,
    ) -> None:
        self._path, self._memory, self._reached = path, str(path) == ":memory:", reached
        self._tidy = read_only or _turn is not None  # what a crash left is for the first handle
        self._turn = _turn or threading.RLock()  # writers of this process wait for each other here, not by polling
        self._file: tuple[int, int] | None = None
        self._log: tuple[int, int] | None = None
        try:
            if not self._memory:
                self._file = _prepared(Path(path), create=create and not read_only)
            mode = "?mode=ro" if read_only else ""
            self._connection = sqlite3.connect(
                path if self._memory else f"{Path(path).absolute().as_uri()}{mode}", uri=not self._memory,
                isolation_level=None, check_same_thread=False, timeout=_PATIENCE / 1000,
            )  # fmt: skip
            version = version_of(self._connection, str(path))
            if not read_only:
                self._configure()
        except (sqlite3.Error, OSError) as error:
            raise InvalidInput(f"cannot use the store {path}: {why(error)}") from None
        if not version and (read_only or not create):
            raise InvalidInput(f"{path} is not a store. Choose another file.")
        if not version:
            with self._transaction() as connection:  # whole or not at all; another process may have done it meanwhile
                for statement in TABLES.split(";") if not version_of(connection, str(path)) else ():
                    connection.execute(statement)

    def _configure(self) -> None:
        """Durable, and nothing that was erased is left."""
        until = time.monotonic() + _PATIENCE / 1000
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                break
            except sqlite3.OperationalError:  # others open a new file at once, and SQLite does not wait here by itself
                if time.monotonic() > until:
                    raise
                time.sleep(0.01)
        self._connection.executescript(
            "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON;"
            "PRAGMA temp_store = MEMORY;"  # nothing of a batch may be left in a temporary file
            f"PRAGMA cache_size = -{_CACHE}; PRAGMA wal_autocheckpoint = 10000;"  # ids arrive in no order
        )

    def twin(self) -> Self:
        """The same store for another thread; one in memory is shared."""
        return self if self._memory else type(self)(self._path, create=False, reached=self._reached, _turn=self._turn)

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def __del__(self) -> None:
        if hasattr(self, "_connection"):
            self._connection.close()

    def check(self) -> None:
        """Raise StoreUnavailable, saying why, if nothing could be written now."""
        with self._transaction() as connection:
            connection.execute(f"PRAGMA user_version = {SCHEMA}")

    def free_bytes(self) -> int | None:
        """Room on the disk of the file."""
        return None if self._memory else shutil.disk_usage(Path(self._path).absolute().parent).free

    def tidy(self) -> None:
        """Empty the log, which still has secrets and records that were erased, or that a crash left in it.

        A reader, or a full disk, may keep it a little longer.
        """
        if self._tidy:
            return
        with suppress(sqlite3.OperationalError):
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")  # most of it without keeping writers out
        with self._turn, suppress(sqlite3.OperationalError):
            self._connection.execute("PRAGMA busy_timeout = 50")
            self._tidy = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
        self._connection.execute(f"PRAGMA busy_timeout = {_PATIENCE}")

    def backup(self, copy: Path) -> None:
        """Write a consistent copy while others write, with rows in the order of their keys, which is not that of arrival."""
        if copy.exists():
            raise InvalidInput(f"{copy} exists. Choose another file.")
        try:
            os.close(os.open(copy, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            self._connection.execute("VACUUM INTO ?", (str(copy),))
        except (sqlite3.Error, OSError) as error:
            copy.unlink(missing_ok=True)
            raise InvalidInput(f"cannot write {copy}: {why(error)}") from None

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._turn:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    yield self._connection
                    self._check_file()
                    self._connection.execute("COMMIT")
                except BaseException:
                    if self._connection.in_transaction:
                        self._connection.execute("ROLLBACK")
                    raise
            except (sqlite3.OperationalError, sqlite3.DatabaseError) as error:
                if isinstance(error, sqlite3.IntegrityError | sqlite3.ProgrammingError):
                    raise
                raise StoreUnavailable(f"the store {self._path} could not be written to: {why(error)}") from None

    @contextmanager
    def _step(self) -> Iterator[sqlite3.Connection]:
        """A short transaction of a long job, and as long a pause, so that uploads have their turn."""
        begin = time.perf_counter()
        with self._transaction() as connection:
            yield connection
        if not self._memory:
            time.sleep(min(0.1, time.perf_counter() - begin))

    def _check_file(self) -> None:
        """What is written to a file without a name is lost: it must not be acknowledged. The log is such a file too."""
        if self._file is None:
            return
        log = _identity(Path(f"{self._path}-wal"))
        self._log = self._log or log
        if _identity(Path(self._path)) != self._file or log != self._log:
            raise StoreUnavailable(
                f"the store {self._path} or its log was removed or replaced while in use. "
                "Put it back, or start again with a backup."
            )

    def _read(self, sql: str, *values: object) -> list[Any]:
        try:
            if not self._memory:
                return self._connection.execute(sql, values).fetchall()
            with self._turn:  # one connection for all threads: none reads what another has not committed
                return self._connection.execute(sql, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise StoreUnavailable(f"the store {self._path} cannot be read: {why(error)}") from None


def _prepared(path: Path, *, create: bool) -> tuple[int, int]:
    """Which file it is; made if it is missing, refused if others can read it."""
    if create and not path.exists():
        # The log beside it gets the same permissions. An existing file is never opened here: closing it would drop all
        # locks that this process has on it, and another process could then take the log away under its writers.
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    if not create and not (path.is_file() and path.stat().st_size):
        raise InvalidInput(f"there is no store {path}. Check the path; shuffledp shuffler serve makes a new store.")
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise InvalidInput(f"{path} is not a file. Choose another one.")
    if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise InvalidInput(f"others can read the store {path}. Set its permissions to 600.")
    return found.st_dev, found.st_ino


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file has this name; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
