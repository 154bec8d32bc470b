"""What becomes of batches: rolled over, destroyed or released, and then erased.

Rows of PostgreSQL stand in its files in the order in which they were written, with the number of their transaction. So what is
being collected is in tables of its own for each batch, which are dropped when it ends; ids and spent credentials, which stay for
the life of a task, are first copied in their own order, by one transaction.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from shuffledp.errors import InvalidInput
from shuffledp.service.stores.batch import Batch, Contents, NextKey
from shuffledp.service.stores.postgres.rows import Rows
from shuffledp.service.stores.postgres.schema import tables_closing
from shuffledp.service.stores.store import StoreUnavailable


class Ending(Rows):
    """A change of state is one transaction; nothing that takes long locks a task, so that uploads never wait long."""

    def retire(self, task_id: str, *, at_most: int) -> int | None:
        """End a task for good and destroy its open reports; returns their number.

        If there are more than `at_most`, nothing happens and None is returned. The ids of its reports stay known.
        """

        def end() -> list[Batch] | None:
            self._lock(task_id)
            batches = self._opened(task_id)
            if not batches:
                raise InvalidInput("the store does not know this task, or it is retired already. Check the task.")
            if sum(batch.count for batch in batches) > at_most:
                return None
            self._run("UPDATE task SET retired = true WHERE id = %s", task_id)
            self._run("UPDATE batch SET state = 'DESTROYED' WHERE task = %s AND state = 'OPEN'", task_id)
            self._advance()
            return batches

        batches = self._write(end)
        if batches is None:
            return None
        for batch in batches:
            self.erase(batch.id)
        return sum(batch.count for batch in batches)

    def end(self, batch_id: int, *, below: int, roll_over: bool, key: NextKey, now: float) -> Batch | None:
        """Roll over or destroy a batch, if it is still open and has fewer reports than `below`; None if not.

        A batch that is rolled over keeps its number and starts again; the batch returned says how many reports it had. After a
        destruction a new batch is open, for `key`.
        """

        def end() -> Batch | None:
            batch = self._locked(batch_id)
            if batch is None or batch.state != "OPEN" or batch.count >= below:
                return None
            if not roll_over:
                self._run("UPDATE batch SET state = 'DESTROYED' WHERE id = %s", batch_id)
                self._advance()
                self._open(batch.task, key, now)
                self._claimed(batch_id)
                return self.batch(batch_id)
            self._run("UPDATE batch SET opened = %s WHERE id = %s", now, batch_id)
            marker = self._run(
                'INSERT INTO batch (task, "window", opened, state, count, key, fingerprint, erased) '
                "SELECT task, \"window\", %s, 'ROLLED_OVER', count, key, fingerprint, true FROM batch WHERE id = %s RETURNING id",
                batch.opened, batch_id,
            )  # fmt: skip
            return self.batch(marker[0][0])

        ended = self._write(end)
        return self.erase(batch_id) if ended is not None and not roll_over else ended

    def start_closing(self, batch_id: int, *, at_least: int, secret: bytes, key: NextKey, now: float) -> Batch | None:
        """Close a batch and open the next for `key`, if it is still open and has that many reports; None if not."""

        def close() -> bool:
            batch = self._locked(batch_id)
            if batch is None or batch.state != "OPEN" or batch.count < at_least:
                return False
            self._run("UPDATE batch SET state = 'CLOSING' WHERE id = %s", batch_id)
            self._advance()
            self._run(tables_closing(batch_id))
            self._run(f"INSERT INTO secret_{batch_id} VALUES (%s)", secret.hex())  # noqa: S608
            self._open(batch.task, key, now)
            self._claimed(batch_id)  # so that no other process begins to release it too
            self._reached("close: marked")
            return True

        if not self._write(close):
            return None
        self._reached("close: committed")
        return self.batch(batch_id)

    def contents(self, batch_id: int) -> Contents | None:
        """What a closing batch holds; None if it is no longer closing, because another process was faster."""
        found = self._write(lambda: self._sealed(batch_id))
        if found is None:
            return None
        count, secret, ids, records, lengths = found
        if len(lengths) != count:
            raise StoreUnavailable("the store's count and its reports disagree. Restore a backup.")
        return Contents(
            ids=np.frombuffer(ids, np.uint8).reshape(count, -1), records=np.frombuffer(records, np.uint8),
            lengths=np.array(lengths, np.int64), secret=secret,
        )  # fmt: skip

    def _sealed(self, batch_id: int) -> tuple[int, bytes, bytearray, bytearray, list[int]] | None:
        """The number of reports and the secret of a closing batch; ids and inner records, in the order of ids; their lengths."""
        closing = "SELECT count FROM batch WHERE id = %s AND state = 'CLOSING' FOR SHARE"  # it stays until this is read
        found = self._run(closing, batch_id)
        if not found:
            return None
        ((secret,),) = self._run(f"SELECT secret FROM secret_{batch_id}")  # noqa: S608
        ids, records, lengths = bytearray(), bytearray(), list[int]()
        self._run("SET LOCAL enable_seqscan = on")
        every = f"SELECT id, record FROM sealed_{batch_id} ORDER BY id"  # noqa: S608
        for name, record in self._copy_out(every, ["bytea", "bytea"]):
            ids += name
            records += record
            lengths.append(len(record))
        return found[0][0], bytes.fromhex(secret), ids, records, lengths

    def add_piece(self, batch_id: int, number: int, piece: bytes) -> None:
        """Write one piece of the permuted bytes of a closing batch; a piece that is there stays as it is."""

        def add() -> None:
            if self._run("SELECT 1 FROM batch WHERE id = %s AND state = 'CLOSING' FOR SHARE", batch_id):
                self._run(
                    f"INSERT INTO piece_{batch_id} VALUES (%s, %b) ON CONFLICT DO NOTHING",  # noqa: S608
                    number, piece,
                )  # fmt: skip

        self._write(add)

    def mark_released(self, batch_id: int, digest: str) -> None:
        """Turn a closing batch whose pieces are all written into a released one, and forget its secret."""

        def mark() -> None:
            self._run(
                "UPDATE batch SET state = 'RELEASED', digest = %s WHERE id = %s AND state = 'CLOSING'", digest, batch_id
            )
            self._reached("release: marked")

        self._write(mark)
        self._reached("release: committed")

    def erase(self, batch_id: int) -> Batch:
        """Erase the records of a released or destroyed batch; the ids of its reports and spent credentials stay.

        They are copied to their final tables in their own order, which is not that of arrival.
        """
        batch = self.batch(batch_id)
        if batch is None or batch.state not in ("RELEASED", "DESTROYED"):
            raise InvalidInput("there is no such batch to release. Close one first.")
        self._write(lambda: self._copy_ids(batch))
        self._reached("release: records erased")
        self._finished(batch_id)
        self._drop(f"sealed_{batch_id}", f"spending_{batch_id}", f"secret_{batch_id}")
        return batch

    def _copy_ids(self, batch: Batch) -> None:
        """Unless another process has: its tables are needed until the ids are where they stay, and then no more.

        Whoever is changing this batch is waited for: the tables are dropped after this.
        """
        ((erased,),) = self._run("SELECT erased FROM batch WHERE id = %s FOR UPDATE", batch.id)
        if erased:
            return
        self._run("SET LOCAL enable_seqscan = on")
        for source, target in ((f"sealed_{batch.id}", "report"), (f"spending_{batch.id}", "spent")):
            self._run(
                f"INSERT INTO {target} SELECT number, source.id FROM {source} AS source, task WHERE task.id = %s "  # noqa: S608
                "ORDER BY source.id",
                batch.task,
            )
        self._lock(batch.task)  # only now, so that uploads do not wait for the copying
        self._run("UPDATE batch SET erased = true WHERE id = %s", batch.id)

    def pieces(self, batch_id: int) -> Iterator[bytes]:
        """The released bytes: the same every time."""
        number = 0
        while self._read("SELECT to_regclass(%s) IS NOT NULL", f"piece_{batch_id}")[0][0] and (
            rows := self._read(f"SELECT bytes FROM piece_{batch_id} WHERE number = %s", number)  # noqa: S608
        ):
            yield rows[0][0]
            number += 1

    def purge(self, batch_id: int) -> Batch:
        """Erase the released bytes of a batch; its digest and the ids of its reports stay."""
        batch = self.batch(batch_id)
        if batch is None or batch.state != "RELEASED":
            raise InvalidInput(f"batch {batch_id} is not a released batch. Only the bytes of those can be purged.")
        self._write(lambda: self._run("UPDATE batch SET purged = true WHERE id = %s", batch_id))
        self._drop(f"piece_{batch_id}")
        return replace(batch, purged=True)
