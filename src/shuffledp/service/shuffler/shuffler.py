"""The shuffler: a state machine with injected clocks, store and source of secrets.

It opens the outer layer of reports and knows no sender. What it passes on shows the id of the key that opens it next, so all
reports of a batch must be sealed to one key. It is fixed and announced when the window opens; rotation of that key ends it.

A batch is OPEN until it is closed; CLOSING while it is permuted; then RELEASED once and for all, with the same bytes at
every fetch. A batch that stays too small until max_age is ROLLED_OVER, or DESTROYED, or released among dummies. Refusals are
values.
"""

import copy
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Self

from shuffledp.core.canonical import digest
from shuffledp.core.parsing import parse_json
from shuffledp.core.report_outcome import Outcome
from shuffledp.errors import InvalidInput
from shuffledp.service.sealing.dummies import Dummies
from shuffledp.service.sealing.keys import KeyList, KeyRing, Role
from shuffledp.service.sealing.unsealing import Unsealer, Unsealers, unseal_here
from shuffledp.service.shuffler.admission import Admission
from shuffledp.service.shuffler.batch_decision import Refusal, enough_without_noise, how_to_end, why_not_release
from shuffledp.service.shuffler.release import release
from shuffledp.service.stores.batch import Batch, NextKey
from shuffledp.service.stores.crash_points import Reached, pass_by
from shuffledp.service.stores.store import Store, StoreUnavailable
from shuffledp.service.stores.witness_file import SetBack, Witness
from shuffledp.service.task import Task
from shuffledp.service.wire.bundle import compact, is_bundle
from shuffledp.service.wire.record import key_id_of, record_length, report_id

PERSISTENCE: Final = 60.0
"""Seconds by a clock that never steps for which the wall clock must say that a batch is to be destroyed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsealed:
    """Reports without their outer layer: the outcome of each so far; of good ones place, credential's name and inner record."""

    task: str
    window: int | None
    outcome: list[Outcome] = field(repr=False)
    good: list[tuple[int, bytes, bytes]] = field(repr=False)


