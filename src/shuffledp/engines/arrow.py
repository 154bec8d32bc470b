"""Splits of the rows side by side on all cores: any number of rows in little memory."""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ClassVar

from shuffledp.core.cores import cores
from shuffledp.core.free_memory import settle_allocator
from shuffledp.engines.engine import Job, JobEngine, Progress
from shuffledp.engines.tally import Tally, Tallying
from shuffledp.errors import InvalidInput
from shuffledp.sources.source import Source, Split


class Arrow(JobEngine):
    """Tallies the splits of the source in threads: reading, numpy and the cipher let others run meanwhile.

    Args:
        threads: one more than cores that this process may use, unless said otherwise: while two wait for each other's Python, the
            third reads. The tally does not depend on it.
    """

    name: ClassVar[str] = "arrow"

    def __init__(self, threads: int | None = None) -> None:
        self._threads = threads

    def carried_out(self, job: Job, source: Source, progress: Progress) -> Tally:
        """Tally the splits side by side; of several errors, that of the first rows is raised."""
        settle_allocator()
        total = job.started()
        total.add([])  # what is worked out once for all rows is worked out here: balls are not made for threads
        for share in self._shares(total, source.checked_splits(job.protocol.domain)):
            progress(share)
        return total.tally()

    def _shares(self, total: Tallying, splits: Iterator[Split]) -> Iterator[float]:
        """The share of the source that is done, split by split. Of several errors, that of the first split is raised."""
        threads = self._threads or _threads()
        running: deque[tuple[float, Future[None]]] = deque()
        failure: InvalidInput | None = None
        with ThreadPoolExecutor(threads) as pool:
            try:
                while True:
                    try:
                        split = next(splits, None)
                    except InvalidInput as error:  # what was read before it comes first
                        split, failure = None, error
                    if split is None:
                        break
                    running.append((split.share, pool.submit(_add, split, total)))
                    if len(running) > 2 * threads:
                        yield _done(*running.popleft())
                while running:
                    yield _done(*running.popleft())
            finally:
                pool.shutdown(cancel_futures=True)
        if failure is not None:
            raise failure


def _add(split: Split, total: Tallying) -> None:
    for chunk in split.chunks():
        total.add(chunk.raw, first_row=chunk.first_row, leave_out=chunk.leave_out, addresses=chunk.addresses)


def _done(share: float, future: "Future[None]") -> float:
    future.result()
    return share


def _threads() -> int:
    return cores() + 1 if cores() > 1 else 1
