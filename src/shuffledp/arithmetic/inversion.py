"""Safe-side inversion: the extreme argument at which a condition still provably holds.

Doubles are searched through their bit patterns, which are ordered like the doubles themselves: at most 64
evaluations separate any two of them, so the answer is exact to the last bit, not to a tolerance.
"""

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal


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


def first_real(holds: Callable[[float], bool], low: float, high: float, *, precision: float) -> float:
    """`first_integer` over the positive reals in (low, high], to a relative precision.

    >>> first_real(lambda x: x * x >= 2, 1.0, 2.0, precision=0.01)
    1.421875
    """
    while high > low * (1 + precision):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """An interval of positive numbers and the end towards which a condition comes to hold."""

    low: float
    high: float
    towards: Literal["smaller", "larger"]
    whole: bool = False

    def mirrored(self) -> "Search":
        """The same interval for the opposite condition."""
        return replace(self, towards="smaller" if self.towards == "larger" else "larger")


def search(margin: Callable[[float], float], axis: Search, start: float, precision: float) -> float | None:
    """The extreme point at which a monotone condition, margin(x) <= 0, holds, from few evaluations; None if nowhere.

    From `start` it steps outward to bracket the change and closes in by regula falsi on the logarithm of x
    (Illinois). The returned point is one at which the condition was seen to hold; the one before it, within the
    relative precision, did not.
    """
    far, near = (axis.high, axis.low) if axis.towards == "larger" else (axis.low, axis.high)
    up = axis.towards == "larger"

    def snap(x: float) -> float:
        x = min(max(x, axis.low), axis.high)
        return (math.ceil(x) if up else math.floor(x)) * 1.0 if axis.whole else x

    x = snap(start if start > 0 else far)
    value = margin(x)
    good, bad = ((x, value), None) if value <= 0 else (None, (x, value))
    factor = 1.3
    while good is None or bad is None:
        edge = near if bad is None else far
        if x == edge:
            if edge == 0.0 and bad is None:
                return 0.0
            return None if good is None else good[0]
        x = snap(x * factor if (bad is not None) == up else x / factor)
        if edge == 0.0 and x < 1e-300:
            x = 0.0
        factor *= factor
        value = margin(x)
        if value <= 0:
            good = (x, value)
        else:
            bad = (x, value)
    weights = [good[1], bad[1]]
    last: bool | None = None
    for _ in range(100):
        if abs(good[0] - bad[0]) <= precision * max(good[0], bad[0]) or (axis.whole and abs(good[0] - bad[0]) <= 1):
            break
        x = snap(_between(good[0], bad[0], weights[0], weights[1], precision))
        if x in (good[0], bad[0]):
            x = snap(0.5 * (good[0] + bad[0]))
            if x in (good[0], bad[0]):
                break
        value = margin(x)
        holds = value <= 0
        good, bad = ((x, value), bad) if holds else (good, (x, value))
        if last is holds:  # the other end has not moved: pull the secant towards it (Illinois)
            weights[1 if holds else 0] /= 2
        weights[0 if holds else 1] = value
        last = holds
    return good[0]


def _between(good: float, bad: float, at_good: float, at_bad: float, precision: float) -> float:
    """Where the secant crosses zero in log x; a step of the precision past an end that is that close already."""
    if good == 0 or bad == 0:
        return 0.5 * (good + bad)
    middle = math.sqrt(good) * math.sqrt(bad)
    if not math.isfinite(at_good) or not math.isfinite(at_bad):
        return middle
    share = at_bad / (at_bad - at_good) if at_bad > at_good else 0.5
    step = math.log(good / bad)
    close = 0.9 * precision / abs(step)
    if close >= 0.5:
        return middle
    return bad * math.exp(step * min(1 - close, max(close, share)))


def _pattern(value: float) -> int:
    """The bit pattern of a non-negative double as an integer: an order-preserving bijection."""
    pattern: int = struct.unpack("<q", struct.pack("<d", value))[0]
    return pattern


def _double(pattern: int) -> float:
    value: float = struct.unpack("<d", struct.pack("<q", pattern))[0]
    return value
