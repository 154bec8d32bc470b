"""What becomes of batches in any SQL database: rolled over, destroyed or released, and then erased.

A change of state is one transaction; copying and erasing are many short ones or lock no task, so that uploads never wait long.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from shuffledp.errors import InvalidInput
from shuffledp.service.stores.batch import Batch, Contents, NextKey
from shuffledp.service.stores.rows import Rows
from shuffledp.service.stores.store import Ends, StoreUnavailable

_ALL: Final = 1 << 62
"""More reports than there are."""
_TOGETHER: Final = 1 << 10
"""Ids that are written in one transaction."""


@dataclass(slots=True, kw_only=True)
class Sealed:
    """A closing batch as its tables have it: ids and inner records one after the other, in the order of ids."""

    count: int
    secret: bytes = field(repr=False)
    ids: bytearray = field(default_factory=bytearray, repr=False)
    records: bytearray = field(default_factory=bytearray, repr=False)
    lengths: list[int] = field(default_factory=list, repr=False)


class BatchLifecycle(Rows):
    """Closes, destroys, releases and erases batches."""

    @abstractmethod
    def _advance(self) -> None:
        """A batch is closed or destroyed: an earlier state, in which it is open, is never to be served again."""

    @abstractmethod
    def _mark_closing(self, batch_id: int, secret: bytes) -> None:
        """Turn an open batch into a closing one that has a secret."""

    @abstractmethod
    def _mark_released(self, batch_id: int, digest: str) -> None:
        """Turn a closing batch into a released one that has none, if it is still closing."""

    @abstractmethod
    def _sealed(self, batch_id: int) -> Sealed | None:
        """What a closing batch has; None if it is not closing."""

    @abstractmethod
    def _keep_ids(self, batch: Batch) -> None:
        """Copy ids and spent credentials to where they stay, in their own order, and mark the batch as erased."""

    @abstractmethod
    def _drop_records(self, batch: Batch) -> None:
        """Leave nothing of the records of an erased batch in the database's files, as far as readers allow."""

    @abstractmethod
    def _piece(self, batch_id: int, number: int) -> bytes | None:
        """One piece of the released bytes; None after the last, or if they were purged."""

    @abstractmethod
    def _drop_pieces(self, batch_id: int) -> None:
        """Leave nothing of released bytes that were purged in the database's files, as far as readers allow."""

    def retire(self, task_id: str, *, at_most: int) -> int | None:
        """End a task for good and destroy its open reports; returns their number.

        If there are more than `at_most`, nothing happens and None is returned. The ids of its reports stay known.
        """

        def end() -> list[Batch] | None:
            self._lock(task_id)
            batches = self._open_batches(task_id)
            if not batches:
                raise InvalidInput("the store does not know this task, or it is retired already. Check the task.")
            if sum(batch.count for batch in batches) > at_most:
                return None
            self._run("UPDATE task SET retired = true WHERE id = ?", task_id)
            self._run("UPDATE batch SET state = 'DESTROYED' WHERE task = ? AND state = 'OPEN'", task_id)
            self._advance()
            return batches

        batches = self._write(end)
        if batches is None:
            return None
        for batch in batches:
            self.erase(batch.id)
        return sum(batch.count for batch in batches)

    def end(self, batch_id: int, *, below: int, roll_over: bool, key: NextKey, now: float) -> Batch | None:
        """Roll over or destroy a batch, if it is still open and has fewer reports than `below`; None if not.

        A batch that is rolled over keeps its number and starts again; the batch returned says how many reports it had. After a
        destruction a new batch is open, for `key`.
        """

        def end() -> Batch | None:
            batch = self._locked(batch_id)
            if batch is None or batch.state != "OPEN" or batch.count >= below:
                return None
            return self._roll_over(batch, now) if roll_over else self._destroy(batch, key, now)

        ended = self._write(end)
        return self.erase(batch_id) if ended is not None and not roll_over else ended

    def _roll_over(self, batch: Batch, now: float) -> Batch | None:
        self._run("UPDATE batch SET opened = ? WHERE id = ?", now, batch.id)
        marker = self._run(
            'INSERT INTO batch (task, "window", opened, state, count, key, fingerprint, erased) '
            "SELECT task, \"window\", ?, 'ROLLED_OVER', count, key, fingerprint, true FROM batch WHERE id = ? RETURNING id",
            batch.opened, batch.id,
        )  # fmt: skip
        return self.batch(marker[0][0])

    def _destroy(self, batch: Batch, key: NextKey, now: float) -> Batch | None:
        self._run("UPDATE batch SET state = 'DESTROYED' WHERE id = ?", batch.id)
        self._advance()
        self._open(batch.task, key, now)
        self._claimed(batch.id)
        return self.batch(batch.id)

    def destroy_what_was_open(self, now: float, ends: Ends) -> None:
        """Destroy what is open in a store that was restored, as it may have been released since its backup; some tasks end."""
        for task_id, (document, hop) in self.tasks().items():
            if ends(document, hop):
                self.retire(task_id, at_most=_ALL)
        for batch in self.history():
            if batch.state == "OPEN":
                self.end(batch.id, below=_ALL, roll_over=False, key=batch.key, now=now)

    def let_go(self, batch_id: int) -> None:
        """Leave an unfinished batch to whoever asks for it next."""

    def start_closing(self, batch_id: int, *, at_least: int, secret: bytes, key: NextKey, now: float) -> Batch | None:
        """Close a batch and open the next for `key`, if it is still open and has that many reports; None if not."""

        def close() -> bool:
            batch = self._locked(batch_id)
            if batch is None or batch.state != "OPEN" or batch.count < at_least:
                return False
            self._mark_closing(batch_id, secret)
            self._advance()
            self._open(batch.task, key, now)
            self._claimed(batch_id)  # so that no other process begins to release it too
            self._reached("close: marked")
            return True

        if not self._write(close):
            return None
        self._reached("close: committed")
        return self.batch(batch_id)

    def contents(self, batch_id: int) -> Contents | None:
        """What a closing batch holds; None if it is no longer closing, because another process was faster."""
        found = self._sealed(batch_id)
        if found is None:
            return None
        if len(found.lengths) != found.count:
            batch = self.batch(batch_id)
            if batch is None or batch.state != "CLOSING":  # it was erased while it was read
                return None
            raise StoreUnavailable("the store's count and its reports disagree. Restore a backup.")
        return Contents(
            ids=np.frombuffer(found.ids, np.uint8).reshape(found.count, -1),
            records=np.frombuffer(found.records, np.uint8),
            lengths=np.array(found.lengths, np.int64),
            secret=found.secret,
        )

    def remember(self, batch_id: int, ids: Sequence[bytes]) -> None:
        """Know these as ids of reports of a closing batch's task; doing it again changes nothing.

        Records that a shuffler added are then refused as repeated if somebody sends them in, as reports are. They are given
        together with the reports of the batch, all in the order of their ids, so that no row of the store tells them apart.
        """
        for start in range(0, len(ids), _TOGETHER):
            some = ids[start : start + _TOGETHER]

            def add(some: Sequence[bytes] = some) -> None:
                for name in some:
                    self._run(
                        "INSERT INTO report (task, id) SELECT task.number, ? FROM batch JOIN task ON task.id = batch.task "
                        "WHERE batch.id = ? AND batch.state = 'CLOSING' ON CONFLICT DO NOTHING",
                        name, batch_id,
                    )  # fmt: skip

            self._write(add)

    def mark_released(self, batch_id: int, digest: str) -> None:
        """Turn a closing batch whose pieces are all written into a released one, and forget its secret."""

        def mark() -> None:
            self._mark_released(batch_id, digest)
            self._reached("release: marked")

        self._write(mark)
        self._reached("release: committed")

    def erase(self, batch_id: int) -> Batch:
        """Erase the records of a released or destroyed batch; the ids of its reports and spent credentials stay.

        They are copied to their final tables in their own order, which is not that of arrival.
        """
        batch = self.batch(batch_id)
        if batch is None or batch.state not in ("RELEASED", "DESTROYED"):
            raise InvalidInput("there is no such batch to release. Close one first.")
        self._keep_ids(batch)
        self._reached("release: records erased")
        self._drop_records(batch)
        return batch

    def pieces(self, batch_id: int) -> Iterator[bytes]:
        """The released bytes: the same every time."""
        number = 0
        while (piece := self._piece(batch_id, number)) is not None:
            yield piece
            number += 1

    def purge(self, batch_id: int) -> Batch:
        """Erase the released bytes of a batch; its digest and the ids of its reports stay."""
        batch = self.batch(batch_id)
        if batch is None or batch.state != "RELEASED":
            raise InvalidInput(f"batch {batch_id} is not a released batch. Only the bytes of those can be purged.")
        self._write(lambda: self._run("UPDATE batch SET purged = true WHERE id = ?", batch_id))
        self._drop_pieces(batch_id)
        return replace(batch, purged=True)
