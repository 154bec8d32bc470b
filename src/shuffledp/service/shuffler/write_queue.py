"""Uploads that wait for the disk are opened and written together, those of each sender in turn.

While some are written the next are opened. All writing is done in one thread. An upload is answered only when what was accepted
of it is on disk.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from shuffledp.core.report_outcome import Outcome
from shuffledp.service.sealing.unsealing import WORTH_ASKING
from shuffledp.service.shuffler.limits import Limits
from shuffledp.service.shuffler.shuffler import Shuffler, Unsealed
from shuffledp.service.shuffler.waiting_uploads import TooManyWaiting, Upload, WaitingUploads
from shuffledp.service.stores.store import StoreUnavailable

LOG: Final = logging.getLogger("shuffledp.shuffler")
T = TypeVar("T")


class WriteQueue:
    """The queue of uploads of one shuffler, and the only thread that writes them down."""

    def __init__(self, shuffler: Shuffler, limits: Limits) -> None:
        self._shuffler, self._limits = shuffler, limits
        self._writing = ThreadPoolExecutor(max_workers=1, thread_name_prefix="writing")
        self._opening = ThreadPoolExecutor(max_workers=1, thread_name_prefix="opening")
        self.waiting = WaitingUploads(limits)
        self._arrived = asyncio.Event()
        self._stopping = False

    def oldest(self) -> float:
        """Seconds that the oldest upload has been waiting; 0 if there is none."""
        since = self.waiting.since()
        return 0.0 if since is None else time.monotonic() - since

    async def add(self, task: str, window: int | None, records: list[bytes], sender: str = "") -> Sequence[Outcome]:
        """The outcome of each report, once it is on disk.

        Raises:
            TooManyWaiting: there was no room for them, or it went to others. None is kept.
            TimeoutError: they waited too long. If they are being written they may be kept all the same.
            StoreUnavailable: none is kept.
        """
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        upload = Upload(
            task=task, window=window, records=records, sender=sender, done=done, since=time.monotonic()
        )  # fmt: skip
        if not self.waiting.add(upload):
            raise TooManyWaiting
        self._arrived.set()
        try:
            outcomes: Sequence[Outcome] = await done
            return outcomes
        finally:
            self.waiting.withdraw(upload)  # nobody waits for it any more

    async def watch(self) -> None:
        """Answer whoever has waited too long; looking at the oldest now and then costs less than one timer per upload."""
        most = self._limits.answer_timeout
        while True:
            await asyncio.sleep(min(1.0, most / 4))
            for upload in self.waiting.before(time.monotonic() - most):
                upload.refuse(TimeoutError())

    async def write(self, job: Callable[..., T], *values: Any) -> T:
        """Run a job in the thread that writes."""
        return await asyncio.get_running_loop().run_in_executor(self._writing, job, *values)

    async def run(self) -> None:
        """Open what is waiting and, while that is written, open what arrived meanwhile; until stopped and nothing is left."""
        writing: asyncio.Task[None] | None = None
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            while self.waiting:
                together = list(self.waiting.begin())
                for task, window in {(upload.task, upload.window) for upload in together}:
                    uploads = [upload for upload in together if (upload.task, upload.window) == (task, window)]
                    records = [record for upload in uploads for record in upload.records]
                    job: Callable[[], Any] = partial(self._shuffler.accept, task, records, window)
                    if len(records) >= WORTH_ASKING:
                        opening = self._opening.submit(self._shuffler.open, task, records, window)
                        job = partial(_kept, self._shuffler, opening)
                        with contextlib.suppress(Exception):  # raised again when the result is asked for
                            await asyncio.wrap_future(opening)
                    if writing is not None:
                        await writing
                    writing = asyncio.create_task(self._settle(job, uploads))
                    if len(records) < WORTH_ASKING:  # more will have arrived by then: fewer, larger commits
                        await writing
            if self._stopping:
                if writing is not None:
                    await writing
                return

    async def _settle(self, job: Callable[[], Any], uploads: list[Upload]) -> None:
        """Write reports and answer; or tell every sender that nothing was accepted."""
        try:
            outcomes = await self.write(job)
        except Exception as error:  # the waiting requests are told; the loop continues
            LOG.error("%d uploads were not accepted: %s", len(uploads), loggable(error))
            for upload in uploads:
                upload.refuse(error if isinstance(error, StoreUnavailable) else NotWritten())
            return
        finally:
            for upload in uploads:
                self.waiting.over(upload)
        self._shuffler.reached("accept: about to answer")
        start = 0
        for upload in uploads:
            if not upload.done.done():
                upload.done.set_result(outcomes[start : start + len(upload.records)])
            start += len(upload.records)

    def stop(self) -> None:
        """Let `run` end once nothing is waiting."""
        self._stopping = True
        self._arrived.set()

    def close(self) -> None:
        """Let go of the threads, whether or not they are done."""
        for threads in (self._writing, self._opening):
            threads.shutdown(wait=False, cancel_futures=True)


class NotWritten(Exception):  # noqa: N818 - reads as what it is
    """Reports were not accepted, for a reason that only the log states."""


def loggable(error: BaseException) -> str:
    """What an operator may read of an error: of one that is not ours the kind and place, because its words may show a value."""
    if isinstance(error, StoreUnavailable):
        return str(error)
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    place = "" if at is None else f" in {Path(at.tb_frame.f_code.co_filename).name}, line {at.tb_lineno}"
    return f"unexpected {type(error).__name__}{place}"


def _kept(shuffler: Shuffler, opening: "Future[Unsealed]") -> list[Outcome]:
    return shuffler.keep(opening.result())
