"""What a shuffler needs of its store, whatever it is made of."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self
from uuid import UUID

from shuffledp.core.report_outcome import Outcome
from shuffledp.errors import ShuffledpError
from shuffledp.service.stores.batch import Batch, BatchState, Contents, NextKey


class StoreUnavailable(ShuffledpError):  # noqa: N818 - reads as what it is
    """The store cannot be written to now: nothing was acknowledged, and trying again is right."""


Ends = Callable[[str, int], bool]
"""Whether a task, by its document and hop, must not go on in a store that lacks what came after a backup."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """Which store this is, and how far it has come: what tells a copy or an earlier state of it.

    Attributes:
        id: its own; copies of its file or tables say the same, and a store that was restored gets another.
        generation: grows whenever a batch is closed or destroyed.
    """

    id: UUID
    generation: int


class Store(Protocol):
    """Reports, batches and released bytes; nothing about senders.

    Each method is one transaction, or a series of short ones that can be resumed. A store never decides about the order of a
    release: it hands out the contents of a closing batch and takes the permuted bytes.
    """

    # The store itself

    def twin(self) -> Self:
        """A handle on this store for another thread."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...

    def check(self) -> None:
        """Raise StoreUnavailable, saying why, if nothing could be written now."""
        ...

    def free_bytes(self) -> int | None:
        """Room that is left for it; None if that is not known."""
        ...

    def tidy(self) -> None:
        """Leave nothing that was erased anywhere, as far as concurrent readers allow. Called now and then."""
        ...

    def backup(self, copy: Path | str) -> None:
        """Write a consistent copy while others write; it reveals nothing about the order of arrival.

        It is marked as a copy: nothing is ever collected in it or released from it.
        """
        ...

    def instance(self) -> Instance:
        """Which store this is, and how far it has come."""
        ...

    # Tasks

    def add_task(self, task_id: str, document: str, *, hop: int, key: NextKey, now: float) -> None:
        """Add a task and open its first batch. A known task stays as it is; a retired one is refused."""
        ...

    def tasks(self) -> dict[str, tuple[str, int]]:
        """Documents and hops of the tasks that are not retired, by id."""
        ...

    def retire(self, task_id: str, *, at_most: int) -> int | None:
        """End a task for good and destroy its open reports; returns their number.

        If there are more than `at_most`, nothing happens and None is returned. The ids of its reports stay known.
        """
        ...

    # Batches

    def open_batch(self, task_id: str) -> Batch:
        """The newest batch that takes reports."""
        ...

    def open_window(self, task_id: str, *, key: NextKey, now: float) -> Batch:
        """Open a batch for this key, under a new window, unless there is one; empty batches of other keys end."""
        ...

    def batch(self, batch_id: int) -> Batch | None:
        """The batch of this number; None if there is none."""
        ...

    def batches(self, task_id: str, state: BatchState | None = None) -> list[Batch]:
        """Batches of a task, the oldest first."""
        ...

    def history(self) -> list[Batch]:
        """All batches, including those of retired tasks, the oldest first."""
        ...

    def unfinished(self) -> list[Batch]:
        """Batches whose release, or the erasing after it, was interrupted."""
        ...

    # Collecting

    def add_reports(
        self,
        task_id: str,
        reports: Sequence[tuple[bytes, bytes]],
        credentials: Sequence[bytes] | None = None,
        *,
        keys: Mapping[int, NextKey],
        window: int | None = None,
        opened_at: float | None = None,
    ) -> list[Outcome]:
        """Add (id, inner record) to the open batch, if that is of this window; returns the outcome of each.

        The first byte of an inner record names a key. Only records that name the key of the batch are taken, and only while it
        is one of `keys`, by id. With `opened_at` there is a batch for each of the keys, opened at that time if missing.
        If credentials are given, each report needs one that was never spent.
        """
        ...

    def restart_window(self, batch_id: int, *, now: float, empty: bool = True) -> None:
        """Restart the window of an open batch at `now`; with `empty`, only if it has no reports."""
        ...

    # BatchLifecycle

    def end(self, batch_id: int, *, below: int, roll_over: bool, key: NextKey, now: float) -> Batch | None:
        """Roll over or destroy a batch, if it is still open and has fewer reports than `below`; None if not.

        A batch that is rolled over keeps its number and starts again; the batch returned says how many reports it had. After a
        destruction a new batch is open, for `key`.
        """
        ...

    def let_go(self, batch_id: int) -> None:
        """Leave an unfinished batch to whoever asks for it next."""
        ...

    def start_closing(self, batch_id: int, *, at_least: int, secret: bytes, key: NextKey, now: float) -> Batch | None:
        """Close a batch and open the next for `key`, if it is still open and has that many reports; None if not."""
        ...

    def contents(self, batch_id: int) -> Contents | None:
        """What a closing batch holds; None if it is no longer closing, because another process was faster."""
        ...

    def add_piece(self, batch_id: int, number: int, piece: bytes) -> None:
        """Write one piece of the permuted bytes of a closing batch; a piece that is there stays as it is."""
        ...

    def remember(self, batch_id: int, ids: Sequence[bytes]) -> None:
        """Know these as ids of reports of a closing batch's task: whoever sends one is told that it was sent before."""
        ...

    def mark_released(self, batch_id: int, digest: str) -> None:
        """Turn a closing batch whose pieces are all written into a released one, and forget its secret."""
        ...

    def erase(self, batch_id: int) -> Batch:
        """Erase the records of a released or destroyed batch; the ids of its reports and spent credentials stay.

        Neither what stays nor the space that was freed reveals the order of arrival.
        """
        ...

    def pieces(self, batch_id: int) -> Iterator[bytes]:
        """The released bytes: the same every time."""
        ...

    def purge(self, batch_id: int) -> Batch:
        """Erase the released bytes of a batch; its digest and the ids of its reports stay."""
        ...
