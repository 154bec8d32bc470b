"""The law of the privacy loss of one release, from some points of its curve, in balls.

In s = e^epsilon the true curve is convex, so below the function that is linear between points on or above it and constant
after the last. That function is the curve of the law with the mass s (slope after s - slope before s) at log s. Neighbours
are symmetric: the curve at -epsilon is 1 - e^-epsilon (1 - delta(epsilon)), which turns straight lines into straight lines,
so that the mass at -x is e^-x times that at x. docs/maths/composition.md has the proofs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from flint import arb

from shuffledp.certificates.contour_nodes import Term


@dataclass(frozen=True, slots=True)
class LossLaw:
    """A measure on losses, whose curve is above the true one at every real epsilon.

    Attributes:
        finite: the losses and their masses. (Unlike in a sum of l, no mass is left for 0.)
        infinite: the mass of an infinite loss.
    """

    finite: Term
    infinite: arb


def loss_law(epsilons: Sequence[float], deltas: Sequence[arb]) -> LossLaw:
    """From points of a curve, at increasing epsilons of which the first is 0: whatever is above it there will do."""
    least = accumulate((delta.upper() for delta in deltas), arb.min)  # the true curve decreases
    hull = _lower_hull([(arb(e), arb(e).expm1(), d) for e, d in zip(epsilons, least, strict=True)])
    slopes = [*(_slope(left, right) for left, right in pairwise(hull)), arb(0)]
    # before s = 1 the mirrored line d(0) - slope + slope s, whose slope is d(0) - slope - 1
    losses, masses = [arb(0)], [_mass(2 * slopes[0] + 1 - hull[0][2])]
    for (epsilon, rise, _), (before, after) in zip(hull[1:], pairwise(slopes), strict=True):
        step = _mass(after - before)
        losses += [epsilon, -epsilon]
        masses += [(1 + rise) * step, step]
    return LossLaw(Term(losses, masses), hull[-1][2])


def _mass(mass: arb) -> arb:
    """None instead of less than none: that only adds mass."""
    return mass.max(arb(0))


def _lower_hull(dots: Sequence[tuple[arb, arb, arb]]) -> list[tuple[arb, arb, arb]]:
    """Of (epsilon, e^epsilon - 1, delta) those on the lower convex hull, and the first and the last; any choice is valid."""
    hull: list[tuple[arb, arb, arb]] = []
    for dot in dots:
        while len(hull) > 1 and not _slope(hull[-2], hull[-1]) < _slope(hull[-1], dot):
            hull.pop()
        hull.append(dot)
    return hull


def _slope(left: tuple[arb, arb, arb], right: tuple[arb, arb, arb]) -> arb:
    return (right[2] - left[2]) / (right[1] - left[1])
