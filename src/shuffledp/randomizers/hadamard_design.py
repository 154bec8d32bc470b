"""The Hadamard design: half of the messages belong to a value, a quarter to any two."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.document import Readers, whole
from shuffledp.errors import InvalidInput
from shuffledp.randomizers.structure import Structure, Wholes


@dataclass(frozen=True, slots=True, kw_only=True)
class Hadamard(Structure):
    """Values are the columns of Sylvester's Hadamard matrix but the first, messages its rows, each of the columns where it is -1.

    Legend: K = order, a power of two. H[y, c] = (-1)^|y & c|; value v is column c = v + 1, of -1 in K/2 rows, together with any
    other column in K/4. No row is -1 in all columns: with +1 the first row would be, and would say nothing.
    Reference: ASZ19 (Hadamard response, with one block).
    """

    order: int
    kind = "hadamard"
    readers: ClassVar[Readers] = {"order": whole}

    def __post_init__(self) -> None:
        if type(self.order) is not int or not 4 <= self.order <= 1 << 32 or self.order & (self.order - 1):
            raise InvalidInput(
                f"the order of a Hadamard matrix is a power of two from 4 to 2^32; got {self.order!r}. Use e.g. 1024."
            )

    @classmethod
    def holding(cls, size: int) -> Self:
        """The smallest with so many values."""
        return cls(order=max(4, 1 << size.bit_length()))

    @property
    def values(self) -> int:
        """All columns but the first."""
        return self.order - 1

    @property
    def choices(self) -> int:
        """Half of the rows."""
        return self.order // 2

    @property
    def messages(self) -> int:
        """All rows."""
        return self.order

    @property
    def shared(self) -> int:
        """A quarter of the rows."""
        return self.order // 4

    @property
    def triple(self) -> Fraction:
        """An eighth, but no row if the third column is the product of the two others, as it must be of order 4."""
        return Fraction(self.order // 8, self.order)

    @property
    def label(self) -> str:
        """In words."""
        return f"Hadamard response of order {self.order:,}"

    def member(self, values: NDArray[np.integer], choice: Wholes) -> Wholes:
        """The rows of -1 in the value's column."""
        return rows_of_minus_one(values.astype(np.uint64) + np.uint64(1), choice)

    def totals(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """By the fast Walsh-Hadamard transform: (all - transformed) / 2, in whole numbers."""
        transformed = walsh_hadamard(counts)
        return np.asarray((transformed[0] - transformed[1:]) >> 1)

    def totals_of(self, counts: NDArray[np.int64], values: NDArray[np.integer]) -> NDArray[np.int64]:
        """All values take little longer than one."""
        return np.asarray(self.totals(counts)[values])


def rows_of_minus_one(column: NDArray[np.uint64], choice: Wholes) -> Wholes:
    """The rows with these numbers in which columns other than the first are -1.

    The number says all bits of a row but that of the column's lowest one, which makes their number in common odd.
    """
    lowest = column & (~column + np.uint64(1))
    below = lowest - np.uint64(1)
    number = choice.astype(np.uint64)
    row = ((number & ~below) << np.uint64(1)) | (number & below)
    even = (np.bitwise_count(row & column) & 1) == 0
    return np.where(even, row | lowest, row).astype(np.uint32)


def walsh_hadamard(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sylvester's Hadamard matrix times a vector whose length is a power of two.

    >>> walsh_hadamard(np.array([1, 2, 3, 5])).tolist()
    [11, -3, -5, 1]
    """
    found, half = counts.astype(np.int64), 1
    while half < len(found):
        pairs = found.reshape(-1, 2, half)
        found = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        half *= 2
    return found
