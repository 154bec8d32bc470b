"""The shuffler's store in one SQLite file: ids of reports, their inner records until release, batches and released bytes.

Nothing about senders. WAL mode with synchronous=FULL: what is acknowledged is on disk. A change of a batch's state is one
transaction; permuting and erasing are short ones, so that uploads never wait long for a release.

SQLite keeps the order in which rows of a page came. So what is being collected is in tables that are emptied at release, and
ids and spent credentials, which stay for the life of a task, are then written in their own order.
"""

import hashlib
import os
import sqlite3
import stat
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import InvalidInput
from shuffledp.esa.checkpoints import reached
from shuffledp.esa.permutation import order
from shuffledp.esa.schema import SCHEMA, TABLES, why
from shuffledp.esa.store import Batch, BatchState, Kept, NextKey, StoreUnavailable
from shuffledp.esa.wire import ID, record_length

CHUNK: Final = 1 << 16
"""Records of a piece of a released batch."""
STEP: Final = 5000
"""Rows read or erased at a time."""
_PATIENCE: Final = 5000
"""Milliseconds to wait for another program that has the database."""
_CACHE: Final = 64 * 1024
"""Kilobytes of the database in memory."""

_COLUMNS: Final = "id, window, task, opened, state, count, key, fingerprint, digest, purged"


