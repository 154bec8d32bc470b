"""Where people's values come from: pieces of raw columns whose rows have addresses."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.words import Words
from shuffledp.domains.domain import Domain
from shuffledp.engines.addresses import Rising, check_distinct
from shuffledp.errors import InvalidInput

NOBODY = np.empty(0, dtype=np.int64)


class Piece(NamedTuple):
    """Consecutive rows.

    Attributes:
        raw: their values, in a list, an array or an Arrow column.
        first_row: the number of the first, which is its address unless rows have addresses of their own. A row's randomness
            is that of its address.
        leave_out: indices in this piece of rows that are more than their person may have.
        share: of the source that is read with it, for progress bars.
        addresses: of the rows, distinct in the whole source, if they are other than their numbers.
    """

    raw: Any
    first_row: int
    leave_out: NDArray[np.int64] = NOBODY
    share: float = 1.0
    addresses: Words | None = None


class Part(NamedTuple):
    """Consecutive rows that can be read by themselves, whatever becomes of the others.

    Attributes:
        first_row: the number of the first.
        rows: how many there are.
        read: reads them, piece by piece.
        share: of the source that is read with it.
    """

    first_row: int
    rows: int
    read: Callable[[], Iterator[Piece]]
    share: float = 1.0

    def pieces(self) -> Iterator[Piece]:
        """Its pieces, checked as those of a source are."""
        row = self.first_row
        for piece in self.read():
            if piece.first_row != row:
                break
            yield piece
            row += len(piece.raw)
        if row != self.first_row + self.rows:
            raise InvalidInput("a part of the rows is not as long as it was said to be. Check the files.")


class Source(ABC):
    """People's values. Engines read it by `consecutive` or `consecutive_parts` only."""

    rows_per_person: int = 1
    """The most rows of one person that take part."""
    knows_people: bool = False
    """Whether it was checked whose row is whose."""
    in_file: bool = False
    """Whether rows have numbers that mean something to whoever reads an error."""

    is_query: bool = False
    """Whether the values are answers to a query, whose author may want to learn about one person."""

    @abstractmethod
    def pieces(self, domain: Domain) -> Iterator[Piece]:
        """All rows in their order, the same at every call."""

    @abstractmethod
    def __str__(self) -> str:
        """A name for errors."""

    def identity(self) -> object:
        """Something that is another one if the rows were replaced meanwhile, as far as that can be told."""
        return None

    def addresses(self, domain: Domain) -> Iterator[Words]:
        """Those of all pieces, where rows have addresses of their own."""
        return (piece.addresses for piece in self.pieces(domain) if piece.addresses is not None)

    def parts(self, domain: Domain) -> Iterator[Part]:
        """The rows in parts that several may read at once: the checked pieces, unless a source knows better."""
        for piece in self.consecutive(domain):
            yield Part(piece.first_row, len(piece.raw), partial(iter, (piece,)), piece.share)

    def consecutive_parts(self, domain: Domain) -> Iterator[Part]:
        """The parts, checked: rows in two of them would have the same addresses."""
        row = 0
        for part in self.parts(domain):
            if part.first_row != row:
                raise self._skips()
            yield part
            row += part.rows

    def consecutive(self, domain: Domain) -> Iterator[Piece]:
        """The pieces, checked: two people with one address would share their coins, and void the guarantee.

        Addresses that do not increase are looked at again after the last piece, so nothing may be released before that.
        """
        row, rising = 0, Rising()
        for piece in self.pieces(domain):
            if piece.first_row != row:
                raise self._skips()
            rising.check(piece.addresses, len(piece.raw))
            yield piece
            row += len(piece.raw)
        if rising.doubtful:
            check_distinct(self.addresses(domain), str(self))

    def _skips(self) -> InvalidInput:
        return InvalidInput(
            f"{self} skips or repeats rows: a piece does not begin where the last ended. Fix the source."
        )
