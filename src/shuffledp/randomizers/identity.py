"""The simplest structure: a list of values, each its own message."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.core.document import Readers, whole
from shuffledp.randomizers.structure import Structure, Wholes


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity(Structure):
    """Every value is its own and only message."""

    size: int
    kind = "identity"
    readers: ClassVar[Readers] = {"size": whole}

    def __post_init__(self) -> None:
        checks.settle(self, size=checks.size(self.size))

    @property
    def values(self) -> int:
        """As many as are listed."""
        return self.size

    @property
    def messages(self) -> int:
        """As many as values."""
        return self.size

    @property
    def choices(self) -> int:
        """Just one."""
        return 1

    @property
    def shared(self) -> int:
        """None."""
        return 0

    @property
    def triple(self) -> Fraction | None:
        """None, if there are three values."""
        return Fraction(0) if self.size > 2 else None

    @property
    def label(self) -> str:
        """In words."""
        return f"response on {self.size:,} values"

    def member(self, values: NDArray[np.integer], choice: Wholes) -> Wholes:  # noqa: ARG002
        """The value itself."""
        return values.astype(np.uint32)

    @property
    def decoding_memory(self) -> int:
        """The counts are there already."""
        return 0

    def totals(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The counts."""
        return counts

    def totals_of(self, counts: NDArray[np.int64], values: NDArray[np.integer]) -> NDArray[np.int64]:
        """Some of the counts."""
        return np.asarray(counts[values])
