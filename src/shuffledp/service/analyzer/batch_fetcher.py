"""Fetching released batches from a shuffler, which is believed nothing: what arrives is compared with what it announced."""

import hashlib
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Self

from shuffledp.core.document import whole
from shuffledp.errors import InvalidInput
from shuffledp.service.analyzer.batch_format import reports_of
from shuffledp.service.task import Task
from shuffledp.service.wire.address import checked
from shuffledp.service.wire.bundle import COUNT
from shuffledp.service.wire.exchange import ANSWER_SECONDS, SHORT, Answer, Peer, TooLong, done
from shuffledp.service.wire.record import SEALED, record_length
from shuffledp.service.wire.released_batch import ReleasedBatch, pieces

MAX_BATCH_BYTES: Final = 1 << 30
"""Of a batch, unless told: 15 million messages."""
_CONFLICT: Final = 409
"""The batch is too small to be released."""
_LONGEST_LIST: Final = 2 << 20
"""Bytes of a list of batches, some 10,000 of them; read as JSON they may take thirty times as much memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnouncedBatch:
    """A batch as a shuffler announces it: released, and of the task that was asked about.

    Attributes:
        batch: its number.
        task: id of its task.
        reports: how many there are.
        sha256: of its bytes.
    """

    batch: int
    task: str
    reports: int
    sha256: str

    @classmethod
    def read(cls, entry: Any, task: Task) -> Self:
        """From what the shuffler says; members that are not known are ignored."""
        try:
            batch, reports = whole(entry["batch"]), whole(entry["reports"])
            named, state, sha256 = str(entry["task"]), entry["state"], str(entry["sha256"])
            good = batch >= 1 and reports >= 1 and re.fullmatch("[0-9a-f]{64}", sha256)
        except (KeyError, TypeError, ValueError):
            good = None
        if not good:
            raise _not_understood()
        if named != task.id:
            raise InvalidInput("the shuffler announces a batch of another task. Check the address and the task.")
        if state != "RELEASED":
            raise InvalidInput("the shuffler announces a batch that it has not released. Check the address.")
        return cls(batch=batch, task=named, reports=reports, sha256=sha256)

    def document(self) -> dict[str, Any]:
        """The announcement as JSON data."""
        return {
            "batch": self.batch, "task": self.task, "state": "RELEASED", "reports": self.reports, "sha256": self.sha256,
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFetcher:
    """The analyzer's, or the operator's, access to a shuffler.

    Attributes:
        url: of the shuffler; plain HTTP only on this machine.
        token: what lets this role in.
        max_batch_bytes: a longer batch is refused.
        patience: seconds for an answer as a whole; a batch gets one more for each 256 kB of it that have arrived.
        release_patience: seconds for a release at the operator's order: permuting millions of reports takes a while.
    """

    url: str
    token: str = field(repr=False)
    max_batch_bytes: int = MAX_BATCH_BYTES
    patience: float = ANSWER_SECONDS
    release_patience: float = 300.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "url", checked(self.url))

    def records(self, task: Task, batch: int | None = None) -> Iterator[list[bytes]]:
        """The records of a batch that an outer hop released, a bounded number at a time."""
        announced = self.announced(task, batch)
        lengths = [record_length(hop, task.plan.protocol.most_messages) for hop in range(1, task.hops + 1)]
        content = self._download(announced, lengths[0], most=announced.reports * lengths[-1])
        length, rest = divmod(len(content.content), announced.reports)
        if rest or length not in lengths:
            raise _other_number(announced)
        return pieces(content.records(length))

    def fetch(self, task: Task, batch: int | None = None) -> ReleasedBatch:
        """A released batch, by default the latest: what was announced, in number and hash.

        It goes through a temporary file without a name (in TMPDIR), so that it need not fit into memory.
        """
        return self.download(task, self.announced(task, batch))

    def download(self, task: Task, announced: AnnouncedBatch) -> ReleasedBatch:
        """A batch that was announced, as the analyzer opens it."""
        protocol = task.plan_of(announced.reports).protocol
        states = task.may_add_noise or protocol.states_reports
        most = protocol.most_records(announced.reports) * SEALED + (COUNT if states else 0)
        released = self._download(announced, SEALED, most=most)
        if reports_of(released, task).number != announced.reports:
            raise _other_number(announced)
        return released

    def close(self, task: Task) -> AnnouncedBatch:
        """Release the open batch, if it has enough reports."""
        answer = self._asked("POST", f"/v2/tasks/{task.id}/batches/close", seconds=self.release_patience)
        return AnnouncedBatch.read(answer.document(), task)

    def announced(self, task: Task, batch: int | None = None) -> AnnouncedBatch:
        """A released batch in the shuffler's list, by default the latest."""
        listed = self._asked("GET", f"/v2/tasks/{task.id}/batches", most=_LONGEST_LIST).document().get("batches")
        if not isinstance(listed, list):
            raise _not_understood()
        batches = [AnnouncedBatch.read(entry, task) for entry in listed]
        wanted = [entry for entry in batches if batch is None or entry.batch == batch]
        if not wanted:
            raise InvalidInput("no such batch is released yet. Wait for the window to end, or for more reports.")
        if batch is not None and len(wanted) > 1:
            raise InvalidInput(f"the shuffler announces several batches of the number {batch}. Ask its operator why.")
        return wanted[-1]

    def _download(self, announced: AnnouncedBatch, shortest: int, *, most: int) -> ReleasedBatch:
        if announced.reports * shortest > self.max_batch_bytes:
            raise self._too_large(announced)
        digest = hashlib.sha256()
        with ExitStack() as held:
            with _room():
                file = held.enter_context(tempfile.TemporaryFile())

            def keep(piece: bytes) -> None:
                digest.update(piece)
                with _room():
                    file.write(piece)

            try:
                _check_status(done(self._fetched(announced.batch, keep, min(most, self.max_batch_bytes))))
            except TooLong as error:
                raise (error if most <= self.max_batch_bytes else self._too_large(announced)) from None
            with _room():
                file.flush()
            if digest.hexdigest() != announced.sha256:
                raise InvalidInput("the batch does not match its hash. Fetch it again.")
            return ReleasedBatch.mapped(file, announced.sha256)

    async def _fetched(self, batch: int, keep: Callable[[bytes], None], most: int) -> Answer:
        async with Peer(self.url, self.token) as peer:
            return await peer.fetch(f"/v2/batches/{batch}", keep, most=most, seconds=self.patience)

    def _asked(self, method: str, path: str, *, most: int = SHORT, seconds: float | None = None) -> Answer:
        async def ask() -> Answer:
            async with Peer(self.url, self.token) as peer:
                return await peer.ask(method, path, most=most, seconds=seconds or self.patience)

        answer = done(ask())
        _check_status(answer)
        return answer

    def _too_large(self, announced: AnnouncedBatch) -> InvalidInput:
        return InvalidInput(
            f"the shuffler announces a batch of {announced.reports:,} reports, and it does not fit into "
            f"{self.max_batch_bytes:,} bytes. If so many people were asked, raise --max-batch-bytes."
        )


def _check_status(answer: Answer) -> None:
    if answer.status == _CONFLICT:
        raise InvalidInput(
            f"the shuffler refused ({answer.reason()}). Wait for more reports, or for the window to end."
        )
    if answer.status != 200:
        raise InvalidInput(f"the shuffler refused ({answer.reason()}). Check task, address and token.")


@contextmanager
def _room() -> Iterator[None]:
    """For a batch, on disk."""
    try:
        yield
    except OSError as error:
        raise InvalidInput(
            f"cannot keep the batch in a temporary file: {error.strerror}. Set TMPDIR to a folder with room."
        ) from None


def _other_number(announced: AnnouncedBatch) -> InvalidInput:
    return InvalidInput(
        f"the batch is not of the {announced.reports:,} reports that the shuffler announced. Nothing was opened or booked; ask "
        "its operator how this came about."
    )


def _not_understood() -> InvalidInput:
    return InvalidInput("the shuffler's answer could not be understood. Check the address.")
