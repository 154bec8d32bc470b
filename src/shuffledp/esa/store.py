"""What the shuffler keeps: reports' names, their sealed insides until release, batches and released bytes. Nothing about senders.

SQLite in WAL mode with synchronous=FULL: what is acknowledged is on disk. Every transition of a batch is one transaction.
"""

import hashlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Protocol, get_args

from shuffledp.errors import InvalidInput, ShuffledpError
from shuffledp.esa.checkpoints import reached

SCHEMA: Final = 2
CHUNK: Final = 1 << 16
"""Records of a piece of a released batch."""
_PATIENCE: Final = 5000
"""Milliseconds to wait for another program that has the database."""
_CACHE: Final = 64 * 1024
"""Kilobytes of the database in memory."""
BatchState = Literal["OPEN", "CLOSING", "RELEASED", "ROLLED_OVER", "DESTROYED"]

Kept = Literal["accepted", "report_replayed", "not_admitted", "batch_collected"]

_FIRST_TABLES: Final = f"""
CREATE TABLE task (id TEXT PRIMARY KEY, document TEXT NOT NULL) STRICT;
CREATE TABLE batch (
    id INTEGER PRIMARY KEY, task TEXT NOT NULL REFERENCES task, opened REAL NOT NULL,
    state TEXT NOT NULL CHECK (state IN ({", ".join(repr(state) for state in get_args(BatchState))})),
    count INTEGER NOT NULL DEFAULT 0 CHECK (count >= 0), secret BLOB, digest TEXT,
    CHECK ((secret IS NOT NULL) = (state = 'CLOSING')), CHECK ((digest IS NOT NULL) = (state = 'RELEASED'))
) STRICT;
CREATE UNIQUE INDEX one_open_batch ON batch (task) WHERE state = 'OPEN';
CREATE TABLE report (
    task TEXT NOT NULL, id BLOB NOT NULL, batch INTEGER REFERENCES batch, inner BLOB, PRIMARY KEY (task, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX report_by_batch ON report (batch) WHERE inner IS NOT NULL;
CREATE TABLE piece (
    batch INTEGER NOT NULL REFERENCES batch, number INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (batch, number)
) STRICT;
"""
_STEPS: Final = (
    _FIRST_TABLES,
    # SQLite keeps the order in which rows of a page came. So what is collected is in tables that are emptied at release, and
    # names and spent credentials, which stay for the life of a task, are then written in their own order. Besides: which hop of
    # a task this shuffler is (before: always the outermost); and which batches are one window, because they were rolled over.
    """
ALTER TABLE batch ADD COLUMN window INTEGER;
UPDATE batch SET window = id;
ALTER TABLE task ADD COLUMN hop INTEGER NOT NULL DEFAULT 1 CHECK (hop >= 1);
ALTER TABLE task ADD COLUMN number INTEGER;
UPDATE task SET hop = coalesce(json_extract(document, '$.hops'), 1), number = rowid;
CREATE UNIQUE INDEX task_number ON task (number);
CREATE TABLE sealed (
    task INTEGER NOT NULL, id BLOB NOT NULL, batch INTEGER NOT NULL REFERENCES batch, inner BLOB NOT NULL, PRIMARY KEY (task, id)
) STRICT, WITHOUT ROWID;
INSERT INTO sealed SELECT number, report.id, batch, inner FROM report JOIN task ON task.id = report.task WHERE inner IS NOT NULL;
CREATE TABLE known (task INTEGER NOT NULL, id BLOB NOT NULL, PRIMARY KEY (task, id)) STRICT, WITHOUT ROWID;
INSERT INTO known SELECT number, report.id FROM report JOIN task ON task.id = report.task WHERE inner IS NULL ORDER BY 1, 2;
DROP TABLE report;
ALTER TABLE known RENAME TO report;
CREATE TABLE spending (task INTEGER NOT NULL, name BLOB NOT NULL, PRIMARY KEY (task, name)) STRICT, WITHOUT ROWID;
CREATE TABLE spent (task INTEGER NOT NULL, name BLOB NOT NULL, PRIMARY KEY (task, name)) STRICT, WITHOUT ROWID;
""",
)
"""From each schema version to the next."""


class StoreUnavailable(ShuffledpError):  # noqa: N818 - reads as what it is
    """The store cannot take anything now: nothing was acknowledged, and trying again is right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One batch as the store knows it. Batches that were rolled over into one another are one window."""

    id: int
    window: int
    task: str
    opened: float
    state: BatchState
    count: int
    digest: str | None


