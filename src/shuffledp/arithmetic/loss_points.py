"""From points of a privacy curve to a law of the loss whose curve is nowhere below it, or nowhere above it.

A curve D(epsilon) is convex and decreasing in s = e^epsilon, from 1 at s = 0. The function that is linear between
points of it is the curve of the law with mass s (slope after s - slope before s) at log s, and its limit at infinity.
docs/maths/composition.md has the proofs.
"""

import math
from collections.abc import Sequence
from typing import Final

from flint import arb, ctx, fmpz

from shuffledp.arithmetic.loss import LossLaw, ceiled, floored

Dot = tuple[arb, arb]
"""s and a value there."""
Ends = tuple[float, float]
"""A lower and an upper end."""
_GUARD: Final = 96
_BITS_OF_E: Final = 1.4427
"""log2(e), rounded up."""


def dominating(points: Sequence[int], deltas: Sequence[float], *, step: float, bits: int, spare: int) -> LossLaw:
    """A law whose curve is at least D everywhere, from D <= deltas at epsilon = points * step, points = 0 < ... .

    D(-epsilon) = 1 - e^-epsilon (1 - D(epsilon)), as for a supremum over ordered pairs of neighbours. D is below
    the chords between any of the points, and after the last one below its value there. Negative masses are counted as none.
    """
    with ctx.workprec(_precision(points, step, bits)):
        dots = [(-k, _mirrored(k * arb(step), arb(delta))) for k, delta in zip(points, deltas, strict=True) if k][::-1]
        dots += [(k, arb(delta)) for k, delta in zip(points, deltas, strict=True)]
        placed = [(k, ((k * arb(step)).exp(), value)) for k, value in dots]
        kept = _lower_hull(placed)
        masses = _masses(arb(1), kept, bits, upper=True)
        infinite = int(ceiled(kept[-1][1][1] * arb(2) ** bits))
    return LossLaw(
        upper=True,
        bits=bits,
        spare=spare,
        step=step,
        first=kept[0][0],
        masses=tuple(max(mass, fmpz(0)) for mass in masses),
        infinite=infinite,
    ).trimmed()


def dominated(
    points: Sequence[int], ahead: Sequence[Ends], behind: Sequence[Ends], *, step: float, bits: int, spare: int
) -> LossLaw:
    """A law whose curve is at most D everywhere, from both ends of D at epsilon = -points * step and points * step.

    `ahead` encloses D(epsilon), and `behind` encloses D(-epsilon) - (1 - e^-epsilon), both of the same two distributions. D is
    convex in s, so between two points it is above the lines through those before and those after. The chords are lowered by as
    much as they are above these lines.
    """
    with ctx.workprec(_precision(points, step, bits)):
        sides = [(k, 1 - (-k * arb(step)).exp(), ends) for k, ends in zip(points, behind, strict=True) if k][::-1]
        sides = [(-k, base, ends) for k, base, ends in sides]
        sides += [(k, arb(0), ends) for k, ends in zip(points, ahead, strict=True)]
        at = [(k * arb(step)).exp() for k, _, _ in sides]
        low = [(s, base + ends[0]) for s, (_, base, ends) in zip(at, sides, strict=True)]
        high = [(s, base + ends[1]) for s, (_, base, ends) in zip(at, sides, strict=True)]
        above = [_above(low, high, i) for i in range(len(at) - 1)]
        lowered = [(s, (value - _greatest(above[max(0, i - 1) : i + 1])).lower()) for i, (s, value) in enumerate(low)]
        lowered[0] = (at[0], _least(lowered[0][1], (1 - at[0]).lower()))
        last = max((i for i in range(len(at)) if all(value >= 0 for _, value in lowered[: i + 1])), default=0)
        if not last:
            return _nothing(step, bits, spare)
        lowered[last] = (at[last], arb(0))
        kept = _lower_hull([(sides[i][0], lowered[i]) for i in range(last + 1)])
        masses = _masses(arb(1), kept, bits, upper=False)
    return LossLaw(
        upper=False, bits=bits, spare=spare, step=step, first=kept[0][0], masses=tuple(_settled(masses))
    ).trimmed()


