"""The shuffler: a state machine with injected clocks, store and source of secrets.

It opens the outer layer of reports and knows no sender. What it passes on shows the id of the key that opens it next, so all
reports of a batch must be sealed to one key, which is announced; rotation of that key ends the window.

A batch is OPEN until it is closed; CLOSING while it is permuted; then RELEASED once and for all, with the same bytes at
every fetch. A batch that stays too small until max_age is ROLLED_OVER, or DESTROYED. Refusals are values.
"""

import copy
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal, Self

from shuffledp.errors import InvalidInput
from shuffledp.esa.admission import Admission
from shuffledp.esa.checkpoints import reached
from shuffledp.esa.keys import KeyList, KeyRing, Role
from shuffledp.esa.opening import Opener, Openers, open_here
from shuffledp.esa.store import Batch, Kept, NextKey, Store
from shuffledp.esa.task import Task
from shuffledp.esa.wire import Header, Reason, record_length, report_id

Refusal = Literal["task_unknown", "batch_too_small", "batch_too_young"]
PERSISTENCE: Final = 60.0
"""Seconds by a clock that never steps for which the wall clock must say that a batch is to be destroyed."""


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
        steady: seconds of a clock that never steps; nothing is destroyed because `clock` was wrong for a moment.
        secrets: new secrets for permutations.
        opener: opens outer layers, here or in other processes.
        admission: who may report; anybody unless told.
        counters: what became of records, by task and outcome; nothing about whose.
    """

    store: Store
    ring: KeyRing
    clock: Callable[[], float]
    steady: Callable[[], float] = time.monotonic
    secrets: Callable[[], bytes] = field(default=lambda: os.urandom(32))
    opener: Opener = open_here
    admission: Admission | None = None
    counters: dict[str, Counter[str]] = field(default_factory=dict)
    _tasks: dict[str, Task] = field(default_factory=dict)
    _hops: dict[str, int] = field(default_factory=dict)
    _next_keys: dict[str, KeyList] = field(default_factory=dict)
    _since: dict[tuple[str, int], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.ring.role != "shuffler":
            raise InvalidInput(f"these are keys of the {self.ring.role}. Give the shuffler's.")
        self.resume()

    def serve(self, task: Task, next_keys: KeyList, *, hop: int | None = None) -> None:
        """Take reports for a task from now on, as its outermost shuffler unless told.

        `next_keys` is the published list of whoever opens what this shuffler releases.
        """
        known = self.store.tasks().get(task.id)
        hop = (known[1] if known else task.hops) if hop is None else hop
        if not 1 <= hop <= task.hops:
            raise InvalidInput(f"this task has {task.hops} hops, numbered from the analyzer out; got {hop}.")
        if known and known[1] != hop:
            raise InvalidInput(f"this store is of hop {known[1]} of the task. Use another store for hop {hop}.")
        if known and json.loads(known[0]) != json.loads(json.dumps(task.document())):
            raise InvalidInput("a task in the store was altered. Restore a backup.")
        self._hops[task.id] = hop
        self.seal_to(task.id, next_keys)
        self.store.add_task(task.id, json.dumps(task.document()), hop=hop, now=self.clock())
        self._tasks[task.id] = task
        self.counters.setdefault(task.id, Counter())

    def seal_to(self, task_id: str, next_keys: KeyList) -> None:
        """Announce keys of this list from now on; a batch that has reports keeps its key."""
        role: Role = "analyzer" if self._hops[task_id] == 1 else "shuffler"
        if next_keys.role != role:
            raise InvalidInput(
                f"what hop {self._hops[task_id]} releases is opened by the {role}; these are keys of the {next_keys.role}. "
                f"Give the {role}'s published list."
            )
        next_keys.active  # noqa: B018 - refused without one
        self._next_keys[task_id] = next_keys

    def twin(self) -> Self:
        """The same shuffler for another thread: it shares everything but the connection to the store."""
        other = copy.copy(self)
        other.store = self.store.twin()
        return other

    @property
    def _credential(self) -> int:
        return self.admission.length if self.admission is not None else 0

    @property
    def tasks(self) -> Mapping[str, Task]:
        """The tasks that are served."""
        return MappingProxyType(self._tasks)

    def is_inner(self, task_id: str) -> bool:
        """Whether another shuffler, not the users, sends to this one."""
        return self._hops[task_id] < self._tasks[task_id].hops

    def next_keys(self, task_id: str) -> KeyList:
        """The published list of whoever opens what is released."""
        return self._next_keys[task_id]

    def announced(self, batch: Batch) -> NextKey | None:
        """The only key that reports of an open batch may be sealed to; None if nobody has it any more."""
        keys = self._next_keys[batch.task]
        key = keys.active if batch.key is None else keys.find(batch.key.id)
        found = None if key is None else NextKey(id=key.key_id, fingerprint=keys.fingerprint(key))
        return found if batch.key in (None, found) else None

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
            elif len(inner) == record_length(hop) and Header.decode(inner) is not None:
                good.append((j, name, inner))
        return Unsealed(task=task_id, window=window, outcome=outcome, good=good)

    def keep(self, unsealed: Unsealed) -> list[Kept | Reason]:
        """The second half: one transaction."""
        outcome, good = unsealed.outcome, unsealed.good
        while good:
            key = self._key_for(unsealed.task, [inner for _, _, inner in good])
            kept = self.store.add_reports(
                unsealed.task,
                [(report_id(inner), inner) for _, _, inner in good],
                [name for _, name, _ in good] if self.admission is not None else None,
                key=key or NextKey(id=-1, fingerprint=""),  # fits none
                window=unsealed.window,
            )
            for (j, _, _), what in zip(good, kept, strict=True):
                outcome[j] = what
            # forwarded again after its batch was released: what was not taken then begins the next batch
            again = self.is_inner(unsealed.task) and "report_replayed" in kept and "accepted" not in kept
            good = [one for one, what in zip(good, kept, strict=True) if again and what == "outdated_key"]
        self.counters[unsealed.task].update(outcome)
        return outcome

    def _key_for(self, task_id: str, inners: Sequence[bytes]) -> NextKey | None:
        """What reports must be sealed to: what is announced; on the way from another shuffler, what most of the first ones are.

        A batch from there was sealed under the key of its own time. What does not fit can be sent again for the next batch.
        """
        found = self.store.batches(task_id, "OPEN")
        if not found:  # another process has just retired the task
            return None
        batch = found[0]
        if batch.key is None and self.is_inner(task_id):
            keys = self._next_keys[task_id]
            listed = {key.key_id: key for key in keys.keys if key.state != "PENDING"}
            often = Counter(inner[0] for inner in inners if inner[0] in listed)
            if often:
                key = listed[often.most_common(1)[0][0]]
                return NextKey(id=key.key_id, fingerprint=keys.fingerprint(key))
        return self.announced(batch)

    def close(self, task_id: str, *, whatever_the_window: bool = False) -> Batch | Refusal:
        """Release the open batch if it is large enough and its window is over; or, for an operator, whatever the window."""
        task = self._tasks.get(task_id)
        if task is None:
            return "task_unknown"
        reached("close: asked")
        batch, now = self.store.open_batch(task_id), self.clock()
        if now < batch.opened + task.window and not whatever_the_window:
            return "batch_too_young"
        if batch.count < task.release_size:  # asked at every tick; the store counts again before it closes
            return "batch_too_small"
        closing = self.store.start_closing(
            batch.id, at_least=task.release_size, secret=self.secrets(), now=max(now, batch.opened)
        )
        if closing is None:
            return "batch_too_small"
        return self.store.release(closing.id)

    def tick(self) -> list[Batch]:
        """What time brings: batches whose window is over are released, those that are too old and too small end."""
        ended = self.resume()
        for task_id in set(self._tasks) - set(self.store.tasks()):
            del self._tasks[task_id]  # retired
        for task_id, task in list(self._tasks.items()):
            batch = self.store.open_batch(task_id)
            rotated = batch.key is not None and batch.key.id != self._next_keys[task_id].active.key_id
            found = self.close(task_id, whatever_the_window=rotated)
            if isinstance(found, Batch):
                ended.append(found)
                continue
            over = self._aged(task, batch)
            if over is not None:
                ended.append(over)
        return ended

    def _aged(self, task: Task, batch: Batch) -> Batch | None:
        """What becomes of a batch that is not released: it ends, if it is too old."""
        now = self.clock()
        if self._lasting("ahead", batch, now < batch.opened):  # it was opened by a clock that was wrong
            self.store.renew(batch.id, now=now, empty=False)
        if not batch.count and now >= batch.opened + task.window:  # its first report is not old
            self.store.renew(batch.id, now=now)
        old = batch.count > 0 and now >= batch.opened + task.max_age
        # reports sealed to a key that nobody has any more would wait for ever
        roll_over = task.on_expiry == "roll-over" and self.announced(batch) is not None
        if old if roll_over else self._lasting("old", batch, old):
            return self.store.end(batch.id, below=task.release_size, roll_over=roll_over, now=now)
        return None

    def _lasting(self, what: str, batch: Batch, holds: bool) -> bool:
        """Whether something has held at every look for a while, by the clock that never steps."""
        if not holds:
            self._since.pop((what, batch.id), None)
            return False
        return self.steady() - self._since.setdefault((what, batch.id), self.steady()) >= PERSISTENCE

    def resume(self) -> list[Batch]:
        """Finish what a crash or a full disk interrupted: the same secret gives the same bytes. Says what is released by it."""
        self.store.tidy()
        return [
            done
            for batch in self.store.unfinished()
            if (done := self.store.release(batch.id)).state != batch.state and done.task in self._tasks
        ]

    def shut_down(self) -> None:
        """Let go of the store and of helping processes."""
        self.store.close()
        if isinstance(self.opener, Openers):
            self.opener.close()

    def fetch(self, batch_id: int) -> Iterator[bytes] | None:
        """The bytes of a released batch, the same every time; None if there is no such batch, or they were purged."""
        batch = self.store.batch(batch_id)
        available = batch is not None and batch.state == "RELEASED" and not batch.purged
        return self.store.pieces(batch_id) if available else None
