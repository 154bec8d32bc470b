"""Uploads that wait for the disk: how much may wait, who is next, and who gives way when there is no room."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from shuffledp.service.shuffler.fair_shares import FairShares
from shuffledp.service.shuffler.limits import Limits

Sizes = tuple[int, int, int]
"""Reports, bytes and uploads."""


@dataclass(slots=True, kw_only=True, eq=False)
class Upload:
    """Reports of one request, who sent them, and where the answer goes."""

    task: str
    window: int | None
    records: list[bytes] = field(repr=False)
    sender: str = field(repr=False)
    done: "asyncio.Future[Any]"
    since: float

    def sizes(self) -> Sizes:
        """How much room it takes."""
        return len(self.records), len(self.records) * len(self.records[0]), 1

    def refuse(self, error: Exception) -> None:
        """Answer, unless it is answered already."""
        if not self.done.done():
            self.done.set_exception(error)


class WaitingUploads:
    """The queue of a shuffler: one upload of each sender in turn, and room for a number of reports, bytes and uploads."""

    def __init__(self, limits: Limits) -> None:
        self._together = limits.reports_per_commit
        self._room = (
            FairShares(limits.max_waiting_reports), FairShares(limits.max_incoming_bytes), FairShares(limits.max_waiting_uploads)
        )  # fmt: skip
        self._begun_sizes: Sizes = (0, 0, 0)
        self._queue: OrderedDict[Upload, None] = OrderedDict()
        self._shared_rate: OrderedDict[str, deque[Upload]] = OrderedDict()
        self._begun: OrderedDict[Upload, None] = OrderedDict()

    def __len__(self) -> int:
        """Uploads that are not begun."""
        return len(self._queue)

    @property
    def reports(self) -> int:
        """Reports that wait or are being written."""
        return self._room[0].total + self._begun_sizes[0]

    def crowded(self, length: int) -> bool:
        """Whether even one report, of this length, would be refused now, from a sender that has nothing waiting."""
        return any(
            room.lack(taken + size) and not room.giving_way("", size)
            for room, taken, size in zip(self._room, self._begun_sizes, (1, length, 1), strict=True)
        )

    def add(self, upload: Upload) -> bool:
        """Let an upload wait; False if there is no room, although the latest uploads of those who have most gave way."""
        if not self._make_room(upload):
            return False
        self._queue[upload] = None
        self._shared_rate.setdefault(upload.sender, deque()).append(upload)
        for room, size in zip(self._room, upload.sizes(), strict=True):
            room.take(upload.sender, size)
        return True

    def _make_room(self, upload: Upload) -> bool:
        for room, taken, size in zip(self._room, self._begun_sizes, upload.sizes(), strict=True):
            while room.lack(taken + size):
                other = room.giving_way(upload.sender, size)
                if other == upload.sender:
                    return False
                latest = self._shared_rate[other][-1]
                self.withdraw(latest)
                latest.refuse(TooManyWaiting())
        return True

    def withdraw(self, upload: Upload) -> None:
        """Let an upload wait no longer, if it still does. The next one of its sender is behind those of the others."""
        if upload not in self._queue:
            return
        del self._queue[upload]
        own = self._shared_rate.pop(upload.sender)
        own.remove(upload)
        if own:
            self._shared_rate[upload.sender] = own
        for room, size in zip(self._room, upload.sizes(), strict=True):
            room.give_back(upload.sender, size)

    def begin(self) -> Iterator[Upload]:
        """The uploads that are to be written next, together. They take room, and cannot give way, until they are `over`."""
        count = 0
        while self._shared_rate and count < self._together:
            upload = next(iter(self._shared_rate.values()))[0]
            self.withdraw(upload)
            self._begun[upload] = None
            self._count_begun(upload, 1)
            count += len(upload.records)
            yield upload

    def over(self, upload: Upload) -> None:
        """An upload that was begun was written, or could not be."""
        del self._begun[upload]
        self._count_begun(upload, -1)

    def _count_begun(self, upload: Upload, sign: int) -> None:
        (reports, size, _), (taken, bytes_, _) = upload.sizes(), self._begun_sizes
        self._begun_sizes = (taken + sign * reports, bytes_ + sign * size, 0)  # as an upload it does not wait any more

    def since(self) -> float | None:
        """When the oldest one came; None if there is none."""
        return min((upload.since for upload in (*self._begun, *self._queue)), default=None)

    def before(self, time: float) -> list[Upload]:
        """Those that came before a time, begun or not."""
        return [upload for upload in (*self._begun, *self._queue) if upload.since <= time]


class TooManyWaiting(Exception):  # noqa: N818 - reads as what it is
    """Too much is waiting; none of these reports is kept."""