def _above(low: Sequence[Dot], high: Sequence[Dot], i: int) -> arb:
    """By how much the chord from point i to the next may be above the curve between them, at the most."""
    left, right = low[i], low[i + 1]
    before = (high[i - 1], left) if i else ((arb(0), arb(1)), (arb(1), arb(0)))
    after = (right, high[i + 2]) if i + 2 < len(low) else ((arb(0), arb(0)), (arb(1), arb(0)))
    falls, rises = _slope(*before), _slope(*after)
    meet = (_on(after, arb(0)) - _on(before, arb(0))) / (falls - rises)
    if not (meet > left[0] and meet < right[0]):
        meet = (left[0] + right[0]) / 2
    meet, chord = meet.mid(), (left, right)
    gaps = [_on(chord, s) - _on(before, s) for s in (left[0], meet)]
    gaps += [_on(chord, s) - _on(after, s) for s in (meet, right[0])]
    return _greatest(gaps)


def _on(line: tuple[Dot, Dot], s: arb) -> arb:
    """The value of the line through two dots."""
    return line[1][1] + _slope(*line) * (s - line[1][0])


def _greatest(balls: Sequence[arb]) -> arb:
    """Not below any of them, nor below 0."""
    greatest = arb(0)
    for ball in balls:
        greatest = greatest.max(ball.upper())
    return greatest


def _least(first: arb, second: arb) -> arb:
    return first.min(second)


def _settled(masses: Sequence[fmpz]) -> list[fmpz]:
    """Masses below 0, which only rounding makes, are paid for by those at larger losses."""
    owed, settled = fmpz(0), []
    for mass in masses:
        left = mass + owed
        owed = min(left, fmpz(0))
        settled.append(max(left, fmpz(0)))
    return settled if owed == 0 else [fmpz(0)]


def _nothing(step: float, bits: int, spare: int) -> LossLaw:
    """The law without mass."""
    return LossLaw(upper=False, bits=bits, spare=spare, step=step, first=0, masses=(fmpz(0),))


def _precision(points: Sequence[int], step: float, bits: int) -> int:
    """Enough for second differences of values next to 1 at s = e^-(points * step)."""
    return bits + _GUARD + 4 * abs(math.frexp(step)[1]) + int(3 * points[-1] * step * _BITS_OF_E)


def _mirrored(epsilon: arb, delta: arb) -> arb:
    """The curve of the reverse pair at -epsilon."""
    return 1 - (-epsilon).exp() * (1 - delta)


def _lower_hull(dots: Sequence[tuple[int, Dot]]) -> list[tuple[int, Dot]]:
    """Those on the lower convex hull with (0, 1), and any that cannot be told from it: what is certainly above is left out."""
    hull: list[tuple[int, Dot]] = [(0, (arb(0), arb(1)))]
    for index, dot in dots:
        while len(hull) > 1 and _slope(hull[-2][1], hull[-1][1]) >= _slope(hull[-1][1], dot):
            hull.pop()
        hull.append((index, dot))
    return hull[1:]


def _slope(left: Dot, right: Dot) -> arb:
    return (right[1] - left[1]) / (right[0] - left[0])


def _masses(start: arb, kept: Sequence[tuple[int, Dot]], bits: int, *, upper: bool) -> list[fmpz]:
    """The masses of the function through (0, start) and these dots, constant after the last, from the first dot on."""
    masses = [fmpz(0)] * (kept[-1][0] - kept[0][0] + 1)
    before = _slope((arb(0), start), kept[0][1])
    for i, (index, dot) in enumerate(kept):
        after = _slope(dot, kept[i + 1][1]) if i + 1 < len(kept) else arb(0)
        mass = dot[0] * (after - before) * arb(2) ** bits
        masses[index - kept[0][0]] = ceiled(mass) if upper else floored(mass)
        before = after
    return masses
