"""Additive noise on [0, 1]: the inputs 0 and 1, cut into cells of their log-likelihood ratio.

With v(y) = log(mu_0(y) / mu_1(y)) and eta = min(mu_0, mu_1), (mu_0 / eta, mu_1 / eta) is (e^v, 1) where v >= 0 and (1, e^-v)
where v <= 0. Within a cell the point moves on a segment; moving the cell's mass to the two ends of it, keeping its mean, makes
l larger in convex order at every epsilon.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from flint import arb, ctx

from shuffledp.certificates.law import Law, Pair

_LAPLACE_STEP: Final = 0.012
_GAUSSIAN_STEP: Final = 0.014
_CUTS: Final = (*(0.25 * k for k in range(4, 41)), *(0.5 * k for k in range(21, 45)))
"""Where the Gaussian's upper tail may be cut off, in standard deviations of the noise."""
_STEEPEST: Final = 170.0
CAVEAT: Final = "takes (0, 1) as the worst pair of inputs: proved but for one corner, checked numerically there"
Masses = tuple[arb, arb]
"""Of the inputs 0 and 1."""


def laplace(epsilon0: float) -> Law:
    """Value + Laplace(1 / epsilon0). (0, 1) is the worst pair: docs/maths/blankets.md."""
    with ctx.workprec(ctx.prec + math.ceil(6 * epsilon0)):  # masses are differences of probabilities near 1
        e, depth, half = arb(epsilon0), 0.0, []
        while depth < epsilon0 * (1 - 1e-3):
            half.append(e - depth)
            depth += min(0.3, _LAPLACE_STEP * math.exp(depth / 2)) * min(1.0, epsilon0)
        edges = [*(-v for v in half), arb(0), *reversed(half)]
        # that v(Y) < v, which is y > 1/2 - v / (2 epsilon0)
        marks = [(((v - e) / 2).exp() / 2, 1 - ((-v - e) / 2).exp() / 2) for v in edges]
        cells = _spread(edges, [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(marks)])
        # v is epsilon0 below 0 and -epsilon0 above 1
        p = e.exp()
        return Law(pairs=[[Pair([*cells, (arb(1), p, 1 / (2 * p)), (p, arb(1), 1 / (2 * p))])]], epsilon0=e)


def gaussian(sigma: float) -> Law:
    """Value + N(0, sigma^2). Where the upper tail is cut off eta is 0 and mu_0 is paid in full; any cut is valid."""
    return Law(pairs=[_Cuts(sigma)], caveat=CAVEAT)


class _Cuts(Sequence[Pair]):
    """The measures by where they are cut off, made when asked for."""

    def __init__(self, sigma: float) -> None:
        s, middle = arb(sigma), 1 / (2 * sigma**2)
        self._sigma = s
        tops = sorted({min(_STEEPEST, middle + cut / sigma) for cut in _CUTS})
        below = _marks(sigma, min(_STEEPEST, middle + 9 / sigma), 1.06)
        above = sorted({*_marks(sigma, tops[-1], 1.015), *tops})
        self._edges = [arb(v) for v in (*(-v for v in reversed(below)), 0.0, *above)]
        self._tops = [len(below) + 1 + above.index(top) for top in tops]
        self._masses = [(self._between(a, b, -1), self._between(a, b, 1)) for a, b in pairwise(self._edges)]

    def __len__(self) -> int:
        return len(self._tops)

    def __getitem__(self, index: int) -> Pair:  # type: ignore[override]
        top = self._tops[index]
        edges, s = self._edges[: top + 1], self._sigma
        cells = _spread(edges, self._masses[:top])
        # the tail of small v moves up to its edge: that only enlarges l
        cells.append((arb(1), (-edges[0]).exp(), _normal(-1 / (2 * s) + s * edges[0])))
        return Pair(cells, [(_normal(1 / (2 * s) - s * edges[-1]), arb(0))])

    def _between(self, low: arb, high: arb, sign: int) -> arb:
        """That low < v < high: y is between 1/2 - sigma^2 v, for input 0 (sign -1) or 1; a difference of tails that are small."""
        s = self._sigma
        left, right = (sign / (2 * s) + s * v for v in (low, high))
        return _normal(right) - _normal(left) if right <= 0 else _normal(-left) - _normal(-right)


def _marks(sigma: float, reach: float, growth: float) -> list[float]:
    """Where to cut between 0 and reach: evenly as far as l^2 has its mass, then wider and wider."""
    step, busy = _GAUSSIAN_STEP * min(1.0, 1 / sigma), 1.5 / sigma**2 + 2.5 / sigma
    marks = [step]
    while marks[-1] < reach:
        step *= growth if marks[-1] > busy else 1.0
        marks.append(marks[-1] + step)
    return [*(v for v in marks if v < reach - step / 2), reach]


def _normal(x: arb) -> arb:
    """Phi(x), with relative precision in its small tail."""
    return (-x / arb(2).sqrt()).erfc() / 2


def _spread(edges: Sequence[arb], cells: Sequence[Masses]) -> list[tuple[arb, arb, arb]]:
    """Every cell's mass on its two ends."""
    masses = [arb(0)] * len(edges)
    for j, ((low, high), (first, second)) in enumerate(zip(pairwise(edges), cells, strict=True)):
        eta, moving, sign = (second, first, 1) if low >= 0 else (first, second, -1)
        start, end = (sign * low).exp(), (sign * high).exp()
        up = (moving - start * eta) / (end - start)
        masses[j + 1] += up
        masses[j] += eta - up
    return [
        (v.exp(), arb(1), mass) if v >= 0 else (arb(1), (-v).exp(), mass) for v, mass in zip(edges, masses, strict=True)
    ]
