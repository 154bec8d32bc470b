"""Where people's values come from: pieces of raw columns whose rows have addresses."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.domains.domain import Domain
from shuffledp.errors import InvalidInput

NOBODY = np.empty(0, dtype=np.int64)


class Piece(NamedTuple):
    """Consecutive rows.

    Attributes:
        raw: their values, in a list, an array or an Arrow column.
        first_row: the address of the first; a row's randomness is that of its address.
        leave_out: indices in this piece of rows that are more than their person may have.
        share: of the source that is read with it, for progress bars.
    """

    raw: Any
    first_row: int
    leave_out: NDArray[np.int64] = NOBODY
    share: float = 1.0


class Source(ABC):
    """People's values. Engines read it by `consecutive` only."""

    rows_per_person: int = 1
    """The most rows of one person that take part."""
    knows_people: bool = False
    """Whether it was checked whose row is whose."""
    in_file: bool = False
    """Whether rows have numbers that mean something to whoever reads an error."""

    @abstractmethod
    def pieces(self, domain: Domain) -> Iterator[Piece]:
        """All rows in their order, the same at every call."""

    @abstractmethod
    def __str__(self) -> str:
        """A name for errors."""

    def consecutive(self, domain: Domain) -> Iterator[Piece]:
        """The pieces, checked: two people with one address would share their coins, and void the guarantee."""
        row = 0
        for piece in self.pieces(domain):
            if piece.first_row != row:
                raise InvalidInput(
                    f"{self} skips or repeats rows: a piece does not begin where the last ended. Fix the source."
                )
            yield piece
            row += len(piece.raw)
