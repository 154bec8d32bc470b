"""One PostgreSQL database: connecting, transactions that are durable, and what must be gone from it."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, Self, TypeVar
from uuid import UUID

import psycopg
from psycopg import errors

from shuffledp.errors import InvalidInput
from shuffledp.service.stores.crash_points import Reached, pass_by
from shuffledp.service.stores.postgres.address import check_privacy, parameters, shown
from shuffledp.service.stores.postgres.schema import (
    HISTORY,
    LEFT,
    MIGRATIONS,
    PLACE,
    SCHEMA,
    TABLES,
    WITHOUT_GENERATION,
    why,
)
from shuffledp.service.stores.store import Instance, StoreUnavailable

T = TypeVar("T")
_ATTEMPTS: Final = 5
"""How often a transaction is tried that others are in the way of."""
_TIDY: Final = 60.0
"""Seconds after which what another process left is looked for."""
_WENT_BACK: Final = (
    "is on another server than it was made on, or a copy of its tables, or on a standby that was promoted, or was recovered to "
    "an earlier time: batches that were released may be open again. Back it up with shuffledp shuffler backup, and restore that "
    "as a new store."
)
_SESSION: Final = """
SET default_transaction_isolation = 'read committed';
SET lock_timeout = '5s';
SET idle_in_transaction_session_timeout = '30s';  -- a shuffler that is frozen does not hold the others up for ever
SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3;
SET enable_seqscan = off;  -- tables begin empty and grow fast: the planner's idea of their size is out of date
SET jit = off;  -- no statement here is worth compiling
SET client_min_messages = warning;
"""


class Database:
    """One connection to one schema of a database. Use it from one thread at a time, and `twin` for another.

    What is acknowledged is in the server's log on disk, whatever its configuration says of commits. A connection that is lost
    makes the store unavailable once, and the next use connects again.

    Args:
        url: for libpq, whose environment variables and password file count too.
        read_only: change nothing.
        create: make the tables if they are missing.
        reached: called at each named point; tests pass their own.
        filled: puts a backup into the tables while they are made, which must not exist yet.
    """

    def __init__(
        self,
        url: str,
        *,
        read_only: bool = False,
        create: bool = True,
        reached: Reached = pass_by,
        filled: Callable[[Self], None] | None = None,
    ) -> None:
        self._url, self._read_only, self._reached, self._name = url, read_only, reached, shown(url)
        self._identity: UUID | None = None
        self._generation = 0
        self._releasing: set[int] = set()
        self._inside = False
        self._tidied = 0.0 if not read_only else float("inf")
        try:
            self._connection = self._connect()
            with self._connection.transaction():
                self._inside = True
                self._identity = self._prepared(create=create and not read_only, filled=filled)
        except psycopg.Error as error:
            raise InvalidInput(f"cannot use the store {self._name}: {why(error)}") from None
        finally:
            self._inside = False

    def _connect(self) -> psycopg.Connection:
        connection = psycopg.connect("", autocommit=True, **parameters(self._url))  # type: ignore[arg-type]
        try:
            check_privacy(connection)
            connection.execute(_SESSION)
            connection.execute(f"SET default_transaction_read_only = {'on' if self._read_only else 'off'}")
            found = connection.execute(
                "SELECT current_setting('fsync'), current_setting('synchronous_commit'), current_schema(), "
                "current_setting('log_parameter_max_length'), current_setting('log_statement') IN ('mod', 'all') OR "
                "current_setting('log_min_duration_statement') <> '-1' OR "
                "current_setting('log_min_duration_sample') <> '-1' OR current_setting('log_transaction_sample_rate') <> '0'"
            ).fetchone()
            fsync, commits, schema, logged, logs = found or ("", "", None, "0", False)
            if fsync != "on":
                raise InvalidInput("the server has fsync turned off and may lose what it acknowledged. Turn it on.")
            if logs and logged != "0":
                raise InvalidInput(
                    "the server writes the values of statements to its log, so that it would show who sent what. Turn that off, "
                    "or ALTER ROLE ... SET log_parameter_max_length = 0."
                )
            if commits != "remote_apply":  # which is more
                connection.execute("SET synchronous_commit = on")
            if schema is None:
                raise errors.InvalidSchemaName
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepared(self, *, create: bool, filled: Callable[[Self], None] | None) -> UUID:
        """The identity of the store, which is made if it is missing: whole or not at all, by one process."""
        if not self._read_only:
            self._run("SELECT pg_advisory_xact_lock(1936221296, current_schema()::regnamespace::oid::integer)")
        here = "relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'v', 'm', 'f', 'p')"
        tables = {row[0] for row in self._run(f"SELECT relname FROM pg_class WHERE {here}")}  # noqa: S608
        if filled is not None and tables:
            raise InvalidInput(f"{self._name} exists: its schema has tables. Choose another database or schema.")
        if not tables and not create:
            raise InvalidInput(
                f"there is no store {self._name}. Check the URL; shuffledp shuffler serve makes a new store."
            )
        if tables and "shuffledp" not in tables:
            raise InvalidInput(f"{self._name} has tables of something else. Give the store a schema of its own.")
        if not tables:
            self._run(TABLES)
            if filled is not None:
                filled(self)
        version, identity = self._run("SELECT schema, identity FROM shuffledp")[0]
        if version not in (*MIGRATIONS, SCHEMA):
            raise InvalidInput(f"{self._name} is of another version (schema {version}). Use that version.")
        if not self._read_only:
            if version in MIGRATIONS:
                self._run(MIGRATIONS[version])  # undone with the transaction, if it turns out to be on another server
            if self._went_back():
                raise InvalidInput(f"{self._name} {_WENT_BACK}")
        found: UUID = identity
        return found

    def _went_back(self) -> bool:
        """Whether the server may have forgotten what it wrote. To read, for a backup, is harmless; a standby cannot tell."""
        if self._read_only:
            return False
        ((same, generation),) = self._run(
            f"SELECT history = {HISTORY} AND place = {PLACE}, generation FROM shuffledp"  # noqa: S608
        )
        back = same is False or generation < self._generation
        self._generation = max(generation, self._generation)
        return back

    def twin(self) -> Self:
        """A handle on this store for another thread."""
        return type(self)(self._url, read_only=self._read_only, create=False, reached=self._reached)

    def close(self) -> None:
        """Let go of the connection."""
        with suppress(psycopg.Error):
            if self._releasing and not self._connection.closed:
                self._run("SELECT pg_advisory_unlock_all()")  # now, not when the server notices
        self._connection.close()

    def __del__(self) -> None:
        if hasattr(self, "_connection"):
            self._connection.close()

    def check(self) -> None:
        """Raise StoreUnavailable, saying why, if nothing could be written now."""
        self._write(lambda: self._run("UPDATE shuffledp SET schema = schema"))

    def instance(self) -> Instance:
        """Which store this is, and how far it has come."""
        former = self._read("SELECT schema FROM shuffledp") == [(WITHOUT_GENERATION,)]  # and only looked at
        generation = "(SELECT count(*) FROM batch WHERE state <> 'OPEN')" if former else "generation"
        own, come = self._read(f"SELECT identity, {generation} FROM shuffledp")[0]  # noqa: S608
        return Instance(id=own, generation=come)

    def _advance(self) -> None:
        """A batch is closed or destroyed: an earlier state, in which it is open, is never to be served again."""
        self._run("UPDATE shuffledp SET generation = generation + 1")

    def free_bytes(self) -> int | None:
        """Not known: the disk is the server's."""
        return None

    def tidy(self) -> None:
        """Drop the tables of batches that were erased or purged; one that somebody reads is dropped later."""
        if time.monotonic() < self._tidied:
            return
        self._tidied = time.monotonic() + _TIDY
        self._drop(*(row[0] for row in self._read(LEFT)))

    def _drop(self, *tables: str) -> None:
        try:
            if tables:
                drop = f"SET LOCAL lock_timeout = 100; DROP TABLE IF EXISTS {', '.join(tables)}"
                self._write(lambda: self._run(drop))
        except StoreUnavailable:
            self._tidied = 0.0

    def _write(self, job: Callable[[], T], *, snapshot: bool = False) -> T:
        """The result of a job, once what it wrote is on disk; if others are in its way it is done again from the start.

        With `snapshot` it only reads, and sees everything as it is now, whatever others do meanwhile.
        """
        if self._inside:
            return job()
        with self._refused():
            left = _ATTEMPTS
            while True:
                left -= 1
                connection = self._connected()
                try:
                    with connection.transaction():
                        self._inside = True
                        if snapshot:
                            self._run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
                        return self._checked(job)
                except (
                    errors.SerializationFailure,
                    errors.DeadlockDetected,
                    errors.UndefinedTable,
                ):  # it was dropped just now
                    if not left:
                        raise
                except psycopg.OperationalError:
                    if self._inside or not left:  # if not, it was lost before anything was asked
                        raise
                finally:
                    self._inside = False

    def _checked(self, job: Callable[[], T]) -> T:
        """What is written to a store that was put in the place of another is not what was asked for."""
        if self._identity is not None:
            found = self._run("SELECT identity FROM shuffledp")
            if [row[0] for row in found] != [self._identity]:
                raise StoreUnavailable(
                    f"the store {self._name} was replaced while in use. Start again with the present one."
                )
            if self._went_back():
                raise StoreUnavailable(f"the store {self._name} {_WENT_BACK}")
        return job()

    def _read(self, sql: str, *values: object) -> list[Any]:
        if self._inside:
            return self._run(sql, *values)
        with self._refused():
            try:
                return self._run(sql, *values)
            except psycopg.OperationalError:
                if not self._connection.closed:
                    raise
            self._connected()
            return self._run(sql, *values)

    def _connected(self) -> psycopg.Connection:
        """The connection; a new one if it was lost."""
        if self._connection.closed:
            self._releasing.clear()
            try:
                self._connection = self._connect()
            except InvalidInput as error:
                raise StoreUnavailable(str(error)) from None
        return self._connection

    def _run(self, sql: str, *values: object) -> list[Any]:
        """The rows of one statement, with `?` for a value and `%b` for bytes; without values there may be several statements."""
        with self._connection.cursor(binary=bool(values)) as cursor:
            cursor.execute((sql.replace("?", "%s") if values else sql).encode(), values or None)
            return cursor.fetchall() if cursor.description else []

    def _copy_in(
        self,
        table: str,
        types: Sequence[str],
        rows: Iterable[tuple[object, ...]],
        begun: Callable[[], None] | None = None,
    ) -> None:
        """Add rows to a table; `begun` is called after the first."""
        with (
            self._connection.cursor() as cursor,
            cursor.copy(f"COPY {table} FROM STDIN (FORMAT BINARY)".encode()) as copy,
        ):
            copy.set_types(types)
            for row in rows:
                copy.write_row(row)
                if begun is not None:
                    begun()
                    begun = None

    def _copy_out(self, query: str, types: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        with (
            self._connection.cursor() as cursor,
            cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT BINARY)".encode()) as copy,
        ):
            copy.set_types(types)
            yield from copy.rows()

    @contextmanager
    def _refused(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise StoreUnavailable(f"the store {self._name} could not be used: {why(error)}") from None
