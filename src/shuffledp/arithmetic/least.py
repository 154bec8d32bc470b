"""Where a cost that falls and then rises is least."""

import math
from collections.abc import Callable


def least_integer(cost: Callable[[int], float], among: range) -> int:
    """The positive whole number near a range where a cost that falls and then rises is least: golden section on the logarithm.

    The cost of a precision falls (less rounding error) and then rises (more blanket). One below the range is tried too.

    >>> least_integer(lambda k: (k - 37) ** 2, range(2, 1000))
    37
    """
    left, right = math.log(among.start), math.log(among.stop - 1)
    ratio = (math.sqrt(5) - 1) / 2
    while math.exp(right) - math.exp(left) > 2:
        first, second = (round(math.exp(x)) for x in (right - ratio * (right - left), left + ratio * (right - left)))
        if cost(first) <= cost(second):
            right = left + ratio * (right - left)
        else:
            left = right - ratio * (right - left)
    around = range(max(1, math.floor(math.exp(left)) - 1), math.ceil(math.exp(right)) + 2)
    return min(around, key=cost)
