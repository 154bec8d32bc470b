"""Messages of people who do not all send equally many."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


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

    def of_row(self, row: int) -> NDArray[np.unsignedinteger]:
        """The messages of one row."""
        start = int(self.each[:row].sum())
        return self.values[start : start + int(self.each[row])]
