"""What goes wrong in tasks of Spark. Executors import this file, so it needs nothing of the tests."""

import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from shuffledp.domains.domain import Domain
from shuffledp.sources.source import Chunk, Source, Split


def dies_at_first(batches: Iterator[Any], chosen: tuple[int, ...] = (0, 2)) -> Iterator[Any]:
    """A task whose process is gone in the middle of its first two attempts."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    for number, batch in enumerate(batches):
        yield batch
        if context.partitionId() in chosen and context.attemptNumber() < 2 and number >= 0:
            os._exit(1)


def waits_to_be_killed(batches: Iterator[Any], folder: str) -> Iterator[Any]:
    """The first task says who it runs for, and waits until that is killed; tried again, it goes on."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    mark = Path(folder) / "executor"
    if context.partitionId() == 0 and not mark.exists():
        executor = int(Path(f"/proc/{os.getppid()}/stat").read_text().rsplit(")", 1)[1].split()[1])
        mark.with_suffix(".draft").write_text(str(executor))
        mark.with_suffix(".draft").rename(mark)
        while Path(f"/proc/{executor}").exists():  # until it is killed
            time.sleep(0.05)
    yield from batches


def fails_with_a_value(batches: Iterator[Any]) -> Iterator[Any]:
    """An error that quotes a value."""
    for _ in batches:
        raise KeyError("31337")
    yield from ()


class Interrupted(Source):
    """A column in parts, some of which end the process that reads them until they are tried again."""

    def __init__(self, column: Any, size: int, folder: Path) -> None:
        self._column, self._size, self._folder = column, size, folder

    def chunks(self, domain: Domain) -> Iterator[Chunk]:
        """As they are."""
        for first in range(0, len(self._column), self._size):
            yield Chunk(self._column[first : first + self._size], first)

    def splits(self, domain: Domain) -> Iterator[Split]:
        """Every third of them is trouble."""
        for number, chunk in enumerate(self.chunks(domain)):
            read: Callable[[], Iterator[Chunk]] = partial(iter, (chunk,))
            if number % 3 == 0:
                read = partial(_interrupted, chunk, self._folder / f"{number}")
            yield Split(chunk.first_row, len(chunk.raw), read)

    def __str__(self) -> str:
        return "the column"


def _interrupted(chunk: Chunk, mark: Path) -> Iterator[Chunk]:
    if not mark.exists():
        mark.touch()
        os._exit(1)
    yield chunk


class Unsent(Source):
    """A column that cannot be sent anywhere."""

    def chunks(self, domain: Domain) -> Iterator[Chunk]:
        """One, with something that only this process knows."""
        yield Chunk([lambda: 31337], 0)

    def __str__(self) -> str:
        return "the column"


def numbered(batches: Iterator[Any], counters: int) -> Iterator[Any]:
    """Numbers of rows, each counted by its rest."""
    from shuffledp.cluster.sums import Done, Found, Noted

    seen = [np.asarray(batch.column(0).to_numpy()).astype(np.uint64) for batch in batches]
    numbers = np.concatenate([np.empty(0, np.uint64), *seen])
    often = np.bincount((numbers % np.uint64(counters)).astype(np.int64), minlength=counters)
    yield Found(np.flatnonzero(often), often[np.flatnonzero(often)])
    yield Done(numbers)
    yield Noted(7, "rows", len(numbers))


def lengths(pieces: Iterator[bytes]) -> Iterator[Any]:
    """Bytes of all pieces together."""
    from shuffledp.cluster.sums import Found

    yield Found(np.array([0]), np.array([sum(map(len, pieces))]))


def length(piece: bytes) -> bytes:
    """Bytes of a piece, as a text."""
    return str(len(piece)).encode()
