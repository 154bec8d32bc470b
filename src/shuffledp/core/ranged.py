"""Numbers that are known to be in a range, so that millions of them are not read once more to see it."""

import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


class Ranged(np.ndarray[Any, np.dtype[np.float64]]):
    """Doubles from `low` to `high`. Nothing is known of what is made of them, parts and copies included.

    >>> numbers = Ranged.of(np.array([0.5, 1.0]), 0.0, 1.0)
    >>> numbers.known_within(0.0, 1.0), numbers[:1].known_within(0.0, 1.0)
    (True, False)
    """

    low: float = math.nan
    high: float = math.nan

    @classmethod
    def of(cls, values: NDArray[np.float64], low: float, high: float) -> Self:
        """These values, which whoever calls this has looked at, and which nobody changes before they are rounded."""
        ranged = values.view(cls)
        ranged.low, ranged.high = low, high
        return ranged

    def known_within(self, low: float, high: float) -> bool:
        """Whether it was this very range."""
        return self.low == low and self.high == high
