"""What a shuffler needs of its store, whatever that is made of."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, Self

from shuffledp.errors import ShuffledpError

BatchState = Literal["OPEN", "CLOSING", "RELEASED", "ROLLED_OVER", "DESTROYED"]
Kept = Literal["accepted", "report_replayed", "not_admitted", "batch_collected", "outdated_key"]


class StoreUnavailable(ShuffledpError):  # noqa: N818 - reads as what it is
    """The store cannot take anything now: nothing was acknowledged, and trying again is right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NextKey:
    """The one key that all records of a batch are sealed to: anything else in clear would partition the batch."""

    id: int
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One batch as the store knows it. Batches that were rolled over into one another are one window.

    Attributes:
        count: reports in it; of one that was rolled over or destroyed, how many that happened to.
        key: what its records are sealed to: fixed when it is opened, because clients build on it.
        purged: whether its released bytes were erased.
    """

    id: int
    window: int
    task: str
    opened: float
    state: BatchState
    count: int
    key: NextKey
    digest: str | None
    purged: bool


class Store(Protocol):
    """What a shuffler needs. Each method is one transaction, or a series of short ones that can be taken up again."""

    def twin(self) -> Self:
        """The same store for another thread."""
        ...

    def check(self) -> None:
        """Raise StoreUnavailable, saying why, if nothing could be written now."""
        ...

    def add_task(self, task_id: str, document: str, *, hop: int, key: NextKey, now: float) -> None:
        """Know a task and open its first batch; one that is known stays as it is, one that is retired is refused."""
        ...

    def tasks(self) -> dict[str, tuple[str, int]]:
        """Documents and hops of the tasks that are not retired, by id."""
        ...

    def retire(self, task_id: str, *, at_most: int) -> int | None:
        """End a task for ever and destroy its open reports: says how many; None, and nothing happens, if there are more.

        The ids of its reports stay known.
        """
        ...

    def open_batch(self, task_id: str) -> Batch:
        """The newest batch that takes reports."""
        ...

    def open_window(self, task_id: str, *, key: NextKey, now: float) -> Batch:
        """Open a batch for this key, under a new window, unless there is one; empty batches of other keys end."""
        ...

    def batch(self, batch_id: int) -> Batch | None:
        """Any batch."""
        ...

    def batches(self, task_id: str, state: BatchState | None = None) -> list[Batch]:
        """Batches of a task, the oldest first."""
        ...

    def add_reports(
        self,
        task_id: str,
        reports: Sequence[tuple[bytes, bytes]],
        spending: Sequence[bytes] | None = None,
        *,
        keys: Mapping[int, NextKey],
        window: int | None = None,
        several: float | None = None,
    ) -> list[Kept]:
        """Add (id, inner record) to the open batch, if that is of this window; says what became of each.

        Only records that name the key of the batch are taken, and only while it is one of `keys`, by id. With `several`, which
        is the time, there is a batch for each of the keys, opened when needed. If credentials are given, each report needs one
        that was never spent.
        """
        ...

    def start_closing(self, batch_id: int, *, at_least: int, secret: bytes, key: NextKey, now: float) -> Batch | None:
        """Close a batch and open the next for `key`, if it is still open and has that many reports; None if not."""
        ...

    def release(self, batch_id: int) -> Batch:
        """Permute a closing batch by its secret, write the released bytes, erase secret and records. Again does nothing.

        In short steps, so that others can write meanwhile. Of a destroyed batch the erasing is finished.
        """
        ...

    def unfinished(self) -> list[Batch]:
        """Batches whose release, or the erasing after it, was interrupted."""
        ...

    def end(self, batch_id: int, *, below: int, roll_over: bool, key: NextKey, now: float) -> Batch | None:
        """Roll over or destroy a batch, if it is still open and has fewer reports than `below`; None if not.

        After a destruction the next is open, for `key`.
        """
        ...

    def renew(self, batch_id: int, *, now: float, empty: bool = True) -> None:
        """Let an open batch begin now: one without reports unless told."""
        ...

    def tidy(self) -> None:
        """Let nothing that was erased be left anywhere, as far as readers allow it now. Called now and then."""
        ...

    def pieces(self, batch_id: int) -> Iterator[bytes]:
        """The released bytes: the same every time."""
        ...

    def purge(self, batch_id: int) -> Batch:
        """Erase the released bytes of a batch; its digest and the ids of its reports stay."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...