@dataclass(slots=True, kw_only=True)
class Shuffler:
    """One shuffler for many tasks.

    Attributes:
        store: where everything is.
        ring: the shuffler's private keys; replace it to rotate.
        clock: seconds; if it steps back, a release is delayed and never early.
        steady: seconds of a clock that never steps; nothing is destroyed because `clock` was wrong for a moment.
        secrets: makes a new secret for each permutation.
        opener: opens outer layers, here or in other processes.
        admission: who may report; anybody by default.
        witness: remembers elsewhere how far the store has come; one that was set back is not served.
        reached: called at each named point of accept and close; tests pass their own.
        counters: outcomes of records by task; nothing about whose they are.
    """

    store: Store
    ring: KeyRing
    clock: Callable[[], float]
    steady: Callable[[], float] = time.monotonic
    secrets: Callable[[], bytes] = field(default=lambda: os.urandom(32))
    unsealer: Unsealer = unseal_here
    admission: Admission | None = None
    witness: Witness | None = None
    reached: Reached = pass_by
    counters: dict[str, Counter[Outcome]] = field(default_factory=dict)
    _tasks: dict[str, Task] = field(default_factory=dict)
    _hops: dict[str, int] = field(default_factory=dict)
    _slots: dict[str, int] = field(default_factory=dict)
    _next_keys: dict[str, KeyList] = field(default_factory=dict)
    _since: dict[tuple[str, int], float] = field(default_factory=dict)
    _distrust: list[SetBack] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.ring.role != "shuffler":
            raise InvalidInput(f"these keys belong to the {self.ring.role}. Give the shuffler's.")
        self._ask_witness()
        self.resume()

    def serve(self, task: Task, next_keys: KeyList, *, hop: int | None = None) -> None:
        """Take reports for a task from now on, by default as its outermost shuffler.

        `next_keys` is the published list of whoever opens what this shuffler releases.
        """
        known = self.store.tasks().get(task.id)
        hop = (known[1] if known else task.hops) if hop is None else hop
        if not 1 <= hop <= task.hops:
            raise InvalidInput(f"this task has {task.hops} hops, numbered from the analyzer out; got {hop}.")
        if known and known[1] != hop:
            raise InvalidInput(f"this store is of hop {known[1]} of the task. Use another store for hop {hop}.")
        if known and _id_of(known[0]) != task.id:
            raise InvalidInput("a task in the store was altered. Restore a backup.")
        self._hops[task.id], self._slots[task.id] = hop, task.plan.protocol.most_messages
        self.seal_to(task.id, next_keys)
        document = json.dumps(task.document())
        self.store.add_task(task.id, document, hop=hop, key=self._active(task.id), now=self.clock())
        self._tasks[task.id] = task
        self.counters.setdefault(task.id, Counter())

    def seal_to(self, task_id: str, next_keys: KeyList) -> None:
        """Announce keys of this list from now on; a batch that has reports keeps its key."""
        role: Role = "analyzer" if self._hops[task_id] == 1 else "shuffler"
        if next_keys.role != role:
            raise InvalidInput(
                f"what hop {self._hops[task_id]} releases is opened by the {role}; these keys belong to the {next_keys.role}. "
                f"Give the {role}'s published list."
            )
        next_keys.active  # noqa: B018 - refused without one
        self._next_keys[task_id] = next_keys

    def twin(self) -> Self:
        """A handle on this shuffler for another thread: it shares everything but the connection to the store."""
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
        """The only key that reports of an open batch may be sealed to; None if it is no longer listed."""
        return batch.key if self._listed(batch.task).get(batch.key.id) == batch.key else None

    def current(self, task_id: str) -> Batch | None:
        """The batch that is announced: the newest whose key is listed, or else the newest."""
        found = self.store.batches(task_id, "OPEN")
        return next(
            (batch for batch in reversed(found) if self.announced(batch) is not None), found[-1] if found else None
        )

    def _listed(self, task_id: str) -> dict[int, NextKey]:
        """The keys that may be in use, by id."""
        keys = self._next_keys[task_id]
        return {
            key.key_id: NextKey(id=key.key_id, fingerprint=keys.fingerprint(key))
            for key in keys.keys
            if key.state != "PENDING"
        }

    def _active(self, task_id: str) -> NextKey:
        """The key of windows that open now."""
        keys = self._next_keys[task_id]
        return NextKey(id=keys.active.key_id, fingerprint=keys.fingerprint(keys.active))

    def upload_length(self, task_id: str) -> int:
        """Bytes of one report of an upload, its credential included."""
        return self._credential + record_length(self._hops[task_id] + 1, self._slots[task_id])

    def accept(self, task_id: str, uploads: Iterable[bytes], window: int | None = None) -> list[Outcome] | Refusal:
        """Open, deduplicate and keep reports; returns the outcome of each. Once this returns, what is accepted is on disk.

        A report that is meant for a window is kept only in that one, so that nobody is in a batch twice.
        """
        return self.keep(self.open(task_id, uploads, window)) if task_id in self._tasks else "task_unknown"

    def open(self, task_id: str, uploads: Iterable[bytes], window: int | None = None) -> Unsealed:
        """The first half, which does not touch the store, so that it can run while other reports are written."""
        self.reached("accept: received")
        sealed, hop, before = list(uploads), self._hops[task_id], self._credential
        outcome: list[Outcome] = [Outcome.INVALID_MESSAGE] * len(sealed)
        admitted: list[tuple[int, bytes]] = []
        length = self.upload_length(task_id)
        for j in (j for j, upload in enumerate(sealed) if len(upload) == length):
            name = self.admission.spent_as(sealed[j][:before], task_id) if self.admission is not None else b""
            if name is None:
                outcome[j] = Outcome.NOT_ADMITTED
            else:
                admitted.append((j, name))
        opened = self.unsealer([sealed[j][before:] for j, _ in admitted], self.ring, task_id, hop)
        self.reached("accept: opened")
        good: list[tuple[int, bytes, bytes]] = []
        length = record_length(hop, self._slots[task_id])
        for (j, name), inner in zip(admitted, opened, strict=True):
            if not isinstance(inner, bytes):
                outcome[j] = inner
            elif len(inner) == length and (is_bundle(inner) if hop == 1 else key_id_of(inner) is not None):
                good.append((j, name, inner))
        return Unsealed(task=task_id, window=window, outcome=outcome, good=good)

    def check(self) -> None:
        """Raise StoreUnavailable, saying why, if no report could be kept now."""
        self._check_trust()
        self.store.check()

    def _check_trust(self) -> None:
        if self._distrust:
            raise StoreUnavailable(str(self._distrust[0]))

    def _ask_witness(self) -> None:
        """Nothing of a batch is released before the witness knows that it was closed, on its own disk."""
        if self.witness is None:
            return
        try:
            self.witness.follow(self.store)
        except SetBack as error:
            self._distrust[:] = [error]
            raise
        self._distrust.clear()

    def _finish(self, batch_id: int) -> Batch:
        """Release a closing batch, or finish what follows a release."""
        self._ask_witness()
        task = self._task_of(batch_id)
        enough = None if task is None else enough_without_noise(task)
        return release(self.store, batch_id, self.reached, self._dummies(batch_id), enough)

    def _task_of(self, batch_id: int) -> Task | None:
        """If it is known here."""
        batch = self.store.batch(batch_id)
        return None if batch is None else self._tasks.get(batch.task)

    def _dummies(self, batch_id: int) -> Dummies | None:
        """What is added to a batch: nothing to those of most tasks, and nothing yet if the task or its key is not known here."""
        batch, task = self.store.batch(batch_id), self._task_of(batch_id)
        noise = None if task is None else task.top_up or task.plan.protocol.shuffler_noise
        if batch is None or task is None or noise is None:
            return None
        key = next((key for key in self._next_keys[task.id].keys if key.key_id == batch.key.id), None)
        if key is None or self._next_keys[task.id].fingerprint(key) != batch.key.fingerprint:
            return None
        return Dummies(noise=noise, alphabet=task.plan.protocol.alphabet, task=task.id, key=key)

    def _adds_noise(self, task: Task) -> bool:
        """Whether this shuffler does: the one next to the analyzer, where reports are the analyzer's records."""
        return self._hops[task.id] == 1 and task.plan.protocol.shuffler_noise is not None

    def keep(self, unsealed: Unsealed) -> list[Outcome]:
        """The second half: one transaction."""
        self._check_trust()
        outcome, good = unsealed.outcome, unsealed.good
        if good:
            inner = self.is_inner(unsealed.task)  # what another shuffler forwards was sealed under the keys of its time
            noise = self._hops[unsealed.task] == 1 and self._tasks[unsealed.task].may_add_noise
            bundles = noise or (self._hops[unsealed.task] == 1 and self._slots[unsealed.task] > 1)
            kept = self.store.add_reports(
                unsealed.task,
                [(report_id(record), compact(record, noise=noise) if bundles else record) for _, _, record in good],
                [name for _, name, _ in good] if self.admission is not None else None,
                keys=self._listed(unsealed.task),
                window=unsealed.window,
                opened_at=self.clock() if inner else None,
            )
            for (j, _, _), what in zip(good, kept, strict=True):
                outcome[j] = what
        self.counters[unsealed.task].update(outcome)
        return outcome

    def close(self, task_id: str, *, ignore_window: bool = False) -> Batch | Refusal:
        """Release an open batch if it is large enough and its window is over; or, for an operator, whatever the window."""
        task = self._tasks.get(task_id)
        if task is None:
            return "task_unknown"
        found: Batch | Refusal = "task_unknown"
        for batch in self.store.batches(task_id, "OPEN"):
            found = self._release_if_allowed(task, batch, ignore_window=ignore_window)
            if isinstance(found, Batch):
                break
        return found

    def _release_if_allowed(self, task: Task, batch: Batch, *, ignore_window: bool) -> Batch | Refusal:
        self.reached("close: asked")
        now = self.clock()
        refusal = why_not_release(task, batch, now=now, ignore_window=ignore_window)
        if refusal is not None:
            return refusal
        if (
            self._adds_noise(task) and self._dummies(batch.id) is None
        ):  # nobody could open it, and no dummy can be sealed
            return "batch_too_small"
        self._ask_witness()
        closing = self.store.start_closing(
            batch.id, at_least=task.release_size, secret=self.secrets(), key=self._active(task.id),
            now=max(now, batch.opened),
        )  # fmt: skip
        if closing is None:  # the store counted again
            return "batch_too_small"
        return self._finish(closing.id)

    def tick(self) -> list[Batch]:
        """Release the batches whose window is over, and end those that are too old and too small."""
        self._ask_witness()
        ended = self.resume()
        for task_id in set(self._tasks) - set(self.store.tasks()):
            del self._tasks[task_id]  # retired
        for task_id, task in list(self._tasks.items()):
            active = self._active(task_id)
            for batch in self.store.batches(task_id, "OPEN"):
                found = self._release_if_allowed(task, batch, ignore_window=batch.key != active)
                over = found if isinstance(found, Batch) else self._expire(task, batch)
                if over is not None:
                    ended.append(over)
            self._follow(task_id, active)
        return ended

    def _follow(self, task_id: str, active: NextKey) -> None:
        """Open a window for a new key, if there are no reports for the old one, or if they cannot be opened any more."""
        newest = self.store.open_batch(task_id)
        stuck = self._lasting("unlisted", newest, self.announced(newest) is None)
        if newest.key != active and (not newest.count or stuck):
            self.store.open_window(task_id, key=active, now=self.clock())

    def _expire(self, task: Task, batch: Batch) -> Batch | None:
        """End a batch that is too old to be released; an empty one starts again."""
        now = self.clock()
        if self._lasting("ahead", batch, now < batch.opened):  # it was opened by a clock that was wrong
            self.store.restart_window(batch.id, now=now, empty=False)
        if not batch.count and now >= batch.opened + task.window:  # so that its first report is not old
            self.store.restart_window(batch.id, now=now)
        ending = how_to_end(task, batch, now=now, key_is_announced=self.announced(batch) is not None)
        if self._lasting("few", batch, ending == "top-up"):
            return self._top_up(task, batch)
        roll_over = ending == "roll-over"
        if roll_over or self._lasting("old", batch, ending == "destroy"):
            return self.store.end(
                batch.id, below=task.release_size, roll_over=roll_over, key=self._active(task.id), now=now
            )
        return None

    def _top_up(self, task: Task, batch: Batch) -> Batch | None:
        """Release a batch that stayed too small, among dummies; if enough reports came in the meantime, as it is."""
        if self._dummies(batch.id) is None:
            return None
        self._ask_witness()
        closing = self.store.start_closing(
            batch.id, at_least=1, secret=self.secrets(), key=self._active(task.id), now=max(self.clock(), batch.opened)
        )
        return None if closing is None else self._finish(closing.id)

    def _lasting(self, what: str, batch: Batch, holds: bool) -> bool:
        """Whether something has been true at every check for a while, by the clock that never steps."""
        if not holds:
            self._since.pop((what, batch.id), None)
            return False
        return self.steady() - self._since.setdefault((what, batch.id), self.steady()) >= PERSISTENCE

    def resume(self) -> list[Batch]:
        """Finish what a crash or a full disk interrupted: the same secret gives the same bytes. Returns what this released."""
        self.store.tidy()
        return [
            done
            for batch in self.store.unfinished()
            if (done := self._finish(batch.id)).state != batch.state and done.task in self._tasks
        ]

    def shut_down(self) -> None:
        """Let go of the store and of helping processes."""
        self.store.close()
        if isinstance(self.unsealer, Unsealers):
            self.unsealer.close()

    def fetch(self, batch_id: int) -> Iterator[bytes] | None:
        """The bytes of a released batch, the same every time; None if there is no such batch, or they were purged."""
        batch = self.store.batch(batch_id)
        available = batch is not None and batch.state == "RELEASED" and not batch.purged
        return self.store.pieces(batch_id) if available else None


def _id_of(document: str) -> str | None:
    """The id of the task in a store; None if it is damaged."""
    try:
        return digest(parse_json(document))
    except ValueError:
        return None
