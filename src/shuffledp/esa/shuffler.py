"""The shuffler: a state machine with an injected clock, store and source of secrets.

It opens the outer layer of reports and knows no sender.

A batch is OPEN until it is closed; CLOSING while it is permuted; then RELEASED once and for all, with the same bytes at
every fetch. A batch that stays below min_batch until max_age is ROLLED_OVER to the next, or DESTROYED. Refusals are values.
"""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from shuffledp.errors import InvalidInput
from shuffledp.esa.admission import Admission
from shuffledp.esa.checkpoints import reached
from shuffledp.esa.keys import KeyRing
from shuffledp.esa.opening import Opener, Openers, open_here
from shuffledp.esa.store import Batch, Kept, Store
from shuffledp.esa.task import Task
from shuffledp.esa.wire import Reason, record_length, report_id

Refusal = Literal["task_unknown", "batch_too_small", "batch_too_young"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsealed:
    """Reports whose outer layer is off: what became of each so far, and of the good ones place, credential's name and inside."""

    task: str
    window: int | None
    outcome: list[Kept | Reason] = field(repr=False)
    good: list[tuple[int, bytes, bytes]] = field(repr=False)


@dataclass(slots=True, kw_only=True)
class Shuffler:
    """One shuffler for many tasks.

    Attributes:
        store: where everything is.
        ring: the shuffler's private keys; replace it to rotate.
        clock: seconds; one that steps back delays a release and never hastens it.
        secrets: new secrets for permutations.
        opener: opens outer layers, here or in other processes.
        admission: who may report; anybody unless told.
        counters: what became of records, by reason; nothing about whose.
    """

    store: Store
    ring: KeyRing
    clock: Callable[[], float]
    secrets: Callable[[], bytes] = field(default=lambda: os.urandom(32))
    opener: Opener = open_here
    admission: Admission | None = None
    counters: Counter[str] = field(default_factory=Counter)
    _tasks: dict[str, Task] = field(default_factory=dict)
    _hops: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.ring.role != "shuffler":
            raise InvalidInput(f"these are keys of the {self.ring.role}. Give the shuffler's.")
        for task_id, (document, hop) in self.store.tasks().items():
            try:
                task = Task.from_document(json.loads(document))
            except (InvalidInput, ValueError, RecursionError):
                task = None
            if task is None or task.id != task_id:
                raise InvalidInput("a task in the store was altered. Restore a backup.")
            self._tasks[task_id], self._hops[task_id] = task, hop
        self.resume()

    def serve(self, task: Task, *, hop: int | None = None) -> None:
        """Take reports for a task from now on, as its outermost shuffler unless told."""
        hop = self._hops.get(task.id, task.hops) if hop is None else hop
        if not 1 <= hop <= task.hops:
            raise InvalidInput(f"this task has {task.hops} hops, numbered from the analyzer out; got {hop}.")
        if self._hops.setdefault(task.id, hop) != hop:
            raise InvalidInput(
                f"this store is of hop {self._hops[task.id]} of the task. Use another store for hop {hop}."
            )
        self.store.add_task(task.id, json.dumps(task.document()), hop=hop, now=self.clock())
        self._tasks[task.id] = task

    @property
    def _credential(self) -> int:
        return self.admission.length if self.admission is not None else 0

    @property
    def tasks(self) -> Mapping[str, Task]:
        """The tasks that are served."""
        return MappingProxyType(self._tasks)

    def upload_length(self, task_id: str) -> int:
        """Bytes of one report of an upload, its credential included."""
        return self._credential + record_length(self._hops[task_id] + 1)

    def accept(
        self, task_id: str, uploads: Iterable[bytes], window: int | None = None
    ) -> list[Kept | Reason] | Refusal:
        """Open, deduplicate and keep reports: what became of each. Once this returns, what is accepted is on disk.

        A report that is meant for a window is kept only in that one, so that nobody is twice in a batch.
        """
        return self.keep(self.open(task_id, uploads, window)) if task_id in self._tasks else "task_unknown"

    def open(self, task_id: str, uploads: Iterable[bytes], window: int | None = None) -> Unsealed:
        """The first half, which touches no store, so that it can go on while others are written down."""
        reached("accept: received")
        sealed, hop, before = list(uploads), self._hops[task_id], self._credential
        outcome: list[Kept | Reason] = ["invalid_message"] * len(sealed)
        admitted: list[tuple[int, bytes]] = []
        length = self.upload_length(task_id)
        for j in (j for j, upload in enumerate(sealed) if len(upload) == length):
            name = self.admission.spent_as(sealed[j][:before], task_id) if self.admission is not None else b""
            if name is None:
                outcome[j] = "not_admitted"
            else:
                admitted.append((j, name))
        opened = self.opener([sealed[j][before:] for j, _ in admitted], self.ring, task_id, hop)
        reached("accept: opened")
        good: list[tuple[int, bytes, bytes]] = []
        for (j, name), inner in zip(admitted, opened, strict=True):
            if not isinstance(inner, bytes):
                outcome[j] = inner
            elif len(inner) == record_length(hop):
                good.append((j, name, inner))
        return Unsealed(task=task_id, window=window, outcome=outcome, good=good)

    def keep(self, unsealed: Unsealed) -> list[Kept | Reason]:
        """The second half: one transaction."""
        outcome, good = unsealed.outcome, unsealed.good
        if good:
            kept = self.store.add_reports(
                unsealed.task,
                [(report_id(inner), inner) for _, _, inner in good],
                [name for _, name, _ in good] if self.admission is not None else None,
                window=unsealed.window,
            )
            for (j, _, _), what in zip(good, kept, strict=True):
                outcome[j] = what
        self.counters.update(outcome)
        return outcome

    def close(self, task_id: str, *, whatever_the_window: bool = False) -> Batch | Refusal:
        """Release the open batch if it has min_batch reports and its window is over; or, for an operator, whatever the window."""
        task = self._tasks.get(task_id)
        if task is None:
            return "task_unknown"
        reached("close: asked")
        batch, now = self.store.open_batch(task_id), self.clock()
        if now < batch.opened + task.window and not whatever_the_window:
            return "batch_too_young"
        if batch.count < task.plan.min_batch:  # asked at every tick; the store counts again before it closes
            return "batch_too_small"
        closing = self.store.start_closing(
            batch.id, at_least=task.plan.min_batch, secret=self.secrets(), now=max(now, batch.opened)
        )
        if closing is None:
            return "batch_too_small"
        return self.store.release(closing.id)

    def tick(self) -> list[Batch]:
        """What time brings: batches whose window is over are released, those that are too old and too small end."""
        ended = self.resume()
        for task_id, task in self._tasks.items():
            found = self.close(task_id)
            if isinstance(found, Batch):
                ended.append(found)
                continue
            batch, now = self.store.open_batch(task_id), self.clock()
            if not batch.count and now >= batch.opened + task.window:  # its first report is not old
                self.store.renew(batch.id, now=now)
            elif batch.count and now >= batch.opened + task.max_age:
                roll_over = task.on_expiry == "roll-over"
                over = self.store.end(batch.id, below=task.plan.min_batch, roll_over=roll_over, now=now)
                if over is not None:
                    ended.append(over)
        return ended

    def resume(self) -> list[Batch]:
        """Finish releases that a crash or a full disk interrupted: the same secret gives the same bytes."""
        self.store.tidy()
        return [
            self.store.release(batch.id) for task_id in self._tasks for batch in self.store.batches(task_id, "CLOSING")
        ]

    def shut_down(self) -> None:
        """Let go of the store and of helping processes."""
        self.store.close()
        if isinstance(self.opener, Openers):
            self.opener.close()

    def fetch(self, batch_id: int) -> Iterator[bytes] | None:
        """The bytes of a released batch, the same every time; None if there is no such batch."""
        batch = self.store.batch(batch_id)
        return self.store.pieces(batch_id) if batch is not None and batch.state == "RELEASED" else None
