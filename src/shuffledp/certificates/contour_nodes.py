"""Sums over the nodes of a contour: which nodes are worth summing up, and what those that are left out are at most.

For a law of l, tilted so that it is a probability, phi(y) = E[e^(iyl)] has |phi(y)|^2 = E[cos(y (l - l'))], l' a copy of l.
Its derivative is at most E|(l - l') sin(y (l - l'))| <= min(2 y var(l), sqrt(2 var(l))) in absolute value, so that one value
bounds |phi| on a whole interval, and powers of it, which fade fast, on all nodes in it.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from flint import acb, acb_mat, arb

from shuffledp.certificates.effort import Effort

REACH: Final = 5.0
"""Nodes go that many reciprocal standard deviations of the Gaussian noise out, if not told otherwise."""
_ALWAYS: Final = 24
"""Nodes that are always summed up."""
_FEWEST: Final = 4
"""Nodes in an interval that is worth bounding."""
_LOOK, _NODE = 4, 40
"""What a value of a bound, and a node, take in terms of a sum."""


@dataclass(frozen=True, slots=True)
class Term:
    """The law of l: values with their masses; 0 with the mass that is left."""

    values: Sequence[arb]
    masses: Sequence[arb]
    mass: arb = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "mass", sum(self.masses, arb(0)))

    def positive_part(self) -> arb:
        """What of it is above 0 on average: E[l_+]."""
        return sum((mass * positive(value) for value, mass in zip(self.values, self.masses, strict=True)), arb(0))

    def rise(self, x: arb) -> arb:
        """E[e^(x l)] - 1."""
        return sum((w * (x * v).expm1() for v, w in zip(self.values, self.masses, strict=True)), arb(0))

    def rises(self, x: arb, step: arb, nodes: range) -> list[acb]:
        """E[e^(z_j l)] - 1 at z_j = x + i j step, as a product of two matrices: j is the first, a multiple and a rest."""
        side = math.isqrt(len(nodes) - 1) + 1
        multiples = [
            [
                w * acb(x * v, (nodes.start + k * side) * step * v).exp()
                for v, w in zip(self.values, self.masses, strict=True)
            ]
            for k in range(side)
        ]
        rests = [[acb(0, k * step * v).exp() for k in range(side)] for v in self.values]
        return [entry - self.mass for entry in (acb_mat(multiples) * acb_mat(rests)).entries()[: len(nodes)]]

    @property
    def positive(self) -> bool:
        """Whether l can be positive, by more than is known about it."""
        return any(float(value) > 0 for value in self.values)


class Fading:
    """How phi fades, of a law that is tilted by e^(x l); 0 has the mass `rest` besides.

    Attributes:
        whole: its mass before it was made a probability.
        size: the root of E[l^2], roughly.
        deviation: the standard deviation of l, roughly.
    """

    def __init__(self, law: Term, x: arb, rest: arb) -> None:
        weights = [w * (x * v).exp() for v, w in zip(law.values, law.masses, strict=True)]
        self.whole = sum(weights, rest)
        self._points = [(v, w / self.whole) for v, w in zip(law.values, weights, strict=True)]
        self._rest = rest / self.whole
        mean = sum((w * v for v, w in self._points), arb(0))
        self._square = sum((w * v**2 for v, w in self._points), arb(0))
        self._variance = (self._square - mean**2).max(arb(0))
        self.size, self.deviation = (max(1e-200, math.sqrt(float(v))) for v in (self._square, self._variance))

    def log_size(self, middle: arb, half: arb) -> arb:
        """A bound on log |phi(y)|, |y - middle| <= half."""
        slope = (2 * (middle + half) * self._variance).min((2 * self._variance).sqrt())
        return (abs(self._phi(middle)) ** 2 + half * slope).min(arb(1)).log() / 2

    def real_part(self, middle: arb, half: arb) -> arb:
        """A bound on the real part of phi(y) - 1: its derivative is at most E|l sin(y l)|."""
        slope = ((middle + half) * self._square).min(self._square.sqrt())
        return (self._phi(middle).real - 1 + half * slope).min(arb(0))

    def _phi(self, y: arb) -> acb:
        return sum((w * acb(0, y * v).exp() for v, w in self._points), acb(self._rest))


@dataclass(frozen=True, slots=True)
class Nodes:
    """Those j >= 0 that are summed up.

    Attributes:
        ranges: which.
        left: a bound on the sum over all other j > 0 of |M(z) / M(x)| e^(-(t y)^2 / 2) / y^2.
        complete: whether all are summed up until the Gaussian noise has faded.
    """

    ranges: Sequence[range]
    left: arb
    complete: bool


def worth_summing(
    most: Callable[[arb, arb], arb],
    smooth: arb,
    step: arb,
    widest: float,
    negligible: float,
    effort: Effort,
    values: int,
    reach: float = REACH,
) -> Nodes:
    """The nodes that are worth it.

    `most` bounds log |M(z) / M(x)| on an interval of y, given by its middle and half its width; intervals are no wider than
    `widest`, and dispensed with if their sum is at most `negligible`. None is looked at that is farther out than `reach`
    reciprocal standard deviations of the Gaussian noise: these are charged by what the noise leaves of them. So many `values`
    are summed up at each node.
    """
    last = math.ceil(reach / float(smooth * step))
    left, ranges = _beyond(smooth, step, last), [range(min(_ALWAYS, last) + 1)]
    for nodes in _intervals(ranges[0].stop, last + 1, widest / float(step)):
        low, high = nodes.start * step, (nodes.stop - 1) * step
        charged = None
        if len(nodes) >= _FEWEST:
            effort.spend(_LOOK * values)
            charged = len(nodes) * (most((low + high) / 2, (high - low) / 2) - (smooth * low) ** 2 / 2).exp() / low**2
        if charged is not None and charged <= negligible:
            left += charged
        elif ranges[-1].stop == nodes.start:
            ranges[-1] = range(ranges[-1].start, nodes.stop)
        else:
            ranges.append(nodes)
    count = sum(map(len, ranges))
    effort.spend(count * (values + _NODE))
    return Nodes(ranges, left, complete=count == last + 1)


def _intervals(start: int, stop: int, widest: float) -> Iterator[range]:
    """Wider and wider ones, as the bound on the slope falls behind what has faded."""
    while start < stop:
        end = min(stop, start + max(1, min(start // 4, int(widest))))
        yield range(start, end)
        start = end


def _beyond(smooth: arb, step: arb, last: int) -> arb:
    """The sum over j > last of e^(-(t y_j)^2 / 2) / y_j^2: at most a geometric series."""
    y = (last + 1) * step
    return (-((smooth * y) ** 2) / 2).exp() / (1 - (-(smooth**2) * step * y).exp()) / y**2


def least(height: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that falls and rises again is least, by golden section."""
    golden = (math.sqrt(5) - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = height(left), height(right)
    while high - low > 1e-3:
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = height(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = height(right)
    return (low + high) / 2


def positive(value: arb) -> arb:
    """The positive part, of a ball."""
    if value <= 0:
        return arb(0)
    return value if value >= 0 else value.max(arb(0))
