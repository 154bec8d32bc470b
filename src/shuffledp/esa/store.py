"""What the shuffler keeps: reports' names, their sealed insides until release, batches and released bytes. Nothing about senders.

SQLite in WAL mode with synchronous=FULL: what is acknowledged is on disk. Every transition of a batch is one transaction.
"""

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Protocol, get_args

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

Kept = Literal["accepted", "report_replayed", "not_admitted"]

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
    # names for the life of a task and insides until release are apart, both small and in no order of arrival; which hop of a
    # task this shuffler is (before: always the outermost); credentials that were spent, without their reports
    """
ALTER TABLE task ADD COLUMN hop INTEGER NOT NULL DEFAULT 1 CHECK (hop >= 1);
ALTER TABLE task ADD COLUMN number INTEGER;
UPDATE task SET hop = coalesce(json_extract(document, '$.hops'), 1), number = rowid;
CREATE UNIQUE INDEX task_number ON task (number);
CREATE TABLE known (task INTEGER NOT NULL, id BLOB NOT NULL, PRIMARY KEY (task, id)) STRICT, WITHOUT ROWID;
INSERT INTO known SELECT number, report.id FROM report JOIN task ON task.id = report.task;
CREATE TABLE sealed (
    batch INTEGER NOT NULL REFERENCES batch, id BLOB NOT NULL, inner BLOB NOT NULL, PRIMARY KEY (batch, id)
) STRICT, WITHOUT ROWID;
INSERT INTO sealed SELECT batch, id, inner FROM report WHERE inner IS NOT NULL;
DROP TABLE report;
ALTER TABLE known RENAME TO report;
CREATE TABLE spent (task INTEGER NOT NULL, name BLOB NOT NULL, PRIMARY KEY (task, name)) STRICT, WITHOUT ROWID;
""",
)
"""From each schema version to the next."""


