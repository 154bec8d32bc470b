"""Where the batches of an audit are collected: a shuffler in this process, or one that runs at an address."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from shuffledp.core.report_outcome import Outcome
from shuffledp.errors import InvalidInput
from shuffledp.planning.plan import Plan
from shuffledp.service.analyzer.batch_fetcher import BatchFetcher
from shuffledp.service.client.client import Announcement
from shuffledp.service.client.sender import NotDelivered, Sender
from shuffledp.service.sealing.keys import KeyRing
from shuffledp.service.shuffler.shuffler import Shuffler
from shuffledp.service.stores.batch import Batch
from shuffledp.service.stores.registry import open_store
from shuffledp.service.task import Task
from shuffledp.service.wire.released_batch import ReleasedBatch

_WINDOW: Final = 3600


class Deployment(ABC):
    """A shuffler that serves a task to nobody but the audit, and the keys that open what it releases.

    Attributes:
        task: of one shuffler.
        ring: the analyzer's keys.
    """

    task: Task
    ring: KeyRing

    @abstractmethod
    def announced(self) -> Announcement:
        """What the shuffler says to everybody."""

    @abstractmethod
    def send(self, uploads: Sequence[bytes]) -> list[Outcome]:
        """Upload reports in this order: what became of each."""

    @abstractmethod
    def release(self) -> tuple[int, ReleasedBatch]:
        """Close the batch: how many reports it says it has, and its bytes."""

    def collected(self, uploads: Sequence[Sequence[bytes]]) -> ReleasedBatch:
        """One batch of these reports, one upload after another; refused if it is of others, or of fewer."""
        outcomes = Counter(outcome for some in uploads for outcome in self.send(some))
        taken = outcomes[Outcome.ACCEPTED]
        if taken < self.task.release_size:
            refused = ", ".join(f"{count:,} {outcome}" for outcome, count in outcomes.items())
            raise InvalidInput(
                f"the shuffler would release nothing: it accepted {taken:,} of the {self.task.release_size:,} reports that a "
                f"batch needs ({refused}). Check that it serves this task with these keys, and that it requires no tokens."
            )
        reports, released = self.release()
        if reports != taken:
            raise InvalidInput(
                f"the batch has {reports:,} reports, and the audit sent {taken:,}. Audit a shuffler with a store of its own, "
                "to which nobody else reports."
            )
        return released


class InProcess(Deployment):
    """A plan as a service in this process, in memory."""

    def __init__(self, plan: Plan, ring: KeyRing | None = None) -> None:
        self.task = Task(
            plan=plan, window=_WINDOW, max_age=2 * _WINDOW, shufflers=("the shuffler",), analyzer="the analyzer",
            honest_fraction=1.0,
        )  # fmt: skip
        self.ring = ring or KeyRing.fresh("analyzer")
        self._shuffler = Shuffler(store=open_store(":memory:"), ring=KeyRing.fresh("shuffler"), clock=lambda: 0.0)
        self._shuffler.serve(self.task, self.ring.public())

    def announced(self) -> Announcement:
        """Without a network."""
        batch = self._shuffler.current(self.task.id)
        key = None if batch is None else self._shuffler.announced(batch)
        if batch is None or key is None:
            raise InvalidInput("the shuffler has no open batch. Serve the task again.")
        keys, next_keys = self._shuffler.ring.public(), self._shuffler.next_keys(self.task.id)
        return Announcement(window=batch.window, keys=keys, key_id=key.id, next_keys=next_keys)

    def send(self, uploads: Sequence[bytes]) -> list[Outcome]:
        """To its state machine."""
        outcomes = self._shuffler.accept(self.task.id, uploads)
        return outcomes if isinstance(outcomes, list) else []

    def release(self) -> tuple[int, ReleasedBatch]:
        """Whatever the window."""
        batch = self._shuffler.close(self.task.id, ignore_window=True)
        if not isinstance(batch, Batch):
            raise InvalidInput(f"the shuffler released nothing ({batch}). Audit it with an empty store.")
        return batch.count, ReleasedBatch.of(b"".join(self._shuffler.fetch(batch.id) or ()))


class OverHttp(Deployment):
    """A shuffler that runs at an address, on loopback or elsewhere: sent to, closed and fetched from as its parties do.

    The auditor acts as its users, its operator and its analyzer at once, and fills its batches with reports. A task
    that real people report to has other names for its operators, so the task must say that one party runs both.
    """

    def __init__(self, task: Task, url: str, *, ring: KeyRing, operator_token: str, analyzer_token: str) -> None:
        if task.hops != 1:
            raise InvalidInput(
                f"this task has {task.hops} shufflers, and an audit sends through one. Make a task with one shuffler."
            )
        if not task.same_operator:
            raise InvalidInput(
                "an audit fills the batches of a task with its own reports, and people may report to this task. "
                "Make a task for the audit, with the same name for --shuffler and --analyzer and with --allow-same-operator."
            )
        if ring.role != "analyzer":
            raise InvalidInput(f"these keys belong to the {ring.role}. Give the analyzer's.")
        self.task, self.ring = task, ring
        self._sender = Sender(url=url)
        self._operator, self._analyzer = (
            BatchFetcher(url=url, token=token) for token in (operator_token, analyzer_token)
        )

    def announced(self) -> Announcement:
        """Asked for anew for each batch, as every client does."""
        try:
            return self._sender.described(self.task)
        except NotDelivered as error:
            raise InvalidInput(str(error)) from None

    def send(self, uploads: Sequence[bytes]) -> list[Outcome]:
        """As one upload, or as few as the shuffler takes, one after the other."""
        try:
            return replace(self._sender, at_once=1).send(self.task, uploads)
        except NotDelivered as error:
            raise InvalidInput(str(error)) from None

    def release(self) -> tuple[int, ReleasedBatch]:
        """By the operator's order; fetched by the analyzer."""
        closed = self._operator.close(self.task)
        if self._analyzer.announced(self.task, closed.batch) != closed:
            raise InvalidInput(
                "the shuffler announces one batch to its operator and another to its analyzer. Do not trust this shuffler."
            )
        return closed.reports, self._analyzer.download(self.task, closed)
