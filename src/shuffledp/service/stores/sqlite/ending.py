"""What becomes of batches: rolled over, destroyed or released, and then erased.

SQLite keeps the rows of a page in the order in which they were written. So what is being collected is in tables that are emptied
when a batch ends; ids and spent credentials, which stay for the life of a task, are then written in their own order.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np

from shuffledp.errors import InvalidInput
from shuffledp.service.stores.batch import Batch, Contents, NextKey
from shuffledp.service.stores.sqlite.rows import Rows
from shuffledp.service.stores.store import StoreUnavailable

STEP: Final = 5000
"""Rows read or erased at a time."""


class Ending(Rows):
    """A change of state is one transaction; copying and erasing are many short ones, so that uploads never wait long."""

    def retire(self, task_id: str, *, at_most: int) -> int | None:
        """End a task for good and destroy its open reports; returns their number.

        If there are more than `at_most`, nothing happens and None is returned. The ids of its reports stay known.
        """
        with self._transaction() as connection:
            batches = self._opened(task_id)
            if not batches:
                raise InvalidInput("the store does not know this task, or it is retired already. Check the task.")
            destroyed = sum(batch.count for batch in batches)
            if destroyed > at_most:
                return None
            connection.execute("UPDATE task SET retired = 1 WHERE id = ?", (task_id,))
            connection.execute("UPDATE batch SET state = 'DESTROYED' WHERE task = ? AND state = 'OPEN'", (task_id,))
            self._advance()
        for batch in batches:
            self.erase(batch.id)
        return destroyed

    def end(self, batch_id: int, *, below: int, roll_over: bool, key: NextKey, now: float) -> Batch | None:
        """Roll over or destroy a batch, if it is still open and has fewer reports than `below`; None if not.

        A batch that is rolled over keeps its number and starts again; the batch returned says how many reports it had. After a
        destruction a new batch is open, for `key`.
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
            self._advance()
            self._open(batch.task, key, now)
        return self.erase(batch_id)

    def start_closing(self, batch_id: int, *, at_least: int, secret: bytes, key: NextKey, now: float) -> Batch | None:
        """Close a batch and open the next for `key`, if it is still open and has that many reports; None if not."""
        with self._transaction() as connection:
            batch = self.batch(batch_id)
            if batch is None or batch.state != "OPEN" or batch.count < at_least:
                return None
            connection.execute("UPDATE batch SET state = 'CLOSING', secret = ? WHERE id = ?", (secret, batch_id))
            self._advance()
            self._open(batch.task, key, now)
            self._reached("close: marked")
        self._reached("close: committed")
        return self.batch(batch_id)

    def contents(self, batch_id: int) -> Contents | None:
        """What a closing batch holds; None if it is no longer closing, because another process was faster."""
        secrets = self._read("SELECT secret FROM batch WHERE id = ? AND state = 'CLOSING'", batch_id)
        batch = self.batch(batch_id)
        if batch is None or not secrets:
            return None
        ids, records, lengths = self._sealed(batch)
        if len(lengths) == batch.count:
            return Contents(
                ids=np.frombuffer(ids, np.uint8).reshape(batch.count, -1), records=np.frombuffer(records, np.uint8),
                lengths=np.array(lengths, np.int64), secret=secrets[0][0],
            )  # fmt: skip
        if self._read("SELECT 1 FROM batch WHERE id = ? AND state = 'CLOSING'", batch_id):
            raise StoreUnavailable("the store's count and its reports disagree. Restore a backup.")
        return None

    def _sealed(self, batch: Batch) -> tuple[bytearray, bytearray, list[int]]:
        """Ids and inner records of a batch, one after the other, in the order of ids; and the records' lengths."""
        task, last = self._number(batch.task), b""
        ids, records, lengths = bytearray(), bytearray(), list[int]()
        while rows := self._read(
            "SELECT id, inner FROM sealed WHERE task = ? AND id > ? AND batch = ? ORDER BY id LIMIT ?",
            task, last, batch.id, min(STEP, batch.count + 1),
        ):  # fmt: skip
            last = rows[-1][0]
            ids += b"".join(row[0] for row in rows)
            records += b"".join(row[1] for row in rows)
            lengths += [len(row[1]) for row in rows]
            if len(lengths) > batch.count:
                break
        return ids, records, lengths

    def add_piece(self, batch_id: int, number: int, piece: bytes) -> None:
        """Write one piece of the permuted bytes of a closing batch; a piece that is there stays as it is."""
        with self._step() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO piece SELECT id, ?, ? FROM batch WHERE id = ? AND state = 'CLOSING'",
                (number, piece, batch_id),
            )

    def mark_released(self, batch_id: int, digest: str) -> None:
        """Turn a closing batch whose pieces are all written into a released one, and forget its secret."""
        with self._transaction() as connection:
            connection.execute(
                "UPDATE batch SET state = 'RELEASED', secret = NULL, digest = ? WHERE id = ? AND state = 'CLOSING'",
                (digest, batch_id),
            )
            self._reached("release: marked")
        self._reached("release: committed")

    def erase(self, batch_id: int) -> Batch:
        """Erase the records of a released or destroyed batch; the ids of its reports and spent credentials stay.

        They are moved to their final tables in their own order, which is not that of arrival.
        """
        batch = self.batch(batch_id)
        if batch is None or batch.state not in ("RELEASED", "DESTROYED"):
            raise InvalidInput("there is no such batch to release. Close one first.")
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
        self._reached("release: records erased")
        self._tidy = False
        self.tidy()
        return batch

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
        for (number,) in self._read("SELECT number FROM piece WHERE batch = ?", batch_id):
            with self._step() as connection:
                connection.execute("DELETE FROM piece WHERE batch = ? AND number = ?", (batch_id, number))
        self._tidy = False
        self.tidy()
        return replace(batch, purged=True)