class StoreUnavailable(ShuffledpError):  # noqa: N818 - reads as what it is
    """The store cannot take anything now: nothing was acknowledged, and trying again is right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One batch as the store knows it."""

    id: int
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
        self, task_id: str, reports: Sequence[tuple[bytes, bytes]], spending: Sequence[bytes] | None = None
    ) -> list[Kept]:
        """Add (id, inner record) to the open batch, each for a credential that was never spent; says what became of each."""
        ...

    def start_closing(self, task_id: str, *, at_least: int, secret: bytes, now: float) -> Batch | None:
        """Close the open batch and open the next, if it has that many reports; None if not."""
        ...

    def release(self, batch_id: int) -> Batch:
        """Permute a closing batch by its secret, write the released bytes, erase secret and records. Again does nothing."""
        ...

    def end(self, task_id: str, *, below: int, roll_over: bool, now: float) -> Batch | None:
        """Roll over or destroy the open batch if it has fewer reports than `below`; None if it has enough."""
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
            self._connection = sqlite3.connect(
                path, isolation_level=None, check_same_thread=False, timeout=_PATIENCE / 1000
            )
            version = self._version(path)
            self._connection.executescript(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON;"
                "PRAGMA temp_store = MEMORY;"  # a permutation must not be left in a temporary file
                f"PRAGMA cache_size = -{_CACHE}; PRAGMA wal_autocheckpoint = 10000;"  # names come in no order
            )
        except sqlite3.DatabaseError:
            raise InvalidInput(f"{path} is not a store, or another program holds it. Choose another file.") from None
        if version < SCHEMA:
            with self._transaction() as connection:  # whole or not at all; another process may have done it meanwhile
                for statement in ";".join(_STEPS[self._version(path) :]).split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {SCHEMA}")
        self._connection.create_function("place", 2, _place, deterministic=True)

    def _version(self, path: Path | str) -> int:
        """The schema that is there; 0 for none. What is not ours is left as it is."""
        version = int(self._connection.execute("PRAGMA user_version").fetchone()[0])
        if version > SCHEMA:
            raise InvalidInput(f"{path} was written by a newer version (schema {version}). Use that version.")
        if version == 0 and self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise InvalidInput(f"{path} is a database of something else. Choose another file.")
        return version

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
        rows = self._connection.execute("SELECT id, document, hop FROM task").fetchall()
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
        self, task_id: str, reports: Sequence[tuple[bytes, bytes]], spending: Sequence[bytes] | None = None
    ) -> list[Kept]:
        """Add (id, inner record) to the open batch, each for a credential that was never spent; says what became of each."""
        kept: list[Kept] = []
        with self._transaction() as connection:
            batch = self.open_batch(task_id).id
            (task,) = connection.execute("SELECT number FROM task WHERE id = ?", (task_id,)).fetchone()
            for j, (name, _) in enumerate(reports):
                if not connection.execute("INSERT OR IGNORE INTO report VALUES (?, ?)", (task, name)).rowcount:
                    kept.append("report_replayed")
                elif spending is None or self._spend(task, spending[j]):
                    kept.append("accepted")
                else:
                    connection.execute("DELETE FROM report WHERE task = ? AND id = ?", (task, name))
                    kept.append("not_admitted")
                if j == 0:
                    reached("accept: first report written")
            new = [(batch, *report) for report, what in zip(reports, kept, strict=True) if what == "accepted"]
            connection.executemany("INSERT INTO sealed VALUES (?, ?, ?)", new)
            connection.execute("UPDATE batch SET count = count + ? WHERE id = ?", (len(new), batch))
            reached("accept: all reports written")
        reached("accept: committed")
        return kept

    def start_closing(self, task_id: str, *, at_least: int, secret: bytes, now: float) -> Batch | None:
        """Close the open batch and open the next, if it has that many reports; None if not."""
        with self._transaction() as connection:
            batch = self.open_batch(task_id)
            (held,) = connection.execute("SELECT count(*) FROM sealed WHERE batch = ?", (batch.id,)).fetchone()
            if held != batch.count:  # pragma: no cover - both change in one transaction
                raise StoreUnavailable("the store's count and its reports disagree. Restore a backup.")
            if held < at_least:
                return None
            connection.execute("UPDATE batch SET state = 'CLOSING', secret = ? WHERE id = ?", (secret, batch.id))
            self._open(task_id, now)
            reached("close: marked")
        reached("close: committed")
        return self.batch(batch.id)

    def release(self, batch_id: int) -> Batch:
        """Permute a closing batch by its secret, write the released bytes, erase secret and records. Again does nothing."""
        with self._transaction() as connection:
            row = connection.execute(
                "SELECT secret, count FROM batch WHERE id = ? AND state = 'CLOSING'", (batch_id,)
            ).fetchone()
            if row is not None:
                secret, count = row
                digest = hashlib.sha256()
                ordered = connection.execute(
                    "SELECT inner FROM sealed WHERE batch = ? ORDER BY place(?, id)", (batch_id, secret)
                )
                reached("release: permuted")
                for number in range(-(-count // CHUNK)):
                    piece = b"".join(inner for (inner,) in ordered.fetchmany(CHUNK))
                    digest.update(piece)
                    connection.execute("INSERT INTO piece VALUES (?, ?, ?)", (batch_id, number, piece))
                    reached("release: a piece written")
                reached("release: all pieces written")
                connection.execute("DELETE FROM sealed WHERE batch = ?", (batch_id,))
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

    def end(self, task_id: str, *, below: int, roll_over: bool, now: float) -> Batch | None:
        """Roll over or destroy the open batch if it has fewer reports than `below`; None if it has enough."""
        with self._transaction() as connection:
            batch = self.open_batch(task_id)
            if batch.count >= below:
                return None
            state = "ROLLED_OVER" if roll_over else "DESTROYED"
            connection.execute("UPDATE batch SET state = ?, count = 0 WHERE id = ?", (state, batch.id))
            following = self._open(task_id, now)
            if roll_over:
                connection.execute("UPDATE sealed SET batch = ? WHERE batch = ?", (following, batch.id))
                connection.execute("UPDATE batch SET count = ? WHERE id = ?", (batch.count, following))
            else:  # their names stay, so that they are not taken again
                connection.execute("DELETE FROM sealed WHERE batch = ?", (batch.id,))
        self._tidy = False
        self.tidy()
        return self.batch(batch.id)

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
            row = self._connection.execute(
                "SELECT bytes FROM piece WHERE batch = ? AND number = ?", (batch_id, number)
            ).fetchone()
            if row is None:
                return
            yield row[0]
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

    def _spend(self, task: int, name: bytes) -> bool:
        """Whether a credential was not spent before."""
        return self._connection.execute("INSERT OR IGNORE INTO spent VALUES (?, ?)", (task, name)).rowcount == 1

    def _open(self, task_id: str, now: float) -> int:
        cursor = self._connection.execute(
            "INSERT INTO batch (task, opened, state) VALUES (?, ?, 'OPEN')", (task_id, now)
        )
        return int(cursor.lastrowid or 0)

    def _select(self, where: str, *values: object) -> list[Batch]:
        rows = self._connection.execute(f"SELECT id, task, opened, state, count, digest FROM batch {where}", values)  # noqa: S608
        return [
            Batch(id=row[0], task=row[1], opened=row[2], state=row[3], count=row[4], digest=row[5])
            for row in rows.fetchall()
        ]


def _place(secret: bytes, name: bytes) -> bytes:
    """Where a report goes in the permutation of its batch."""
    return hashlib.blake2b(name, key=secret, digest_size=32).digest()