class SQLiteStore:
    """One file. Use it from one thread at a time, and `twin` for another."""

    def __init__(
        self, path: Path | str, *, read_only: bool = False, _turn: AbstractContextManager[bool] | None = None
    ) -> None:
        self._path, self._memory = path, str(path) == ":memory:"
        self._tidy = read_only or _turn is not None  # what a crash left is for the first handle
        self._turn = _turn or threading.RLock()  # writers of this process wait for each other here, not by polling
        self._file: tuple[int, int] | None = None
        self._log: tuple[int, int] | None = None
        try:
            if not self._memory:
                self._file = self._prepared(Path(path), read_only)
            mode = "?mode=ro" if read_only else ""
            self._connection = sqlite3.connect(
                path if self._memory else f"{Path(path).absolute().as_uri()}{mode}", uri=not self._memory,
                isolation_level=None, check_same_thread=False, timeout=_PATIENCE / 1000,
            )  # fmt: skip
            version = self._version()
            if not read_only:
                self._configure()
        except (sqlite3.Error, OSError) as error:
            raise InvalidInput(f"cannot use the store {path}: {why(error)}") from None
        if not version and read_only:
            raise InvalidInput(f"{path} is not a store. Choose another file.")
        if not version:
            with self._transaction() as connection:  # whole or not at all; another process may have done it meanwhile
                for statement in TABLES.split(";") if not self._version() else ():
                    connection.execute(statement)

    def _configure(self) -> None:
        """Durable, and nothing that was erased is left."""
        until = time.monotonic() + _PATIENCE / 1000
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                break
            except (
                sqlite3.OperationalError
            ):  # others open a new file at the same time: SQLite does not wait by itself here
                if time.monotonic() > until:
                    raise
                time.sleep(0.01)
        self._connection.executescript(
            "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON;"
            "PRAGMA temp_store = MEMORY;"  # nothing of a batch may be left in a temporary file
            f"PRAGMA cache_size = -{_CACHE}; PRAGMA wal_autocheckpoint = 10000;"  # ids come in no order
        )

    def _prepared(self, path: Path, read_only: bool) -> tuple[int, int]:
        """Made if it is missing; refused if others can read it."""
        if not read_only and not path.exists():
            # The log beside it gets the same permissions. A file that is there is never opened here: closing it would drop
            # all locks that this process has on it, and another process could then take the log away under its writers.
            with suppress(FileExistsError):
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise InvalidInput(f"{path} is not a file. Choose another one.")
        if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise InvalidInput(f"others can read the store {path}. Set its permissions to 600.")
        return found.st_dev, found.st_ino

    def _version(self) -> int:
        """The schema that is there; 0 for none. What is not ours is left as it is."""
        version, tables = self._connection.execute(
            "SELECT (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_master)"
        ).fetchone()
        if version > SCHEMA:
            raise InvalidInput(f"{self._path} was written by a newer version (schema {version}). Use that version.")
        if version == 0 and tables:
            raise InvalidInput(f"{self._path} is a database of something else. Choose another file.")
        if 0 < version < SCHEMA:
            raise InvalidInput(
                f"{self._path} is of an earlier version, whose tasks and reports this one does not read. Release what is in it "
                "with the version that made it, and begin with a new file."
            )
        return int(version)

    def twin(self) -> Self:
        """The same store for another thread; one in memory is shared."""
        return self if self._memory else type(self)(self._path, _turn=self._turn)

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
                raise StoreUnavailable(f"the store {self._path} took nothing: {why(error)}") from None

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

    # Tasks

    def add_task(self, task_id: str, document: str, *, hop: int, key: NextKey, now: float) -> None:
        """Know a task and open its first batch; one that is known stays as it is, one that is retired is refused."""
        with self._transaction() as connection:
            added = connection.execute(
                "INSERT OR IGNORE INTO task SELECT ?, ?, ?, 1 + coalesce(max(number), 0), 0 FROM task",
                (task_id, document, hop),
            )
            if added.rowcount:
                self._open(task_id, key, now)
            elif connection.execute("SELECT retired FROM task WHERE id = ?", (task_id,)).fetchone()[0]:
                raise InvalidInput(f"task {task_id} is retired in this store. Make a new task.")

    def tasks(self) -> dict[str, tuple[str, int]]:
        """Documents and hops of the tasks that are not retired, by id."""
        rows = self._read("SELECT id, document, hop FROM task WHERE NOT retired")
        return {task_id: (document, hop) for task_id, document, hop in rows}

    def retire(self, task_id: str, *, at_most: int) -> int | None:
        """End a task for ever and destroy its open reports: says how many; None, and nothing happens, if there are more.

        The ids of its reports stay known.
        """
        with self._transaction() as connection:
            batches = self.batches(task_id, "OPEN")
            if not batches:
                raise InvalidInput("the store does not know this task, or it is retired already. Check the task.")
            destroyed = sum(batch.count for batch in batches)
            if destroyed > at_most:
                return None
            connection.execute("UPDATE task SET retired = 1 WHERE id = ?", (task_id,))
            connection.execute("UPDATE batch SET state = 'DESTROYED' WHERE task = ? AND state = 'OPEN'", (task_id,))
        for batch in batches:
            self._erase(batch)
        return destroyed

    # Batches

    def open_batch(self, task_id: str) -> Batch:
        """The newest batch that takes reports."""
        found = self._opened(task_id)
        if not found:
            raise InvalidInput("the store does not know this task, or it is retired. Add it first.")
        return found[-1]

    def open_window(self, task_id: str, *, key: NextKey, now: float) -> Batch:
        """Open a batch for this key, under a new window, unless there is one; empty batches of other keys end."""
        with self._transaction() as connection:
            connection.execute(
                "UPDATE batch SET state = 'ROLLED_OVER' WHERE task = ? AND state = 'OPEN' AND count = 0 "
                "AND NOT (key = ? AND fingerprint = ?)",
                (task_id, key.id, key.fingerprint),
            )
            return self._open(task_id, key, now)

    def batch(self, batch_id: int) -> Batch | None:
        """Any batch."""
        found = self._select("WHERE id = ?", batch_id) if 0 <= batch_id < 2**63 else []
        return found[0] if found else None

    def batches(self, task_id: str, state: BatchState | None = None) -> list[Batch]:
        """Batches of a task, the oldest first."""
        if state is None:
            return self._select("WHERE task = ? ORDER BY id", task_id)
        return self._select("WHERE task = ? AND state = ? ORDER BY id", task_id, state)

    def history(self) -> list[Batch]:
        """All batches, those of retired tasks too."""
        return self._select("ORDER BY id")

    def unfinished(self) -> list[Batch]:
        """Batches whose release, or the erasing after it, was interrupted."""
        return self._select(
            "WHERE state = 'CLOSING' OR (state IN ('RELEASED', 'DESTROYED') AND NOT erased) ORDER BY id"
        )

    def add_reports(
        self,
        task_id: str,
        reports: Sequence[tuple[bytes, bytes]],
        spending: Sequence[bytes] | None = None,
        *,
        keys: Mapping[int, NextKey],
        window: int | None = None,
        several: float | None = None,
    ) -> list[Kept]:
        """Add (id, inner record) to the open batch, if that is of this window; says what became of each.

        Only records that name the key of the batch are taken, and only while it is one of `keys`, by id. With `several`, which
        is the time, there is a batch for each of the keys, opened when needed. If credentials are given, each report needs one
        that was never spent.
        """
        outcomes: dict[int, Kept] = {}
        with self._transaction() as connection:
            task, opened = self._number(task_id), self._opened(task_id)
            listed = {batch.key.id: batch for batch in opened if keys.get(batch.key.id) == batch.key}
            if several is not None:
                for named in {inner[0] for _, inner in reports} & set(keys) - set(listed):
                    listed[named] = self._open(task_id, keys[named], several)
                here = True
            else:  # the one that is announced: the newest whose key is listed
                newest = max(listed.values(), key=lambda batch: batch.id, default=opened[-1] if opened else None)
                here = newest is not None and window in (None, newest.window)
                listed = {newest.key.id: newest} if newest is not None and newest in listed.values() else {}
            held: Counter[int] = Counter()
            for j in sorted(range(len(reports)), key=lambda j: (reports[j][0], j)):  # not in the order of arrival
                name, inner = reports[j]
                batch = listed.get(inner[0]) if here else None
                refusal: Kept | None = None if batch else "outdated_key" if here else "batch_collected"
                credential = None if spending is None else spending[j]
                outcomes[j] = self._add(task, batch.id if batch else 0, name, inner, credential, refusal)
                held[batch.id if batch else 0] += outcomes[j] == "accepted"
                if len(outcomes) == 1:
                    reached("accept: first report written")
            for number, more in held.items():
                connection.execute("UPDATE batch SET count = count + ? WHERE id = ?", (more, number))
            reached("accept: all reports written")
        reached("accept: committed")
        return [outcomes[j] for j in range(len(reports))]

    def _add(
        self, task: int, batch: int, name: bytes, inner: bytes, credential: bytes | None, refusal: Kept | None
    ) -> Kept:
        run = self._connection.execute
        if run("SELECT 1 FROM report WHERE task = ? AND id = ?", (task, name)).fetchone():
            return "report_replayed"
        if (
            refusal is not None
        ):  # said only of reports that are not here: whoever hears it may seal the same message anew
            known = run("SELECT 1 FROM sealed WHERE task = ? AND id = ?", (task, name)).fetchone()
            return "report_replayed" if known else refusal
        if not run("INSERT OR IGNORE INTO sealed VALUES (?, ?, ?, ?)", (task, name, batch, inner)).rowcount:
            return "report_replayed"
        if credential is None:
            return "accepted"
        spent = run("SELECT 1 FROM spent WHERE task = ? AND id = ?", (task, credential)).fetchone()
        if spent or not run("INSERT OR IGNORE INTO spending VALUES (?, ?)", (task, credential)).rowcount:
            run("DELETE FROM sealed WHERE task = ? AND id = ?", (task, name))
            return "not_admitted"
        return "accepted"

    def start_closing(self, batch_id: int, *, at_least: int, secret: bytes, key: NextKey, now: float) -> Batch | None:
        """Close a batch and open the next for `key`, if it is still open and has that many reports; None if not."""
        with self._transaction() as connection:
            batch = self.batch(batch_id)
            if batch is None or batch.state != "OPEN" or batch.count < at_least:
                return None
            connection.execute("UPDATE batch SET state = 'CLOSING', secret = ? WHERE id = ?", (secret, batch_id))
            self._open(batch.task, key, now)
            reached("close: marked")
        reached("close: committed")
        return self.batch(batch_id)

    def release(self, batch_id: int) -> Batch:
        """Permute a closing batch by its secret, write the released bytes, erase secret and records. Again does nothing.

        In short steps, so that others can write meanwhile. Another process may do the same at the same time: the bytes are the
        same, and who comes second finds the batch released. Of a destroyed batch the erasing is finished.
        """
        batch = self._known(batch_id)
        if batch.state == "CLOSING":
            self._publish(batch)
            batch = self._known(batch_id)
        if batch.state not in ("RELEASED", "DESTROYED"):
            raise InvalidInput("there is no such batch to release. Close one first.")
        self._erase(batch)
        reached("release: log emptied")
        return batch

    def _publish(self, batch: Batch) -> None:
        secrets = self._read("SELECT secret FROM batch WHERE id = ? AND state = 'CLOSING'", batch.id)
        ids, records = self._records(batch)
        if not secrets or len(ids) != batch.count:
            if self._known(batch.id).state == "CLOSING":
                raise StoreUnavailable("the store's count and its reports disagree. Restore a backup.")
            return  # another process was faster
        places = order(ids, secrets[0][0])
        reached("release: permuted")
        digest = hashlib.sha256()
        for number, start in enumerate(range(0, batch.count, CHUNK)):
            piece = records[places[start : start + CHUNK]].tobytes()
            digest.update(piece)
            with self._step() as connection:
                connection.execute(
                    "INSERT OR IGNORE INTO piece SELECT id, ?, ? FROM batch WHERE id = ? AND state = 'CLOSING'",
                    (number, piece, batch.id),
                )
            reached("release: a piece written")
        reached("release: all pieces written")
        with self._transaction() as connection:
            connection.execute(
                "UPDATE batch SET state = 'RELEASED', secret = NULL, digest = ? WHERE id = ? AND state = 'CLOSING'",
                (digest.hexdigest(), batch.id),
            )
            reached("release: marked")
        reached("release: committed")

    def _records(self, batch: Batch) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Ids and inner records of a batch, a row each, in the order of ids."""
        task, (hop,) = self._number(batch.task), self._read("SELECT hop FROM task WHERE id = ?", batch.task)[0]
        ids = np.empty((batch.count, ID), dtype=np.uint8)
        records = np.empty((batch.count, record_length(hop)), dtype=np.uint8)
        done, last = 0, b""
        while rows := self._read(
            "SELECT id, inner FROM sealed WHERE task = ? AND id > ? AND batch = ? ORDER BY id LIMIT ?",
            task, last, batch.id, min(STEP, batch.count + 1),
        ):  # fmt: skip
            last, until = rows[-1][0], done + len(rows)
            if until > batch.count:
                return ids[:0], records[:0]
            for place, column in ((ids, 0), (records, 1)):
                place[done:until] = np.frombuffer(b"".join(row[column] for row in rows), np.uint8).reshape(
                    len(rows), -1
                )
            done = until
        return ids[:done], records[:done]

    def _erase(self, batch: Batch) -> None:
        """Keep only the ids of the reports of a batch that has ended, and of its credentials: in their own order."""
        task = self._number(batch.task)
        for source, target, where in (("sealed", "report", f"AND batch = {batch.id}"), ("spending", "spent", "")):
            last = b""
            while True:
                with self._step() as connection:
                    rows = connection.execute(
                        f"SELECT id FROM {source} WHERE task = ? AND id > ? {where} ORDER BY id LIMIT {STEP}",  # noqa: S608
                        (task, last),
                    ).fetchall()
                    if not rows:
                        break
                    some = (task, last, last := rows[-1][0])
                    chosen = f"FROM {source} WHERE task = ? AND id > ? AND id <= ? {where}"
                    connection.execute(f"INSERT INTO {target} SELECT task, id {chosen} ORDER BY id", some)
                    connection.execute(f"DELETE {chosen}", some)
        with self._transaction() as connection:
            connection.execute("UPDATE batch SET erased = 1 WHERE id = ?", (batch.id,))
        reached("release: records erased")
        self._tidy = False
        self.tidy()

    @contextmanager
    def _step(self) -> Iterator[sqlite3.Connection]:
        """A short transaction of a long job, and as long a pause, so that uploads have their turn."""
        begin = time.perf_counter()
        with self._transaction() as connection:
            yield connection
        if not self._memory:
            time.sleep(min(0.1, time.perf_counter() - begin))

    def end(self, batch_id: int, *, below: int, roll_over: bool, key: NextKey, now: float) -> Batch | None:
        """Roll over or destroy a batch, if it is still open and has fewer reports than `below`; None if not.

        One that is rolled over keeps its number and begins anew; what is returned says how many reports it had. After a
        destruction the next is open, for `key`.
        """
        with self._transaction() as connection:
            batch = self.batch(batch_id)
            if batch is None or batch.state != "OPEN" or batch.count >= below:
                return None
            if roll_over:
                connection.execute("UPDATE batch SET opened = ? WHERE id = ?", (now, batch_id))
                marker = connection.execute(
                    "INSERT INTO batch (task, window, opened, state, count, key, fingerprint) "
                    "SELECT task, window, ?, 'ROLLED_OVER', count, key, fingerprint FROM batch WHERE id = ?",
                    (batch.opened, batch_id),
                )
                return self.batch(int(marker.lastrowid or 0))
            connection.execute("UPDATE batch SET state = 'DESTROYED' WHERE id = ?", (batch_id,))
            self._open(batch.task, key, now)
        self._erase(batch)
        return self.batch(batch_id)

    def renew(self, batch_id: int, *, now: float, empty: bool = True) -> None:
        """Let an open batch begin now: one without reports unless told."""
        with self._transaction() as connection:
            connection.execute(
                "UPDATE batch SET opened = ? WHERE id = ? AND state = 'OPEN' AND (count = 0 OR NOT ?)",
                (now, batch_id, empty),
            )

    def tidy(self) -> None:
        """Empty the log, which still has secrets and records that were erased, or that a crash left in it.

        A reader, or a full disk, may keep it a little longer.
        """
        if self._tidy:
            return
        with suppress(sqlite3.OperationalError):
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")  # the bulk of it without keeping writers out
        with self._turn, suppress(sqlite3.OperationalError):
            self._connection.execute("PRAGMA busy_timeout = 50")
            self._tidy = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
        self._connection.execute(f"PRAGMA busy_timeout = {_PATIENCE}")

    def pieces(self, batch_id: int) -> Iterator[bytes]:
        """The released bytes: the same every time."""
        number = 0
        while rows := self._read("SELECT bytes FROM piece WHERE batch = ? AND number = ?", batch_id, number):
            yield rows[0][0]
            number += 1

    def purge(self, batch_id: int) -> Batch:
        """Erase the released bytes of a batch; its digest and the ids of its reports stay."""
        batch = self.batch(batch_id)
        if batch is None or batch.state != "RELEASED":
            raise InvalidInput(f"batch {batch_id} is not a released batch. Only the bytes of those can be purged.")
        with self._transaction() as connection:
            connection.execute("UPDATE batch SET purged = 1 WHERE id = ?", (batch_id,))
        for number in range(-(-batch.count // CHUNK)):
            with self._step() as connection:
                connection.execute("DELETE FROM piece WHERE batch = ? AND number = ?", (batch_id, number))
        self._tidy = False
        self.tidy()
        return self._known(batch_id)

    def backup(self, path: Path) -> None:
        """A consistent copy, taken while others write, with rows in the order of their keys, which is not that of arrival."""
        if path.exists():
            raise InvalidInput(f"{path} exists. Choose another file.")
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            self._connection.execute("VACUUM INTO ?", (str(path),))
        except (sqlite3.Error, OSError) as error:
            path.unlink(missing_ok=True)
            raise InvalidInput(f"cannot write {path}: {why(error)}") from None

    # Rows

    def _number(self, task_id: str) -> int:
        return int(self._read("SELECT number FROM task WHERE id = ?", task_id)[0][0])

    def _known(self, batch_id: int) -> Batch:
        found = self.batch(batch_id)
        if found is None:
            raise InvalidInput("there is no such batch to release. Close one first.")
        return found

    def _opened(self, task_id: str) -> list[Batch]:
        return self._select(
            "WHERE task = ? AND state = 'OPEN' ORDER BY id", task_id
        )  # spelled out, so that its index is used

    def _open(self, task_id: str, key: NextKey, now: float) -> Batch:
        """An open batch for this key: a new one, under a new window, unless there is one."""
        self._connection.execute(
            "INSERT OR IGNORE INTO batch (task, opened, state, key, fingerprint) VALUES (?, ?, 'OPEN', ?, ?)",
            (task_id, now, key.id, key.fingerprint),
        )
        self._connection.execute("UPDATE batch SET window = id WHERE task = ? AND window IS NULL", (task_id,))
        return next(batch for batch in self._opened(task_id) if batch.key == key)

    def _select(self, where: str, *values: object) -> list[Batch]:
        rows = self._read(f"SELECT {_COLUMNS} FROM batch {where}", *values)  # noqa: S608
        return [
            Batch(
                id=row[0], window=row[1], task=row[2], opened=row[3], state=row[4], count=row[5],
                key=NextKey(id=row[6], fingerprint=row[7]), digest=row[8], purged=bool(row[9]),
            )
            for row in rows
        ]  # fmt: skip

    def _read(self, sql: str, *values: object) -> list[Any]:
        try:
            if not self._memory:
                return self._connection.execute(sql, values).fetchall()
            with self._turn:  # one connection for all threads: none reads what another has not committed
                return self._connection.execute(sql, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise StoreUnavailable(f"the store {self._path} cannot be read: {why(error)}") from None


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file has this name; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
