"""Rows of tasks and batches, as collecting and ending both need them."""

from typing import Final

from shuffledp.errors import InvalidInput
from shuffledp.service.stores.batch import Batch, BatchState, NextKey
from shuffledp.service.stores.postgres.database import Database
from shuffledp.service.stores.postgres.schema import tables_of

_COLUMNS: Final = 'id, "window", task, opened, state, count, key, fingerprint, digest, purged'


class Rows(Database):
    """What is known of tasks and batches."""

    def tasks(self) -> dict[str, tuple[str, int]]:
        """Documents and hops of the tasks that are not retired, by id."""
        rows = self._read("SELECT id, document, hop FROM task WHERE NOT retired")
        return {task_id: (document, hop) for task_id, document, hop in rows}

    def open_batch(self, task_id: str) -> Batch:
        """The newest batch that takes reports."""
        found = self._opened(task_id)
        if not found:
            raise InvalidInput("the store does not know this task, or it is retired. Add it first.")
        return found[-1]

    def batch(self, batch_id: int) -> Batch | None:
        """Any batch."""
        found = self._select("WHERE id = %s", batch_id) if 0 <= batch_id < 2**63 else []
        return found[0] if found else None

    def batches(self, task_id: str, state: BatchState | None = None) -> list[Batch]:
        """Batches of a task, the oldest first."""
        if state is None:
            return self._select("WHERE task = %s ORDER BY id", task_id)
        return self._select("WHERE task = %s AND state = %s ORDER BY id", task_id, state)

    def history(self) -> list[Batch]:
        """All batches, including those of retired tasks, the oldest first."""
        return self._select("ORDER BY id")

    def unfinished(self) -> list[Batch]:
        """Batches whose release, or the erasing after it, was interrupted; not those that another process is working on."""
        found = self._select("WHERE NOT erased AND state IN ('CLOSING', 'RELEASED', 'DESTROYED') ORDER BY id")
        return [batch for batch in found if self._claimed(batch.id)]

    def _claimed(self, batch_id: int) -> bool:
        """Whether this handle may finish a batch: the server forgets the claim with the connection, however that ends."""
        lock = "SELECT pg_try_advisory_lock('batch'::regclass::oid::integer, %s::integer)"
        if batch_id not in self._releasing and self._read(lock, batch_id % 2**31)[0][0]:
            self._releasing.add(batch_id)
        return batch_id in self._releasing

    def _finished(self, batch_id: int) -> None:
        if batch_id in self._releasing:
            self._releasing.discard(batch_id)
            self._read("SELECT pg_advisory_unlock('batch'::regclass::oid::integer, %s::integer)", batch_id % 2**31)

    def _lock(self, task_id: str) -> int | None:
        """The number of a task that nobody else changes, or takes reports for, until the transaction ends."""
        found = self._run("SELECT number FROM task WHERE id = %s FOR NO KEY UPDATE", task_id)
        return int(found[0][0]) if found else None

    def _locked(self, batch_id: int) -> Batch | None:
        """A batch, once nobody else changes its task."""
        batch = self.batch(batch_id)
        if batch is not None:
            self._lock(batch.task)
        return self.batch(batch_id)

    def _opened(self, task_id: str) -> list[Batch]:
        # the state is spelled out, so that its index is used
        return self._select("WHERE task = %s AND state = 'OPEN' ORDER BY id", task_id)

    def _live(self, task_id: str) -> list[int]:
        """Batches that have tables of reports."""
        return [row[0] for row in self._run("SELECT id FROM batch WHERE task = %s AND NOT erased ORDER BY id", task_id)]

    def _open(self, task_id: str, key: NextKey, now: float) -> Batch:
        """An open batch for this key: a new one, under a new window, unless there is one. The task is locked."""
        found = [batch for batch in self._opened(task_id) if batch.key == key]
        if found:
            return found[0]
        (number,) = self._run(
            'INSERT INTO batch (id, "window", task, opened, state, key, fingerprint) '
            "SELECT n, n, %s, %s, 'OPEN', %s, %s FROM nextval(pg_get_serial_sequence('batch', 'id')) AS n RETURNING id",
            task_id, now, key.id, key.fingerprint,
        )[0]  # fmt: skip
        self._run(tables_of(number))
        return self._select("WHERE id = %s", number)[0]

    def _select(self, where: str, *values: object) -> list[Batch]:
        rows = self._read(f"SELECT {_COLUMNS} FROM batch {where}", *values)  # noqa: S608
        return [
            Batch(
                id=row[0], window=row[1], task=row[2], opened=row[3], state=row[4], count=row[5],
                key=NextKey(id=row[6], fingerprint=row[7]), digest=row[8], purged=row[9],
            )
            for row in rows
        ]  # fmt: skip
