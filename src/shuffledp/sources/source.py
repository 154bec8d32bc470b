"""The interface of a source: raw values of people in chunks, whose rows have addresses."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.randomness import Words
from shuffledp.domains.domain import Domain
from shuffledp.errors import InvalidInput
from shuffledp.sources.row_addresses import Rising, check_distinct

CHUNK: Final = 1 << 21
"""Rows read, randomized and counted at once: so many that threads rarely wait for Python or for a million counters."""


def rows_at_once(domain: Domain) -> int:
    """How many rows of these values are read, randomized and counted at once: fewer, if each has many numbers."""
    return max(1, CHUNK // domain.row_length)


NOBODY: Final = np.empty(0, dtype=np.int64)


class Chunk(NamedTuple):
    """Some consecutive rows, in memory.

    Attributes:
        raw: their values, in a list, an array or an Arrow column.
        first_row: the number of the first, which is its address unless rows have addresses of their own. A row's randomness
            is that of its address.
        leave_out: indices in this chunk of rows that are more than their person may have.
        share: of the source that is read with it, for progress bars.
        addresses: of the rows, distinct in the whole source, if they are other than their numbers.
    """

    raw: Any
    first_row: int
    leave_out: NDArray[np.int64] = NOBODY
    share: float = 1.0
    addresses: Words | None = None


class Split(NamedTuple):
    """Consecutive rows that can be read apart from the others, chunk by chunk, so that several may be read at once.

    Attributes:
        first_row: the number of the first.
        rows: how many there are.
        read: reads them, chunk by chunk.
        share: of the source that is read with it.
    """

    first_row: int
    rows: int
    read: Callable[[], Iterator[Chunk]]
    share: float = 1.0

    def chunks(self) -> Iterator[Chunk]:
        """Its rows, checked as those of a source are."""
        row = self.first_row
        for chunk in self.read():
            if chunk.first_row != row:
                break
            yield chunk
            row += len(chunk.raw)
        if row != self.first_row + self.rows:
            raise InvalidInput("a part of the rows is not as long as it was said to be. Check the files.")


class Source(ABC):
    """People's values. Engines read it by `checked_chunks` or `checked_splits` only."""

    rows_per_person: int = 1
    """The most rows of one person that take part."""
    knows_people: bool = False
    """Whether it was checked whose row is whose."""
    in_file: bool = False
    """Whether rows have numbers that mean something to whoever reads an error."""

    is_query: bool = False
    """Whether the values are answers to a query, whose author may want to learn about one person."""

    @abstractmethod
    def chunks(self, domain: Domain) -> Iterator[Chunk]:
        """All rows in their order, the same at every call."""

    @abstractmethod
    def __str__(self) -> str:
        """A name for errors."""

    def identity(self) -> object:
        """Something that is another one if the rows were replaced meanwhile, as far as that can be told."""
        return None

    def addresses(self, domain: Domain) -> Iterator[Words]:
        """Those of all chunks, where rows have addresses of their own."""
        return (chunk.addresses for chunk in self.chunks(domain) if chunk.addresses is not None)

    def splits(self, domain: Domain) -> Iterator[Split]:
        """All rows in splits: the checked chunks, unless a source knows better."""
        for chunk in self.checked_chunks(domain):
            yield Split(chunk.first_row, len(chunk.raw), partial(iter, (chunk,)), chunk.share)

    def checked_splits(self, domain: Domain) -> Iterator[Split]:
        """The splits, checked: rows in two of them would have the same addresses."""
        row = 0
        for split in self.splits(domain):
            if split.first_row != row:
                raise self._skips()
            yield split
            row += split.rows

    def checked_chunks(self, domain: Domain) -> Iterator[Chunk]:
        """The chunks, checked: two people with one address would share their coins, and void the guarantee.

        Addresses that do not increase are looked at again after the last chunk, so nothing may be released before that.
        """
        row, rising = 0, Rising()
        for chunk in self.chunks(domain):
            if chunk.first_row != row:
                raise self._skips()
            rising.check(chunk.addresses, len(chunk.raw))
            yield chunk
            row += len(chunk.raw)
        if rising.doubtful:
            check_distinct(self.addresses(domain), str(self))

    def _skips(self) -> InvalidInput:
        return InvalidInput(
            f"{self} skips or repeats rows: a chunk does not begin where the last ended. Fix the source."
        )
