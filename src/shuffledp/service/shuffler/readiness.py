"""Whether a shuffler should get reports now, and if not, why."""

import asyncio
import logging
import time
from typing import Final

from shuffledp.service.shuffler.limits import Limits
from shuffledp.service.shuffler.shuffler import Shuffler
from shuffledp.service.shuffler.write_queue import WriteQueue, loggable
from shuffledp.service.stores.store import StoreUnavailable

LOG: Final = logging.getLogger("shuffledp.shuffler")
_FRESH: Final = 1.0
"""Seconds for which an answer is reused, so that asking often does not load the disk."""


class Readiness:
    """Asks the store, in the thread that writes to it, to write something; checks its disk, how long and how many uploads wait.

    Args:
        commits: the uploads that wait.
        shuffler: which writes them to its store.
        limits: of the shuffler.
    """

    def __init__(self, write_queue: WriteQueue, shuffler: Shuffler, limits: Limits) -> None:
        self._write_queue, self._shuffler, self._limits = write_queue, shuffler, limits
        self._length = max(map(shuffler.upload_length, shuffler.tasks), default=1)
        self._checking: asyncio.Task[list[str]] | None = None
        self._until = 0.0

    async def wrong(self) -> list[str]:
        """What is wrong now; nothing if all is well."""
        oldest, most = self._write_queue.oldest(), self._limits.ready_wait
        waits = [f"an upload has waited for {oldest:.0f} s, more than {most:g} s"] if oldest > most else []
        if self._write_queue.waiting.crowded(self._length):
            waits.append("too many reports are waiting to be written")
        if self._checking is None or (self._checking.done() and time.monotonic() >= self._until):
            self._checking = asyncio.create_task(self._check())
        try:
            async with asyncio.timeout(most):
                return waits + await asyncio.shield(self._checking)
        except TimeoutError:
            return [*waits, f"the store has not answered for {most:g} s"]

    async def _check(self) -> list[str]:
        try:
            return await self._write_queue.write(self._look)
        finally:
            self._until = time.monotonic() + _FRESH

    def _look(self) -> list[str]:
        try:
            self._shuffler.check()
            free = self._shuffler.store.free_bytes()
        except (StoreUnavailable, OSError) as error:  # anybody may ask; only the log names files
            LOG.error("not ready: %s", loggable(error))
            return ["the store cannot be written to"]
        least = self._limits.ready_free_bytes
        short = free is not None and free < least
        if short:
            LOG.error("not ready: the store has room for %d more bytes, fewer than %d", free, least)
        return ["the store has too little room"] if short else []
