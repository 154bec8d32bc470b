"""Tasks and batches as rows of SQL tables, which have the same columns in every database.

Sealed records, ids and pieces are kept by each database in its own way, because what was erased must be gone from its files.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Final, TypeVar

from shuffledp.errors import InvalidInput
from shuffledp.service.stores.batch import Batch, BatchState, NextKey
from shuffledp.service.stores.crash_points import Reached

T = TypeVar("T")
_COLUMNS: Final = 'id, "window", task, opened, state, count, key, fingerprint, digest, purged'


class Rows(ABC):
    """What is known of tasks and batches. In a statement `?` stands for a value."""

    _reached: Reached

    @abstractmethod
    def _write(self, job: Callable[[], T]) -> T:
        """The result of a job, which is one transaction: once this returns, what it wrote is on disk."""

    @abstractmethod
    def _run(self, sql: str, *values: object) -> list[Any]:
        """The rows of one statement of a transaction."""

    @abstractmethod
    def _read(self, sql: str, *values: object) -> list[Any]:
        """The rows of one query, in a transaction or without one."""

    @abstractmethod
    def _lock(self, task_id: str) -> int | None:
        """The number of a task that nobody else changes, or takes reports for, until the transaction ends."""

    @abstractmethod
    def _insert_batch(self, task_id: str, key: NextKey, now: float) -> int:
        """Add an open batch under a new window; returns its id."""

    @abstractmethod
    def _claimed(self, batch_id: int) -> bool:
        """Whether this handle may finish a batch, and no other one is at it."""

    def tasks(self) -> dict[str, tuple[str, int]]:
        """Documents and hops of the tasks that are not retired, by id."""
        rows = self._read("SELECT id, document, hop FROM task WHERE NOT retired")
        return {task_id: (document, hop) for task_id, document, hop in rows}

    def open_batch(self, task_id: str) -> Batch:
        """The newest batch that takes reports."""
        found = self._open_batches(task_id)
        if not found:
            raise InvalidInput("the store does not know this task, or it is retired. Add it first.")
        return found[-1]

    def batch(self, batch_id: int) -> Batch | None:
        """The batch of this number; None if there is none."""
        found = self._select("WHERE id = ?", batch_id) if 0 <= batch_id < 2**63 else []
        return found[0] if found else None

    def batches(self, task_id: str, state: BatchState | None = None) -> list[Batch]:
        """Batches of a task, the oldest first."""
        if state is None:
            return self._select("WHERE task = ? ORDER BY id", task_id)
        return self._select("WHERE task = ? AND state = ? ORDER BY id", task_id, state)

    def history(self) -> list[Batch]:
        """All batches, including those of retired tasks, the oldest first."""
        return self._select("ORDER BY id")

    def unfinished(self) -> list[Batch]:
        """Batches whose release, or the erasing after it, was interrupted; not those that another process is working on."""
        found = self._select("WHERE NOT erased AND state IN ('CLOSING', 'RELEASED', 'DESTROYED') ORDER BY id")
        return [batch for batch in found if self._claimed(batch.id)]

    def _open_batches(self, task_id: str) -> list[Batch]:
        # the state is spelled out, so that its index is used
        return self._select("WHERE task = ? AND state = 'OPEN' ORDER BY id", task_id)

    def _locked(self, batch_id: int) -> Batch | None:
        """A batch, once nobody else changes its task."""
        batch = self.batch(batch_id)
        if batch is not None:
            self._lock(batch.task)
        return self.batch(batch_id)

    def _open(self, task_id: str, key: NextKey, now: float) -> Batch:
        """An open batch for this key: a new one, under a new window, unless there is one. The task is locked."""
        for batch in self._open_batches(task_id):
            if batch.key == key:
                return batch
        return self._select("WHERE id = ?", self._insert_batch(task_id, key, now))[0]

    def _select(self, where: str, *values: object) -> list[Batch]:
        rows = self._read(f"SELECT {_COLUMNS} FROM batch {where}", *values)  # noqa: S608
        return [
            Batch(
                id=row[0], window=row[1], task=row[2], opened=row[3], state=row[4], count=row[5],
                key=NextKey(id=row[6], fingerprint=row[7]), digest=row[8], purged=bool(row[9]),
            )
            for row in rows
        ]  # fmt: skip
