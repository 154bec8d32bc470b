"""The whole numbers below a size."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.core.document import Document, fields, whole
from shuffledp.domains.columns import numbers, whole_numbers
from shuffledp.domains.domain import Mask
from shuffledp.domains.listed import Lookup


@dataclass(frozen=True, slots=True)
class WholeNumbers(Lookup):
    """One of 0 ... below - 1.

    >>> WholeNumbers(3).clean([2, 0]).values.tolist()
    [2, 0]
    """

    below: int
    kind = "whole-numbers"

    def __post_init__(self) -> None:
        checks.settle(self, below=checks.size(self.below))

    @property
    def size(self) -> int:
        """How many there are."""
        return self.below

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(str(j) for j in range(self.size))

    def samples(self) -> list[int]:
        return list(range(min(5, self.size)))

    def _find(self, raw: Any, first_row: int | None) -> tuple[NDArray[np.integer], Mask | None, Mask | None]:
        given = whole_numbers(raw)
        if given is not None:
            inside = len(given) == 0 or (given.min() >= 0 and given.max() < self.size)
            return given, None if inside else (given < 0) | (given >= self.size), None
        read = numbers(raw, first_row)
        missing = np.isnan(read)
        unknown = ~missing & ~((read >= 0) & (read < self.size) & (np.floor(read) == read))
        symbols = np.where(missing | unknown, 0, read).astype(np.int64)
        return symbols, unknown, missing if missing.any() else None

    def document(self) -> Document:
        """How many there are."""
        return {"kind": self.kind, "size": self.size}

    @classmethod
    def from_document(cls, document: object) -> Self:
        return cls(fields(document, cls.kind, size=whole)["size"])
