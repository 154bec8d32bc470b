"""The waist of the data path: a shuffled batch of finite messages *is* its counts."""

from dataclasses import dataclass, field
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.errors import InvalidInput

_MANY: Final = 1 << 14
"""Bytes from which it takes less time to count several at once."""
_MOST_DIGITS: Final = 8
"""Bytes counted at once."""
_PER_COUNTER: Final = 16
"""Bytes for each counter, so that adding up the counters takes little of the time."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How often each message occurred. A monoid: counts of parts add up to the counts of the whole."""

    values: NDArray[np.int64] = field(repr=False)

    def __post_init__(self) -> None:
        if self.values.ndim != 1 or self.values.dtype != np.int64 or (self.values < 0).any():
            raise InvalidInput(
                "counts are a one-dimensional array of non-negative int64. Use Counts.of(messages, size)."
            )

    @classmethod
    def of(cls, messages: NDArray[Any], size: int) -> Self:
        """Count messages 0 ... size - 1; any other is refused."""
        array = np.asarray(messages)
        if array.dtype == np.uint8:
            counts = _bytes(array, min(size, 256))
            if counts[size:].any():
                raise InvalidInput(f"a message is outside 0..{size - 1}. It belongs to another protocol.")
            counts = np.concatenate([counts, np.zeros(max(0, size - len(counts)), dtype=np.int64)])[:size]
        else:
            counts = np.bincount(checks.symbols(array, size), minlength=size)
        return cls(counts.astype(np.int64, copy=False))

    @classmethod
    def none(cls, size: int) -> Self:
        """The counts of an empty batch."""
        return cls(np.zeros(checks.size(size), dtype=np.int64))

    @property
    def total(self) -> int:
        """How many messages there are."""
        return int(self.values.sum())

    @property
    def size(self) -> int:
        """Number of possible messages."""
        return len(self.values)

    def __add__(self, other: Self) -> Self:
        if self.size != other.size:
            raise InvalidInput(
                f"counts of {self.size} and {other.size} messages cannot be added. They belong to different protocols."
            )
        return type(self)(self.values + other.values)


def _bytes(array: NDArray[np.uint8], size: int) -> NDArray[np.int64]:
    """How often each byte occurs: numpy counts several at once in the time of one.

    One from each part of the array, together a number in base `size`, where no byte is `size` or more.
    """
    if array.ndim != 1 or len(array) < _MANY or array.max() >= size:
        return np.bincount(array, minlength=256)
    digits = 2
    while digits < _MOST_DIGITS and size ** (digits + 1) <= min(1 << 16, len(array) // _PER_COUNTER):
        digits += 1
    part = len(array) // digits
    numbers = array[:part].astype(np.uint16)
    for j in range(1, digits):
        numbers *= np.uint16(size)
        numbers += array[j * part : (j + 1) * part]
    joint = np.bincount(numbers, minlength=size**digits).reshape((size,) * digits)
    counts: NDArray[np.int64] = np.bincount(array[digits * part :], minlength=size)
    for j in range(digits):
        counts += joint.sum(axis=tuple(other for other in range(digits) if other != j))
    return counts
