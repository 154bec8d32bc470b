"""The shuffler: a state machine with an injected clock, store and source of secrets.

It opens the outer layer of reports and knows no sender.

A batch is OPEN until it is closed; CLOSING while it is permuted; then RELEASED once and for all, with the same bytes at
every fetch. A batch that stays below min_batch until max_age is ROLLED_OVER to the next, or DESTROYED. Refusals are values.
"""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from shuffledp.errors import InvalidInput
from shuffledp.esa.crypto import unseal
from shuffledp.esa.keys import KeyRing
from shuffledp.esa.store import Batch, Store
from shuffledp.esa.task import Task
from shuffledp.esa.wire import Reason, record_length, report_id

Refusal = Literal["task_unknown", "batch_too_small", "batch_too_young"]
Opener = Callable[[Sequence[bytes], KeyRing, str, int], list[bytes | Reason]]


def open_here(records: Sequence[bytes], ring: KeyRing, task_id: str, hop: int) -> list[bytes | Reason]:
    """Open records one after the other in this process; each fails by itself."""
    return [unseal(record, ring, task_id, hop=hop) for record in records]


@dataclass(slots=True, kw_only=True)
class Shuffler:
    """One shuffler for many tasks.

    Attributes:
        store: where everything is.
        ring: the shuffler's private keys; replace it to rotate.
        clock: seconds; one that steps back delays a release and never hastens it.
        secrets: new secrets for permutations.
        opener: opens outer layers, here or in other processes.
        counters: what became of records, by reason; nothing about whose.
    """

    store: Store
    ring: KeyRing
    clock: Callable[[], float]
    secrets: Callable[[], bytes] = field(default=lambda: os.urandom(32))
    opener: Opener = open_here
    counters: Counter[str] = field(default_factory=Counter)
    _tasks: dict[str, Task] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.ring.role != "shuffler":
            raise InvalidInput(f"these are keys of the {self.ring.role}. Give the shuffler's.")
        for task_id, document in self.store.tasks().items():
            task = Task.from_document(json.loads(document))
            if task.id != task_id:
                raise InvalidInput("a task in the store was altered. Restore a backup.")
            self._tasks[task_id] = task
        self.resume()

    def serve(self, task: Task) -> None:
        """Take reports for a task from now on."""
        self.store.add_task(task.id, json.dumps(task.document()), self.clock())
        self._tasks[task.id] = task

    @property
    def tasks(self) -> dict[str, Task]:
        """The tasks that are served."""
        return dict(self._tasks)

    def accept(self, task_id: str, records: Iterable[bytes]) -> list[Literal["accepted"] | Reason] | Refusal:
        """Open, deduplicate and keep reports: what became of each. Once this returns, what is accepted is on disk."""
        task = self._tasks.get(task_id)
        if task is None:
            return "task_unknown"
        sealed = list(records)
        length, inner_length = record_length(task.hops + 1), record_length(task.hops)
        fit = [j for j, record in enumerate(sealed) if len(record) == length]
        outcome: list[Literal["accepted"] | Reason] = ["invalid_message"] * len(sealed)
        good: list[tuple[int, bytes]] = []
        for j, opened in zip(fit, self.opener([sealed[j] for j in fit], self.ring, task_id, task.hops), strict=True):
            if not isinstance(opened, bytes):
                outcome[j] = opened
            elif len(opened) == inner_length:
                good.append((j, opened))
        if good:
            fresh = self.store.add_reports(task_id, [(report_id(inner), inner) for _, inner in good])
            for (j, _), new in zip(good, fresh, strict=True):
                outcome[j] = "accepted" if new else "report_replayed"
        self.counters.update(outcome)
        return outcome

    def close(self, task_id: str, *, whatever_the_window: bool = False) -> Batch | Refusal:
        """Release the open batch if it has min_batch reports and its window is over; or, for an operator, whatever the window."""
        task = self._tasks.get(task_id)
        if task is None:
            return "task_unknown"
        batch, now = self.store.open_batch(task_id), self.clock()
        if now < batch.opened + task.window and not whatever_the_window:
            return "batch_too_young"
        closing = self.store.start_closing(
            task_id, at_least=task.plan.min_batch, secret=self.secrets(), now=max(now, batch.opened)
        )
        if closing is None:
            return "batch_too_small"
        return self.store.release(closing.id)

    def tick(self) -> list[Batch]:
        """What time brings: batches whose window is over are released, those that are too old and too small end."""
        ended = []
        for task_id, task in self._tasks.items():
            found = self.close(task_id)
            if isinstance(found, Batch):
                ended.append(found)
                continue
            batch, now = self.store.open_batch(task_id), self.clock()
            if batch.count and now >= batch.opened + task.max_age:
                over = self.store.end(
                    task_id,
                    below=task.plan.min_batch,
                    roll_over=task.on_expiry == "roll-over",
                    now=max(now, batch.opened),
                )
                if over is not None:
                    ended.append(over)
        return ended

    def resume(self) -> list[Batch]:
        """Finish releases that a crash interrupted: the same secret gives the same bytes."""
        return [
            self.store.release(batch.id) for task_id in self._tasks for batch in self.store.batches(task_id, "CLOSING")
        ]

    def fetch(self, batch_id: int) -> Iterator[bytes] | None:
        """The bytes of a released batch, the same every time; None if there is no such batch."""
        batch = self.store.batch(batch_id)
        return self.store.pieces(batch_id) if batch is not None and batch.state == "RELEASED" else None
