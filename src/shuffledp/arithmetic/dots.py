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
