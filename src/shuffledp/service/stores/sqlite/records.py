"""Sealed records, ids and released bytes in SQLite.

SQLite keeps the rows of a page in the order in which they were written. So what is being collected is in tables that are emptied
when a batch ends; ids and spent credentials, which stay for the life of a task, are then written in their own order.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from shuffledp.service.stores.batch import Batch, NextKey
from shuffledp.service.stores.batch_lifecycle import BatchLifecycle, Sealed
from shuffledp.service.stores.collecting import Collecting
from shuffledp.service.stores.sqlite.database import Database

STEP: Final = 5000
"""Rows read or erased at a time."""
_TOGETHER: Final = 100
"""Names that one query asks for."""


class Records(Database, Collecting, BatchLifecycle):
    """A transaction excludes all other writers, so nothing needs a lock of its own."""

    def _lock(self, task_id: str) -> int | None:
        found = self._read("SELECT number FROM task WHERE id = ?", task_id)
        return int(found[0][0]) if found else None

    def _lock_tasks(self) -> None:
        pass

    def _claimed(self, _: int) -> bool:
        return True  # the same secret gives the same bytes, whoever writes them

    def _insert_batch(self, task_id: str, key: NextKey, now: float) -> int:
        ((number,),) = self._run(
            "INSERT INTO batch (task, opened, state, key, fingerprint) VALUES (?, ?, 'OPEN', ?, ?) RETURNING id",
            task_id, now, key.id, key.fingerprint,
        )  # fmt: skip
        self._run('UPDATE batch SET "window" = id WHERE id = ?', number)
        return int(number)

    def _among(self, names: Sequence[bytes], task: int, *, kept: str, collecting: str) -> set[bytes]:
        found = set[bytes]()
        for start in range(0, len(names), _TOGETHER):
            some = names[start : start + _TOGETHER]
            for table in (kept, collecting):
                query = f"SELECT id FROM {table} WHERE task = ? AND id IN ({', '.join('?' * len(some))})"  # noqa: S608
                found.update(row[0] for row in self._run(query, task, *some))
        return found

    def _insert_records(self, task: int, batch_id: int, records: Sequence[tuple[bytes, bytes]]) -> None:
        def rows() -> Iterator[tuple[int, bytes, int, bytes]]:
            for place, (name, record) in enumerate(records):
                yield task, name, batch_id, record
                if not place:
                    self._reached("accept: first report written")

        self._connection.executemany("INSERT INTO sealed VALUES (?, ?, ?, ?)", rows())

    def _insert_spending(self, task: int, _: int, credentials: Sequence[bytes]) -> None:
        self._connection.executemany("INSERT INTO spending VALUES (?, ?)", ((task, name) for name in credentials))

    def _mark_closing(self, batch_id: int, secret: bytes) -> None:
        self._run("UPDATE batch SET state = 'CLOSING', secret = ? WHERE id = ?", secret, batch_id)

    def _mark_released(self, batch_id: int, digest: str) -> None:
        self._run(
            "UPDATE batch SET state = 'RELEASED', secret = NULL, digest = ? WHERE id = ? AND state = 'CLOSING'",
            digest, batch_id,
        )  # fmt: skip

    def _sealed(self, batch_id: int) -> Sealed | None:
        found = self._read(
            "SELECT number, count, secret FROM batch JOIN task ON task.id = batch.task "
            "WHERE batch.id = ? AND state = 'CLOSING'",
            batch_id,
        )
        if not found:
            return None
        (task, count, secret), last = found[0], b""
        sealed = Sealed(count=count, secret=secret)
        while len(sealed.lengths) <= count and (
            rows := self._read(
                "SELECT id, inner FROM sealed WHERE task = ? AND id > ? AND batch = ? ORDER BY id LIMIT ?",
                task, last, batch_id, min(STEP, count + 1),
            )
        ):  # fmt: skip
            last = rows[-1][0]
            sealed.ids.extend(b"".join(row[0] for row in rows))
            sealed.records.extend(b"".join(row[1] for row in rows))
            sealed.lengths.extend(len(row[1]) for row in rows)
        return sealed

    def add_piece(self, batch_id: int, number: int, piece: bytes) -> None:
        """Write one piece of the permuted bytes of a closing batch; a piece that is there stays as it is."""
        with self._step() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO piece SELECT id, ?, ? FROM batch WHERE id = ? AND state = 'CLOSING'",
                (number, piece, batch_id),
            )

    def _keep_ids(self, batch: Batch) -> None:
        """Move them, in steps."""
        ((task,),) = self._read("SELECT number FROM task WHERE id = ?", batch.task)
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
                    connection.execute(f"INSERT OR IGNORE INTO {target} SELECT task, id {chosen} ORDER BY id", some)
                    connection.execute(f"DELETE {chosen}", some)
        self._write(lambda: self._run("UPDATE batch SET erased = true WHERE id = ?", batch.id))

    def _drop_records(self, _: Batch) -> None:
        self._tidy = False
        self.tidy()

    def _piece(self, batch_id: int, number: int) -> bytes | None:
        found = self._read("SELECT bytes FROM piece WHERE batch = ? AND number = ?", batch_id, number)
        return found[0][0] if found else None

    def _drop_pieces(self, batch_id: int) -> None:
        for (number,) in self._read("SELECT number FROM piece WHERE batch = ?", batch_id):
            with self._step() as connection:
                connection.execute("DELETE FROM piece WHERE batch = ? AND number = ?", (batch_id, number))
        self._tidy = False
        self.tidy()
