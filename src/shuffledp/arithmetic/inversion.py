"""Safe-side inversion: the extreme argument at which a condition still provably holds.

Doubles are searched through their bit patterns, which are ordered like the doubles themselves: at most 64
evaluations separate any two of them, so the answer is exact to the last bit, not to a tolerance.
"""

import struct
from collections.abc import Callable


def first_integer(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The least integer in (low, high] at which a monotone condition holds.

    `holds(high)` must be true and `holds(low)` is taken to be false; neither is evaluated again. Whatever the
    condition's shape, the returned argument is one at which it was seen to hold (or `high`).
    """
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle
    return high


def first_double(holds: Callable[[float], bool], low: float, high: float) -> float:
    """`first_integer` over the non-negative doubles in (low, high].

    >>> first_double(lambda x: x * x >= 2, 1.0, 2.0)
    1.4142135623730951
    """
    return _double(first_integer(lambda pattern: holds(_double(pattern)), _pattern(low), _pattern(high)))


def last_double(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The greatest double in [low, high) at which a condition that holds at `low` but not at `high` holds."""
    mirrored = first_integer(lambda pattern: holds(_double(-pattern)), -_pattern(high), -_pattern(low))
    return _double(-mirrored)


def _pattern(value: float) -> int:
    """The bit pattern of a non-negative double as an integer: an order-preserving bijection."""
    pattern: int = struct.unpack("<q", struct.pack("<d", value))[0]
    return pattern


def _double(pattern: int) -> float:
    value: float = struct.unpack("<d", struct.pack("<q", pattern))[0]
    return value
