"""Exact sums of doubles: they do not depend on the order or on how the summands are cut into parts."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

_HALF = 27
"""Bits of the upper half of a mantissa; sums of 2^26 halves are whole numbers below 2^53."""
_AT_ONCE = 1 << 26


def exact_sum(values: NDArray[np.float64]) -> Fraction:
    """The sum of finite doubles, exactly.

    >>> exact_sum(np.array([1e100, 1.0, -1e100]))
    Fraction(1, 1)
    """
    total = Fraction(0)
    for start in range(0, len(values), _AT_ONCE):
        mantissas, exponents = np.frexp(values[start : start + _AT_ONCE])
        mantissas *= 2.0**_HALF
        upper = np.floor(mantissas)
        lower = (mantissas - upper) * 2.0 ** (53 - _HALF)
        least = int(exponents.min())
        places = exponents - least
        for part, bits in ((upper, _HALF), (lower, 53)):
            sums = np.bincount(places, weights=part)
            total += sum(
                (Fraction(int(sums[j])) * Fraction(2) ** (least + int(j) - bits) for j in np.flatnonzero(sums)),
                Fraction(0),
            )
    return total
