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
        """This interval for the opposite condition, which holds towards the other end."""
        return replace(self, towards="smaller" if self.towards == "larger" else "larger")


def search(
    margin: Callable[[float], float], axis: Search, start: float, precision: float, *, steepness: float = 0.0,
    close: float = 0.0,
) -> float | None:  # fmt: skip
    """The extreme point at which a monotone condition, margin(x) <= 0, holds, from few evaluations; None if nowhere.

    The returned point is one at which the condition was seen to hold; the one before it, within the relative precision, did not.
    From `start` it steps outward until it has seen both, and closes in from both sides (`_between`).

    Args:
        margin: at most 0 where the condition holds.
        axis: where to look.
        start: a guess.
        precision: relative distance of the two points in the end.
        steepness: a guess of how much the margin changes with log x, for the first step; 0: unknown.
        close: a margin that is not below 0 by more than this is good enough, however far the other point is.
    """
    far, near = (axis.high, axis.low) if axis.towards == "larger" else (axis.low, axis.high)
    up = axis.towards == "larger"

    def snap(x: float) -> float:
        x = min(max(x, axis.low), axis.high)
        return (math.ceil(x) if up else math.floor(x)) * 1.0 if axis.whole else x

    x = snap(start if start > 0 else far)
    seen = [(x, margin(x))]
    good, bad = (seen[0], None) if seen[0][1] <= 0 else (None, seen[0])
    reach = math.log(1.3)
    while good is None or bad is None:
        if good is not None and good[1] > -close:
            return good[0]
        edge = near if bad is None else far
        if x == edge:
            if edge == 0.0 and bad is None:
                return 0.0
            return None if good is None else good[0]
        step = min(reach, max(_missing(seen, steepness, close), precision))
        reach *= 2
        outward = 1 if (bad is not None) == up else -1
        x = snap(x * math.exp(outward * step)) if not axis.whole or x * step > 1 else snap(x + outward)
        if edge == 0.0 and x < 1e-300:
            x = 0.0
        seen.append((x, margin(x)))
        good, bad = (seen[-1], bad) if seen[-1][1] <= 0 else (good, seen[-1])
    widths = [math.inf] * 3
    for _ in range(100):
        width = abs(good[0] - bad[0])
        if good[1] > -close or width <= precision * max(good[0], bad[0]) or (axis.whole and width <= 1):
            break
        falls = width < 0.5 * widths[-3]
        x = (_between(good[0], bad[0], seen, precision) if falls else None) or math.sqrt(good[0]) * math.sqrt(bad[0])
        if snap(x) in (good[0], bad[0]):
            x = 0.5 * (good[0] + bad[0])
            if snap(x) in (good[0], bad[0]):
                break
        x = snap(x)
        widths.append(width)
        seen.append((x, margin(x)))
        good, bad = (seen[-1], bad) if seen[-1][1] <= 0 else (good, seen[-1])
    return good[0]


def _missing(seen: list[tuple[float, float]], steepness: float, close: float) -> float:
    """How far in log x the last point is from beyond where the margin would be zero, or from where it would be close enough.

    Infinite if that is not known.
    """
    x, value = seen[-1]
    if len(seen) > 1:
        before, its = seen[-2]
        steepness = (
            abs(value - its) / abs(math.log(x / before)) if min(x, before) > 0 and abs(value) < abs(its) else 0.0
        )
    if not steepness > 0:
        return math.inf
    return abs(value + close / 2) / steepness if close else 1.1 * (abs(value) / steepness)


def _between(good: float, bad: float, seen: list[tuple[float, float]], precision: float) -> float | None:
    """Where to look next: the zero of a parabola through the last points, in log x, moved past the farther end's side of it.

    So the next margin has the other sign even if that zero is a little off, and both ends come close. None: it leads nowhere.
    """
    points = [(math.log(x), value) for x, value in seen[-3:] if x > 0 and math.isfinite(value)]
    if min(good, bad) == 0 or len({at for at, _ in points}) < max(2, len(points)) or points[-1][1] == points[-2][1]:
        return None
    low, high = math.log(min(good, bad)), math.log(max(good, bad))
    (b, at_b), (c, at_c) = points[-2:]
    slope = (at_c - at_b) / (c - b)
    root = c - at_c / slope
    off = abs(root - b) * abs(root - c)  # about the error of a secant
    if len(points) == 3:
        a, at_a = points[0]
        bend = (slope - (at_b - at_a) / (b - a)) / (c - a) * (root - b) * (root - c) / slope
        if abs(bend) < abs(root - c):
            root, off = root - bend, 0.2 * abs(bend)
    if not low < root < high:
        return None
    if high - root > root - low:
        x = low + 0.9 * precision if root - low + off < 0.8 * precision else root + off + 0.3 * precision
    else:
        x = high - 0.9 * precision if high - root + off < 0.8 * precision else root - off - 0.3 * precision
    return math.exp(x) if low < x < high else None


def _pattern(value: float) -> int:
    """The bit pattern of a non-negative double as an integer: an order-preserving bijection."""
    pattern: int = struct.unpack("<q", struct.pack("<d", value))[0]
    return pattern


def _double(pattern: int) -> float:
    value: float = struct.unpack("<d", struct.pack("<q", pattern))[0]
    return value