class Store(Protocol):
    """What a shuffler needs of its store. Each method is one transaction."""

    def add_task(self, task_id: str, document: str, *, hop: int, now: float) -> None:
        """Know a task and open its first batch; one that is known stays as it is."""
        ...

    def tasks(self) -> dict[str, tuple[str, int]]:
        """Documents and hops of the known tasks by id."""
        ...

    def open_batch(self, task_id: str) -> Batch:
        """The batch that takes reports."""
        ...

    def batch(self, batch_id: int) -> Batch | None:
        """Any batch."""
        ...

    def batches(self, task_id: str, state: BatchState | None = None) -> list[Batch]:
        """Batches of a task, the oldest first."""
        ...

    def add_reports(
        self,
        task_id: str,
        reports: Sequence[tuple[bytes, bytes]],
        spending: Sequence[bytes] | None = None,
        *,
        window: int | None = None,
    ) -> list[Kept]:
        """Add (id, inner record) to the open batch, if that is of this window; says what became of each.

        If credentials are given, each report needs one that was never spent.
        """
        ...

    def start_closing(self, batch_id: int, *, at_least: int, secret: bytes, now: float) -> Batch | None:
        """Close a batch and open the next, if it is still open and has that many reports; None if not."""
        ...

    def release(self, batch_id: int) -> Batch:
        """Permute a closing batch by its secret, write the released bytes, erase secret and records. Again does nothing."""
        ...

    def end(self, batch_id: int, *, below: int, roll_over: bool, now: float) -> Batch | None:
        """Roll over or destroy a batch, if it is still open and has fewer reports than `below`; None if not."""
        ...

    def renew(self, batch_id: int, *, now: float) -> None:
        """Let an open batch without reports begin now."""
        ...

    def tidy(self) -> None:
        """Let nothing that was erased be left anywhere, as far as readers allow it now. Called now and then."""
        ...

    def pieces(self, batch_id: int) -> Iterator[bytes]:
        """The released bytes: the same every time."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


class SQLiteStore:
    """One file. Use it from one thread at a time."""

    def __init__(self, path: Path | str) -> None:
        self._tidy = False
        try:
            if str(path) != ":memory:":
                os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # the log beside it gets the same permissions
            self._connection = sqlite3.connect(
                path, isolation_level=None, check_same_thread=False, timeout=_PATIENCE / 1000
            )
            version = self._version(path)
            self._connection.executescript(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON;"
                "PRAGMA temp_store = MEMORY;"  # a permutation must not be left in a temporary file
                f"PRAGMA cache_size = -{_CACHE}; PRAGMA wal_autocheckpoint = 10000;"  # names come in no order
            )
        except (sqlite3.DatabaseError, OSError):
            raise InvalidInput(f"{path} is not a store, or another program holds it. Choose another file.") from None
        if version < SCHEMA:
            with self._transaction() as connection:  # whole or not at all; another process may have done it meanwhile
                for statement in ";".join(_STEPS[self._version(path) :]).split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {SCHEMA}")
        self._connection.create_function("place", 2, _place, deterministic=True)

    def _version(self, path: Path | str) -> int:
        """The schema that is there; 0 for none. What is not ours is left as it is."""
        version, tables = self._connection.execute(
            "SELECT (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_master)"
        ).fetchone()
        if version > SCHEMA:
            raise InvalidInput(f"{path} was written by a newer version (schema {version}). Use that version.")
        if version == 0 and tables:
            raise InvalidInput(f"{path} is a database of something else. Choose another file.")
        return int(version)

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def __del__(self) -> None:
        if hasattr(self, "_connection"):
            self._connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
        except sqlite3.OperationalError:  # locked, disk full
            raise StoreUnavailable("the store is locked or its disk is full. Try again.") from None

    def add_task(self, task_id: str, document: str, *, hop: int, now: float) -> None:
        """Know a task and open its first batch; one that is known stays as it is."""
        with self._transaction() as connection:
            added = connection.execute(
                "INSERT OR IGNORE INTO task SELECT ?, ?, ?, 1 + coalesce(max(number), 0) FROM task",
                (task_id, document, hop),
            )
            if added.rowcount:
                self._open(task_id, now)

    def tasks(self) -> dict[str, tuple[str, int]]:
        """Documents and hops of the known tasks by id."""
        rows = self._read("SELECT id, document, hop FROM task")
        return {task_id: (document, hop) for task_id, document, hop in rows}

    def open_batch(self, task_id: str) -> Batch:
        """The batch that takes reports."""
        found = self._select("WHERE task = ? AND state = 'OPEN'", task_id)  # spelled out, so that its index is used
        if not found:
            raise InvalidInput("the store does not know this task. Add it first.")
        return found[0]

    def batch(self, batch_id: int) -> Batch | None:
        """Any batch."""
        found = self._select("WHERE id = ?", batch_id) if 0 <= batch_id < 2**63 else []
        return found[0] if found else None

    def batches(self, task_id: str, state: BatchState | None = None) -> list[Batch]:
        """Batches of a task, the oldest first."""
        if state is None:
            return self._select("WHERE task = ? ORDER BY id", task_id)
        return self._select("WHERE task = ? AND state = ? ORDER BY id", task_id, state)

    def add_reports(
        self,
        task_id: str,
        reports: Sequence[tuple[bytes, bytes]],
        spending: Sequence[bytes] | None = None,
        *,
        window: int | None = None,
    ) -> list[Kept]:
        """Add (id, inner record) to the open batch, if that is of this window; says what became of each.

        If credentials are given, each report needs one that was never spent.
        """
        outcomes: dict[int, Kept] = {}
        with self._transaction() as connection:
            batch, task = self.open_batch(task_id), self._number(task_id)
            number = batch.id if window in (None, batch.window) else None
            for j in sorted(range(len(reports)), key=lambda j: (reports[j][0], j)):  # not in the order of arrival
                name, inner = reports[j]
                outcomes[j] = self._add(task, number, name, inner, None if spending is None else spending[j])
                if len(outcomes) == 1:
                    reached("accept: first report written")
            kept = [outcomes[j] for j in range(len(reports))]
            connection.execute("UPDATE batch SET count = count + ? WHERE id = ?", (kept.count("accepted"), batch.id))
            reached("accept: all reports written")
        reached("accept: committed")
        return kept

    def _add(self, task: int, batch: int | None, name: bytes, inner: bytes, credential: bytes | None) -> Kept:
        run = self._connection.execute
        if run("SELECT 1 FROM report WHERE task = ? AND id = ?", (task, name)).fetchone():
            return "report_replayed"
        if batch is None:
            known = run("SELECT 1 FROM sealed WHERE task = ? AND id = ?", (task, name)).fetchone()
            return "report_replayed" if known else "batch_collected"
        if not run("INSERT OR IGNORE INTO sealed VALUES (?, ?, ?, ?)", (task, name, batch, inner)).rowcount:
            return "report_replayed"
        if credential is None:
            return "accepted"
        spent = run("SELECT 1 FROM spent WHERE task = ? AND name = ?", (task, credential)).fetchone()
        if spent or not run("INSERT OR IGNORE INTO spending VALUES (?, ?)", (task, credential)).rowcount:
            run("DELETE FROM sealed WHERE task = ? AND id = ?", (task, name))
            return "not_admitted"
        return "accepted"

    def start_closing(self, batch_id: int, *, at_least: int, secret: bytes, now: float) -> Batch | None:
        """Close a batch and open the next, if it is still open and has that many reports; None if not."""
        with self._transaction() as connection:
            batch = self.batch(batch_id)
            if batch is None or batch.state != "OPEN":
                return None
            (held,) = connection.execute(
                "SELECT count(*) FROM sealed WHERE task = ? AND batch = ?", (self._number(batch.task), batch_id)
            ).fetchone()
            if held != batch.count:  # pragma: no cover - both change in one transaction
                raise StoreUnavailable("the store's count and its reports disagree. Restore a backup.")
            if held < at_least:
                return None
            connection.execute("UPDATE batch SET state = 'CLOSING', secret = ? WHERE id = ?", (secret, batch_id))
            self._open(batch.task, now)
            reached("close: marked")
        reached("close: committed")
        return self.batch(batch_id)

    def release(self, batch_id: int) -> Batch:
        """Permute a closing batch by its secret, write the released bytes, erase secret and records. Again does nothing."""
        with self._transaction() as connection:
            row = connection.execute(
                "SELECT secret, count, task FROM batch WHERE id = ? AND state = 'CLOSING'", (batch_id,)
            ).fetchone()
            if row is not None:
                secret, count, task_id = row
                digest = hashlib.sha256()
                ordered = connection.execute(
                    "SELECT inner FROM sealed WHERE task = ? AND batch = ? ORDER BY place(?, id)",
                    (self._number(task_id), batch_id, secret),
                )
                reached("release: permuted")
                for number in range(-(-count // CHUNK)):
                    piece = b"".join(inner for (inner,) in ordered.fetchmany(CHUNK))
                    digest.update(piece)
                    connection.execute("INSERT INTO piece VALUES (?, ?, ?)", (batch_id, number, piece))
                    reached("release: a piece written")
                reached("release: all pieces written")
                self._erase(self._number(task_id), batch_id)
                reached("release: records erased")
                connection.execute(
                    "UPDATE batch SET state = 'RELEASED', secret = NULL, digest = ? WHERE id = ?",
                    (digest.hexdigest(), batch_id),
                )
                reached("release: marked")
        reached("release: committed")
        self._tidy = False
        self.tidy()
        reached("release: log emptied")
        found = self.batch(batch_id)
        if found is None or found.state != "RELEASED":
            raise InvalidInput("there is no such batch to release. Close one first.")
        return found

    def end(self, batch_id: int, *, below: int, roll_over: bool, now: float) -> Batch | None:
        """Roll over or destroy a batch, if it is still open and has fewer reports than `below`; None if not."""
        with self._transaction() as connection:
            batch = self.batch(batch_id)
            if batch is None or batch.state != "OPEN" or batch.count >= below:
                return None
            state = "ROLLED_OVER" if roll_over else "DESTROYED"
            connection.execute("UPDATE batch SET state = ?, count = 0 WHERE id = ?", (state, batch_id))
            following, task = self._open(batch.task, now, batch.window if roll_over else None), self._number(batch.task)
            if roll_over:
                connection.execute(
                    "UPDATE sealed SET batch = ? WHERE task = ? AND batch = ?", (following, task, batch_id)
                )
                connection.execute("UPDATE batch SET count = ? WHERE id = ?", (batch.count, following))
            else:
                self._erase(task, batch_id)
        self._tidy = False
        self.tidy()
        return self.batch(batch_id)

    def renew(self, batch_id: int, *, now: float) -> None:
        """Let an open batch without reports begin now."""
        with self._transaction() as connection:
            connection.execute(
                "UPDATE batch SET opened = ? WHERE id = ? AND state = 'OPEN' AND count = 0", (now, batch_id)
            )

    def _erase(self, task: int, batch_id: int) -> None:
        """Of the reports of a batch keep only the names, and of the credentials that they were spent: in their own order."""
        run = self._connection.execute
        run("INSERT INTO report SELECT task, id FROM sealed WHERE task = ? AND batch = ? ORDER BY id", (task, batch_id))
        run("DELETE FROM sealed WHERE task = ? AND batch = ?", (task, batch_id))
        run("INSERT INTO spent SELECT task, name FROM spending WHERE task = ? ORDER BY name", (task,))
        run("DELETE FROM spending WHERE task = ?", (task,))

    def tidy(self) -> None:
        """Empty the log, which still has secrets and records that were erased, or that a crash left in it.

        A reader, or a full disk, may keep it a little longer.
        """
        if self._tidy:
            return
        with suppress(sqlite3.OperationalError):
            self._connection.execute("PRAGMA busy_timeout = 50")
            self._tidy = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
        self._connection.execute(f"PRAGMA busy_timeout = {_PATIENCE}")

    def pieces(self, batch_id: int) -> Iterator[bytes]:
        """The released bytes: the same every time."""
        number = 0
        while True:
            rows = self._read("SELECT bytes FROM piece WHERE batch = ? AND number = ?", batch_id, number)
            if not rows:
                return
            yield rows[0][0]
            number += 1

    def backup(self, path: Path) -> None:
        """A consistent copy, taken while others write."""
        if path.exists():
            raise InvalidInput(f"{path} exists. Choose another file.")
        try:
            with closing(sqlite3.connect(path)) as copy:
                path.chmod(0o600)
                self._connection.backup(copy)  # in one go: in parts it would start anew at every commit of the shuffler
        except (sqlite3.OperationalError, OSError):
            path.unlink(missing_ok=True)
            raise InvalidInput(f"cannot write {path}. Choose another place.") from None

    def _number(self, task_id: str) -> int:
        return int(self._connection.execute("SELECT number FROM task WHERE id = ?", (task_id,)).fetchone()[0])

    def _open(self, task_id: str, now: float, window: int | None = None) -> int:
        cursor = self._connection.execute(
            "INSERT INTO batch (task, opened, state) VALUES (?, ?, 'OPEN')", (task_id, now)
        )
        number = int(cursor.lastrowid or 0)
        self._connection.execute("UPDATE batch SET window = ? WHERE id = ?", (window or number, number))
        return number

    def _select(self, where: str, *values: object) -> list[Batch]:
        rows = self._read(f"SELECT id, window, task, opened, state, count, digest FROM batch {where}", *values)  # noqa: S608
        return [
            Batch(id=row[0], window=row[1], task=row[2], opened=row[3], state=row[4], count=row[5], digest=row[6])
            for row in rows
        ]

    def _read(self, sql: str, *values: object) -> list[Any]:
        try:
            return self._connection.execute(sql, values).fetchall()
        except sqlite3.OperationalError:
            raise StoreUnavailable("the store cannot be read now. Try again.") from None


def _place(secret: bytes, name: bytes) -> bytes:
    """Where a report goes in the permutation of its batch."""
    return hashlib.blake2b(name, key=secret, digest_size=32).digest()
