"""One SQLite file: opening, transactions, what must be on disk, and what must be gone from it."""

import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Self, TypeVar
from uuid import UUID

from shuffledp.core.files import alone_in, may_grow, place_of
from shuffledp.errors import InvalidInput
from shuffledp.service.stores.crash_points import Reached, pass_by
from shuffledp.service.stores.sqlite.file_identity import FileIdentity, check_file, check_identity
from shuffledp.service.stores.sqlite.schema import (
    SCHEMA,
    add_instance,
    former_instance,
    kept_instance,
    mark_version,
    version_of,
    why,
)
from shuffledp.service.stores.sqlite.store_files import becoming, begin, copying_to, make_tables, mark_as_backup
from shuffledp.service.stores.store import Instance, StoreUnavailable

T = TypeVar("T")
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
        self._memory, self._reached, self._name = str(path) == ":memory:", reached, str(path)
        self._path = Path(os.path.realpath(path))  # the log is beside the file, not beside a link to it
        self._tidy = read_only or _turn is not None  # what a crash left is for the first handle
        self._turn = _turn or threading.RLock()  # writers of this process wait for each other here, not by polling
        self._file: tuple[int, int] | None = None
        self._log: tuple[int, int] | None = None
        try:
            if not self._memory:
                self._prepare(create=create and not read_only)
            mode = "?mode=ro" if read_only else ""
            self._connection = sqlite3.connect(
                path if self._memory else f"{self._path.as_uri()}{mode}", uri=not self._memory,
                isolation_level=None, check_same_thread=False, timeout=_PATIENCE / 1000,
            )  # fmt: skip
            if self._memory:
                make_tables(self._connection)
            elif not version_of(self._connection, self._name):
                raise InvalidInput(f"{path} is not a store. Choose another file.")
            if not read_only:
                self._check_place()
                self._configure()
                if kept_instance(self._connection) is None:
                    with self._transaction() as connection:  # another process may have done it meanwhile
                        if kept_instance(connection) is None:
                            add_instance(connection, str(FileIdentity.of(self._path)))
                if version_of(self._connection, self._name) != SCHEMA:
                    mark_version(self._connection)
        except (sqlite3.Error, OSError) as error:
            raise InvalidInput(f"cannot use the store {path}: {why(error)}") from None

    def _prepare(self, *, create: bool) -> None:
        """Make the file if it is missing; refuse one that cannot be a store.

        An existing file is never opened here: closing it would drop all locks that this process has on it, and another process
        could then take the log away under its writers.
        """
        if not self._path.exists():
            if not create:
                raise InvalidInput(
                    f"there is no store {self._name}. Check the path; shuffledp shuffler serve makes a new store."
                )
            with alone_in(self._path.parent):  # others may open it at the same time
                if not self._path.exists():
                    with becoming(self._path) as draft:
                        begin(draft)
        check_file(self._path, self._name)
        self._file = _identity(self._path)

    def _check_place(self) -> None:
        """Refuse a copy; to read one is harmless."""
        if self._memory:
            return
        kept = kept_instance(self._connection)
        (journal,) = self._connection.execute("PRAGMA journal_mode").fetchone()
        # every store has been in this mode; what an earlier version wrote as a backup has not, and no other mark
        if kept[1] is None if kept else journal != "wal":
            raise InvalidInput(
                f"{self._name} is a backup, and what is open in it may have been released since. Make a store of it with "
                f"shuffledp shuffler restore {self._name} NEW."
            )
        if kept and kept[1]:
            check_identity(self._path, FileIdentity.read(kept[1]), self._name)

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
        """A handle on this store for another thread; a store in memory is shared."""
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
        """Room on the disk of the file, and in the file and its log if they may only have so many bytes."""
        if self._memory:
            return None
        log = self._path.with_name(f"{self._path.name}-wal")
        room = shutil.disk_usage(self._path.parent).free, may_grow(self._path), may_grow(log)
        return min(free for free in room if free is not None)

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

    def backup(self, copy: Path | str) -> None:
        """Write a consistent copy while others write, with rows in the order of their keys, which is not that of arrival."""
        copy = place_of(copy)
        with copying_to(copy):
            self._connection.execute("VACUUM INTO ?", (str(copy),))
            mark_as_backup(copy)

    def instance(self) -> Instance:
        """Which store this is, and how far it has come."""
        found = self._read("SELECT 1 FROM sqlite_master WHERE name = 'instance'")
        if not found:  # of an earlier version, and only looked at
            return former_instance(self._connection)
        own, generation = self._read("SELECT id, generation FROM instance")[0]
        return Instance(id=UUID(own), generation=generation)

    def _advance(self) -> None:
        """A batch is closed or destroyed: an earlier state, in which it is open, is never to be served again."""
        self._connection.execute("UPDATE instance SET generation = generation + 1")

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
                raise StoreUnavailable(f"the store {self._name} could not be written to: {why(error)}") from None

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
        if _identity(self._path) != self._file or log != self._log:
            raise StoreUnavailable(
                f"the store {self._name} or its log was removed or replaced while in use. "
                "Put it back, or start again with a backup."
            )

    def _write(self, job: Callable[[], T]) -> T:
        """The result of a job, which is one transaction."""
        with self._transaction():
            return job()

    def _run(self, sql: str, *values: object) -> list[Any]:
        """The rows of one statement of a transaction."""
        return self._connection.execute(sql, values).fetchall()

    def _read(self, sql: str, *values: object) -> list[Any]:
        try:
            if not self._memory:
                return self._connection.execute(sql, values).fetchall()
            with self._turn:  # one connection for all threads: none reads what another has not committed
                return self._connection.execute(sql, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise StoreUnavailable(f"the store {self._name} cannot be read: {why(error)}") from None


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file has this name; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
