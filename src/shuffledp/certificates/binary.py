"""Two messages, all datasets: a cover of them in ball arithmetic, split as finely as the claim needs.

A of the other users hold the input that sends 1 with the largest probability q, the others the one with the smallest, r
(docs/maths/binary.md shows that these are the worst datasets). N is the number of ones among them, f its law, and

    D = max over J of D_J,   D_J = alpha f(J-1) - (a-1) P(N >= J),   alpha = q - a r,  beta = alpha + a - 1.

D_(J+1) - D_J = beta f(J) - alpha f(J-1) has the sign of beta/alpha - f(J-1)/f(J), which changes once, because N is log-concave.
So where it is at least 0 at J and at most 0 at K > J, the maximum is between, and every step until then is at most the one at J
if f does not increase from there on: D <= D_J + (K - J) (D_(J+1) - D_J). Users may be dropped without lowering the divergence, so
the dataset that lacks the users who vary within a cell of values of A is above all of that cell.

A claim is proved by splitting those cells that are above it. For a curve, which has no claim, the cell with the largest bound is
split until that is close to what some dataset has.
"""

import math
from dataclasses import dataclass
from functools import reduce
from heapq import heapify, heappop, heappush
from typing import Final

from flint import acb, acb_mat, arb, ctx, fmpq

from shuffledp.certificates.effort import Effort

_BITS = 160
_FIRST_CELLS = 24
_MOST_DATASETS = 12_500
_MOST_NODES = 20_000
_FINEST: Final = 2400
"""In a curve, no cell has less than such a part of all users; or its bound is next to what is known of a dataset."""
_NEXT: Final = 4e-4
_PARTS: Final = 4
"""Into so many a cell of a curve is split."""
_STEEPEST = 60.0
_TERMS = 10
"""What a node takes, in terms of a sum."""


def covered(coins: tuple[fmpq, fmpq], others: int, growth: arb, delta: arb, effort: Effort) -> bool:
    """Whether the divergence is at most delta for every dataset of so many other users, in both directions."""
    q, r = coins
    with ctx.workprec(_BITS):
        return all(
            _Direction(arb(more), arb(less), others, growth, effort).covered(delta)
            for more, less in {(q, r), (1 - r, 1 - q)}
        )


def largest(coins: tuple[fmpq, fmpq], others: int, growth: arb, effort: Effort) -> arb | None:
    """An upper bound on the divergence over all datasets, in both directions; None where it takes too many nodes."""
    q, r = coins
    found, circle = arb(0), _COARSE if others < _FEW else _FINE
    with ctx.workprec(_BITS):
        for more, less in {(q, r), (1 - r, 1 - q)}:
            one = _Direction(arb(more), arb(less), others, growth, effort, circle).largest()
            if one is None:
                return None
            found = found.max(one)
    return found


@dataclass(frozen=True, slots=True)
class _Circle:
    """How nodes are laid on a circle: how tight bounds are depends on it, never whether they hold.

    Attributes:
        periods: copies are so many standard deviations of N apart,
        fading: and so many reciprocal tilts more.
        cut: how many reciprocal standard deviations of N nodes go out.
    """

    periods: float
    fading: float
    cut: float


_FINE: Final = _Circle(26.0, 40.0, 9.0)
_COARSE: Final = _Circle(15.0, 24.0, 8.0)
"""For a curve, of which five digits are enough."""
_FEW: Final = 10**10
"""Users for whom it has so many: what is left out does not fall with N's probabilities."""


@dataclass(frozen=True, slots=True)
class _Chances:
    """What is asked about N at one j: P(N = j - 1), P(N = j), P(N >= j)."""

    before: arb
    here: arb
    above: arb


