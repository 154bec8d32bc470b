"""Messages of people who do not all send equally many."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.counts import Counts


@dataclass(frozen=True, slots=True)
class Ragged:
    """Some messages for each row.

    Attributes:
        values: the messages of the first row, then those of the second, ...
        each: how many a row has.

    >>> Ragged(np.array([7, 8, 9]), np.array([2, 1])).of_row(0).tolist()
    [7, 8]
    >>> Ragged(np.array([7, 8, 9]), np.array([2, 1]))[np.array([1, 0])].values.tolist()
    [9, 7, 8]
    """

    values: NDArray[np.unsignedinteger] = field(repr=False)
    each: NDArray[np.integer[Any]] = field(repr=False)

    @classmethod
    def around(cls, first: NDArray[np.unsignedinteger], rows: NDArray[np.intp], others: NDArray[np.uint32]) -> Self:
        """One message of each row, and after it those of some rows, which are in order.

        >>> Ragged.around(np.array([7, 8]), np.array([0, 0]), np.array([1, 2])).values.tolist()
        [7, 1, 2, 8]
        """
        each = np.bincount(rows, minlength=len(first)) + 1
        starts = np.cumsum(each) - each
        found = np.empty(len(first) + len(others), dtype=np.uint32)
        found[starts] = first
        found[starts[rows] + 1 + np.arange(len(rows)) - np.searchsorted(rows, rows)] = others
        return cls(found, each)

    @classmethod
    def beside(cls, parts: Sequence[Self]) -> Self:
        """The messages of each row in all parts, one part after the other.

        >>> first, second = Ragged(np.array([1, 2, 3]), np.array([2, 1])), Ragged(np.array([8, 9]), np.array([1, 1]))
        >>> Ragged.beside([first, second]).values.tolist()
        [1, 2, 8, 3, 9]
        """
        if len(parts) == 1:
            return parts[0]
        each = np.zeros(len(parts[0]), dtype=np.int64)
        for part in parts:
            each += part.each
        found = np.empty(
            sum(len(part.values) for part in parts), dtype=np.result_type(*(part.values for part in parts))
        )
        starts = np.cumsum(each) - each
        for part in parts:
            own = np.cumsum(part.each) - part.each
            found[np.repeat(starts - own, part.each) + np.arange(len(part.values))] = part.values
            starts += part.each
        return cls(found, each)

    def __len__(self) -> int:
        return len(self.each)

    def __getitem__(self, rows: NDArray[np.bool_] | NDArray[np.integer[Any]] | slice) -> Self:
        """Some of the rows, by mark or by number."""
        if not isinstance(rows, np.ndarray | slice):
            raise TypeError(
                "rows are chosen by an array or a slice"
            )  # else numpy would take this for a list of numbers
        each = self.each.astype(np.int64)
        starts, chosen = (np.cumsum(each) - each)[rows], each[rows]
        before = np.cumsum(chosen) - chosen
        places = np.repeat(starts - before, chosen) + np.arange(int(chosen.sum()))
        return type(self)(self.values[places], self.each[rows])

    def counts(self, size: int) -> NDArray[np.int64]:
        """How often each message below this number occurs; any other is refused."""
        return Counts.of(self.values, size).values

    def of_row(self, row: int) -> NDArray[np.unsignedinteger]:
        """The messages of one row."""
        start = int(self.each[:row].sum())
        return self.values[start : start + int(self.each[row])]
