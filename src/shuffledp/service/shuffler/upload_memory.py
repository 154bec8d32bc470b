"""Uploads that are arriving, or wait for their turn: all in one amount of memory, from which the slowest is dropped first.

Memory is what a slow upload costs: bytes times the seconds for which they are held. When there is no room for more, the sender
that holds most gives way, with the upload that has cost most so far. So many slow uploads keep nobody else from reporting.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from shuffledp.service.shuffler.fair_shares import FairShares


class ArrivingUpload:
    """One upload: what has arrived of it, and what that has cost.

    Attributes:
        body: the bytes; one that was dropped has none.
        dropped: whether it had to give way.
    """

    def __init__(self, sender: str, now: float, drop: Callable[[], object]) -> None:
        self.sender, self.body, self.dropped = sender, bytearray(), False
        self.drop = drop
        self._cost, self._since = 0.0, now

    def cost(self, now: float) -> float:
        """Bytes times seconds so far."""
        return self._cost + len(self.body) * max(0.0, now - self._since)

    def grow(self, part: bytes, now: float) -> None:
        """Add bytes that have arrived."""
        self._cost, self._since = self.cost(now), now
        self.body += part


class UploadMemory:
    """The room for uploads that are arriving.

    Args:
        most: bytes.
        clock: seconds.
    """

    def __init__(self, most: int, clock: Callable[[], float]) -> None:
        self._room, self._clock = FairShares(most), clock
        self._uploads: dict[str, set[ArrivingUpload]] = {}

    @contextmanager
    def upload(self, sender: str, drop: Callable[[], object]) -> Iterator[ArrivingUpload]:
        """An upload for as long as it is here; `drop` is called, once, if it has to give way to another."""
        arriving = ArrivingUpload(sender, self._clock(), drop)
        self._uploads.setdefault(sender, set()).add(arriving)
        try:
            yield arriving
        finally:
            self._forget(arriving)

    def add(self, arriving: ArrivingUpload, part: bytes) -> bool:
        """Take bytes that have arrived; False if this upload itself has to give way."""
        while not arriving.dropped and self._room.lack(len(part)):
            sender = self._room.giving_way(arriving.sender, len(part))
            now = self._clock()
            slowest = max(self._uploads[sender], key=lambda upload: upload.cost(now))
            slowest.dropped = True
            self._forget(slowest)
            if slowest is not arriving:
                slowest.drop()
        if not arriving.dropped:
            self._room.take(arriving.sender, len(part))
            arriving.grow(part, self._clock())
        return not arriving.dropped

    def _forget(self, arriving: ArrivingUpload) -> None:
        found = self._uploads.get(arriving.sender, set())
        if arriving in found:
            found.remove(arriving)
            self._room.give_back(arriving.sender, len(arriving.body))
            arriving.body.clear()
        if not found:
            self._uploads.pop(arriving.sender, None)