class _Direction:
    """One of the two ordered pairs: ones are counted, or zeros. A circle of nodes serves all datasets."""

    def __init__(self, q: arb, r: arb, others: int, growth: arb, effort: Effort, circle: _Circle = _FINE) -> None:
        self._q, self._r, self._others, self._effort, self._circle = q, r, others, effort, circle
        self._rise, self._alpha = growth - 1, q - growth * r
        self._beta = self._alpha + self._rise

    def covered(self, delta: arb) -> bool:
        """Whether D is at most delta for every A, by cells that are halved where they must be."""
        if self._alpha <= delta:
            return True  # D_J <= alpha P(N = J-1)
        if not self._alpha > 0:
            return False
        if not self._draw_circle():
            return False
        cells = _split(0, self._others, _FIRST_CELLS)
        for _ in range(_MOST_DATASETS):
            if not cells:
                return True
            low, high = cells.pop()
            if self._divergence(low, self._others - high) <= delta:
                continue
            if low == high:
                return False
            middle = (low + high) // 2
            cells += [(low, middle), (middle + 1, high)]
        return False

    def largest(self) -> arb | None:
        """An upper bound on D for every A: the cell whose bound is largest is split until that is hardly of use."""
        if not self._alpha > 0:
            return self._alpha.max(arb(0))
        if not self._draw_circle():
            return None
        known = max(float(self._divergence(ones, self._others - ones)) for ones in {0, self._others})
        cells = [self._bounded(*ends) for ends in _split(0, self._others, _FIRST_CELLS)]
        heapify(cells)
        while True:
            height, low, high, bound = heappop(cells)
            if _FINEST * (high - low) < self._others or -height <= (1 + _NEXT) * known:
                return reduce(arb.max, (cell[-1] for cell in cells), bound)
            for ends in _split(low, high, _PARTS):
                heappush(cells, self._bounded(*ends))

    def _bounded(self, low: int, high: int) -> tuple[float, int, int, arb]:
        """A cell with a bound on D in it; that with the largest bound is first in order."""
        bound = self._divergence(low, self._others - high)
        return -float(bound.upper()), low, high, bound

    def _draw_circle(self) -> bool:
        """A tilt near which f(J-1)/f(J) = beta/alpha, and the logarithms of both coins' transforms around it.

        False if coins are so different that one circle for all datasets needs too many nodes.
        """
        ratio = math.log(1 + float(self._rise / self._alpha))
        ends = [self._moments(ones, self._others - ones, min(ratio, _STEEPEST))[1] for ones in (0, self._others)]
        widest = max(1.0, *ends)
        self._at = min(ratio, 500.0)
        self._tilt = max(min(ratio, _STEEPEST), min(1 / widest, 1.0))
        wide, narrow = (
            bound(self._moments(ones, self._others - ones, self._tilt)[1] for ones in (0, self._others))
            for bound in (max, min)
        )
        self._period = 2 * math.ceil(max(self._circle.periods * wide + self._circle.fading / self._tilt, 40.0) / 2) + 1
        last = min(
            math.ceil(self._circle.cut / max(narrow, 1e-9) * self._period / (2 * math.pi)), (self._period - 1) // 2
        )
        if last > _MOST_NODES:
            return False
        self._all = 2 * last + 1 >= self._period
        step = 2 * arb.pi() / self._period
        self._nodes, weights = [], []
        for k in range(last + 2):
            z = acb(arb(self._tilt), k * step)
            growth = z.exp()
            logs = (self._q * (growth - 1)).log1p(), (self._r * (growth - 1)).log1p()
            self._nodes.append((z, *logs))
            weights.append([growth, acb(1), growth / (growth - 1)])
        self._most_growth, self._most_tail = abs(weights[0][0]), abs(weights[0][2])
        self._weights = acb_mat([weights[0], *([2 * weight for weight in row] for row in weights[1:-1])])
        self._paces = []
        for other in (self._tilt + 12 / max(wide, 0.2), self._tilt - min(12 / max(wide, 0.2), 0.97 * self._tilt)):
            y = arb(other)
            gap = (abs(y - arb(self._tilt)) * self._period).expm1()
            self._paces.append((y, (self._q * y.expm1()).log1p(), (self._r * y.expm1()).log1p(), gap))
        return True

    def _moments(self, ones: int, zeros: int, tilt: float) -> tuple[float, float]:
        """Mean and standard deviation of N, tilted."""
        odds, q, r = math.exp(tilt), float(self._q), float(self._r)
        chance_if_1, chance_if_0 = q * odds / (1 - q + q * odds), r * odds / (1 - r + r * odds)
        return ones * chance_if_1 + zeros * chance_if_0, math.sqrt(
            ones * chance_if_1 * (1 - chance_if_1) + zeros * chance_if_0 * (1 - chance_if_0)
        )

    def _divergence(self, ones: int, zeros: int) -> arb:
        """An upper bound on D, for so many others with either coin."""
        most = ones + zeros
        if most == 0:
            return self._alpha
        mean, deviation = self._moments(ones, zeros, self._at)
        stride = max(1, int(1e-3 * deviation))
        low = high = min(max(math.ceil(mean), 0), most + 1)
        at_low = at_high = self._chances(ones, zeros, low)
        leap = stride
        while low > 0 and not self._step(at_low) >= 0:
            low, leap = max(0, low - leap), 2 * leap
            at_low = self._chances(ones, zeros, low)
        leap = stride
        while high <= most and not self._step(at_high) <= 0:
            high, leap = min(most + 1, high + leap), 2 * leap
            at_high = self._chances(ones, zeros, high)
        while high - low > stride or (high - low > 1 and not at_low.here <= at_low.before):
            middle = (low + high) // 2
            chances = self._chances(ones, zeros, middle)
            if self._step(chances) >= 0:
                low, at_low = middle, chances
            elif self._step(chances) <= 0:
                high = middle
            elif at_low.here <= at_low.before:
                break  # a step that is not told from 0: the ends that are known will do
            elif (
                self._step(self._chances(ones, zeros, middle + 1))
                <= 0
                <= self._step(before := self._chances(ones, zeros, middle - 1))
            ):
                # two thresholds that are not told apart, as of a law with two modes: the maximum is at one of them
                first, second = self._step(before).max(arb(0)), self._step(chances).max(arb(0))
                return self._alpha * before.before - self._rise * before.above + first + second
            else:
                return self._alpha  # the same where f may still increase: nothing is claimed
        steps = (high - low) * self._step(at_low).max(arb(0)) if high > low else arb(0)
        return self._alpha * at_low.before - self._rise * at_low.above + steps

    def _step(self, chances: _Chances) -> arb:
        """How much D grows from J to the next: D_(J+1) - D_J."""
        return self._beta * chances.here - self._alpha * chances.before

    def _chances(self, ones: int, zeros: int, j: int) -> _Chances:
        """Sums over the nodes of M(z) e^(-z j) times e^z, 1 and 1 / (1 - e^-z), less copies a period apart, each at least 0."""
        self._effort.spend(_TERMS * len(self._nodes))
        parts = [(ones * u + zeros * v - z * j).exp() for z, u, v in self._nodes]
        before, here, above = (acb_mat([parts[:-1]]) * self._weights).entries()
        # |M| decreases away from the axis, as a coin's |1 - c + c e^z| does: no node left out has more than the first of them
        lost = arb(0) if self._all else abs(parts[-1])
        copies = sum(((ones * u + zeros * v - y * j).exp() / gap for y, u, v, gap in self._paces), arb(0))
        copies_before = sum(((ones * u + zeros * v - y * (j - 1)).exp() / gap for y, u, v, gap in self._paces), arb(0))
        most = ones + zeros

        def settled(total: acb, factor: arb, folded: arb) -> arb:
            slack = (-lost * factor - folded).union(lost * factor)
            return total.real / self._period + slack

        return _Chances(
            before=settled(before, self._most_growth, copies_before) if 1 <= j <= most + 1 else arb(0),
            here=settled(here, arb(1), copies) if 0 <= j <= most else arb(0),
            above=settled(above, self._most_tail, copies) if j > 0 else arb(1),
        )


def _split(low: int, high: int, parts: int) -> list[tuple[int, int]]:
    """A cell from `low` to `high` as so many of about one width."""
    width = -(-(high + 1 - low) // parts)
    return [(first, min(first + width - 1, high)) for first in range(low, high + 1, width)]
