"""Rows of tasks and batches, as collecting and ending both need them."""

from typing import Final

from shuffledp.errors import InvalidInput
from shuffledp.service.stores.batch import Batch, BatchState, NextKey
from shuffledp.service.stores.sqlite.database import Database

_COLUMNS: Final = "id, window, task, opened, state, count, key, fingerprint, digest, purged"


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
        """Batches whose release, or the erasing after it, was interrupted."""
        return self._select(
            "WHERE state = 'CLOSING' OR (state IN ('RELEASED', 'DESTROYED') AND NOT erased) ORDER BY id"
        )

    def _number(self, task_id: str) -> int:
        return int(self._read("SELECT number FROM task WHERE id = ?", task_id)[0][0])

    def _opened(self, task_id: str) -> list[Batch]:
        # the state is spelled out, so that its index is used
        return self._select("WHERE task = ? AND state = 'OPEN' ORDER BY id", task_id)

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
