"""Two messages, all datasets, at many epsilons at once: a cover by laws in whole numbers, as fine as each epsilon needs.

As in binary.py A of the other users hold one input and the rest the other, N is the number of ones among them, f its law, and

    D = max over J of D_J,   D_J = alpha f(J-1) - (a-1) P(N >= J),   alpha = q - a r,  beta = alpha + a - 1.

Here f is the product of two polynomials whose coefficients are those of binomial laws, in whole numbers that are never above them.
What all of them lack to 1 is charged. One f does for many epsilons. D_(J+1) - D_J = beta f(J) - alpha f(J-1) changes sign once,
because N is log-concave: a J at which it does is the best one.

The dataset that lacks the users who vary within a cell of values of A is above all of that cell. Cells are laid side by side, each
so wide that it is hardly above the larger of both ends, where all other users are alike: there D is largest as far as is known.
Nothing depends on that but how many cells it takes. Where a small epsilon makes all datasets nearly as bad, they are narrow.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from functools import reduce
from itertools import accumulate
from typing import Final

from flint import arb, ctx, fmpq, fmpz, fmpz_poly

from shuffledp.certificates.effort import Effort

_BITS: Final = 192
_FIRST_BITS, _BITS_MORE, _MOST_BITS = 48, 24, 1200
"""Of probabilities: as many as are enough at these epsilons."""
_LITTLE: Final = 1e-7
"""What probabilities lack is that little beside a divergence."""
_SCALE: Final = 1 << 64
_STEEPEST: Final = 1e15
_FARTHEST: Final = 64
_LONGEST: Final = 100_000
"""Values of N that are looked at; of more, sums over a circle in binary.py take less time."""
_FINEST: Final = 2400
"""A cell need not have less than such a part of all users."""
_NEXT: Final = 4e-4
"""How far a cell may be above what is known of a dataset."""
_TOGETHER: Final = 180
"""Epsilons that have one cover."""
_CAUTION: Final = 0.95
_VALUE, _LINE = 2, 10
"""What a value of N and an epsilon take, in terms of a sum."""
_DEVIATIONS: Final = 36
"""So many values of N, in its standard deviations, are possible in numbers of that many bits, about."""


def cover(coins: tuple[fmpq, fmpq], others: int, growths: Sequence[arb], effort: Effort) -> list[arb] | None:
    """Upper bounds on the divergence over all datasets, in both directions, at increasing e^epsilon; None if N is too wide."""
    if _DEVIATIONS * math.sqrt(others / 4) > _LONGEST and any(_DEVIATIONS * _deviation(others, c) > _LONGEST for c in coins):
        return None
    q, r = coins
    with ctx.workprec(_BITS):
        ways = [_Direction(more, less, others, effort) for more, less in {(q, r), (1 - r, 1 - q)}]
        found = list[arb]()
        for start in range(0, len(growths), _TOGETHER):
            some = growths[start : start + _TOGETHER]
            found += [reduce(arb.max, each) for each in zip(*(way.largest(some) for way in ways), strict=True)]
    return found


def _deviation(count: int, coin: fmpq) -> float:
    return math.sqrt(count * float(coin.p) / float(coin.q) * (1 - float(coin.p) / float(coin.q)))


class _Line:
    """What the divergence is made of at one epsilon."""

    __slots__ = ("alpha", "beta", "ratio", "rise")

    def __init__(self, q: fmpq, r: fmpq, growth: arb) -> None:
        self.rise, self.alpha = growth - 1, arb(q) - growth * arb(r)
        self.beta = self.alpha + self.rise
        self.ratio = int(min(float(self.beta / self.alpha), _STEEPEST) * _SCALE) if self.alpha > 0 else 0


class _Direction:
    """One of the two ordered pairs: ones are counted, or zeros."""

    def __init__(self, q: fmpq, r: fmpq, others: int, effort: Effort) -> None:
        self._q, self._r, self._others, self._effort = q, r, others, effort
        self._finest = -(-(others + 1) // _FINEST)

    def largest(self, growths: Sequence[arb]) -> list[arb]:
        """The largest bound of any cell, for each e^epsilon."""
        lines = [_Line(self._q, self._r, growth) for growth in growths]
        possible = [line for line in lines if line.alpha > 0]
        none = [line.alpha.max(arb(0)) for line in lines[len(possible) :]]
        return [*self._covered(possible), *none] if possible else none

    def _covered(self, lines: Sequence[_Line]) -> list[arb]:
        """Cells from the least A to the largest."""
        everybody = self._others
        bits, known = self._known(lines)
        found = [arb(0)] * len(lines)
        low, width, cost = 0, self._finest, 0.0
        while low <= everybody:
            high = min(low + width - 1, everybody)
            heights = [height for height, _ in self._divergences(low, everybody - high, lines, bits)]
            above = (math.log(float(height) / least) for height, least in zip(heights, known, strict=True) if least > 0)
            excess = max(above, default=0.0)
            cost = cost or max(excess / (high - low or 1), 1e-12)
            room = _CAUTION * ((_NEXT - excess) / cost + high - low)
            if excess > _NEXT and width > self._finest:
                width = max(self._finest, int(min(room, _CAUTION * width)))
                continue
            found = list(map(arb.max, found, heights))
            low, width = high + 1, max(self._finest, int(min(room, 2 * width)))
        return found

    def _known(self, lines: Sequence[_Line]) -> tuple[int, list[float]]:
        """How precise probabilities must be, and the larger divergence of the two datasets in which all others are alike."""
        bits = _FIRST_BITS
        while True:
            ends = [self._divergences(*alike, lines, bits) for alike in ((self._others, 0), (0, self._others))]
            known = [max((float(height) for height, certain in both if certain), default=0.0) for both in zip(*ends, strict=True)]
            if all(known) or bits >= _MOST_BITS:
                return bits, known
            bits += _BITS_MORE

    def _divergences(self, ones: int, zeros: int, lines: Sequence[_Line], bits: int) -> list[tuple[arb, bool]]:
        """An upper bound on D for so many others with either coin, at each epsilon, and whether D is hardly below it."""
        some, more = _binomial(ones, self._q, bits), _binomial(zeros, self._r, bits)
        self._effort.spend(_VALUE * (len(some) + len(more)) + _LINE * len(lines))
        ahead = _AheadOf(some, more, 2 * bits)
        at, found = 1, list[tuple[arb, bool]]()
        for line in lines:
            at = ahead.threshold(line, at)
            found.append(ahead.divergence(line, at))
        return found


class _AheadOf:
    """The law of N in units of 2^-bits, never above it."""

    def __init__(self, ones: Sequence[int], zeros: Sequence[int], bits: int) -> None:
        product = (fmpz_poly(ones) * fmpz_poly(zeros)).coeffs()
        self._law = [fmpz(0), *product, fmpz(0), fmpz(0)]
        self._above = list(accumulate(reversed(self._law)))[::-1]
        self._lost, self._unit = arb((1 << bits) - sum(ones) * sum(zeros)), arb(2) ** -bits

    def threshold(self, line: _Line, start: int) -> int:
        """The J at which D is largest, as far as the law is known, from `start` on."""
        law, ratio = self._law, line.ratio
        if start == 1:
            return 1 + bisect_left(range(1, len(law) - 2), True, key=lambda j: law[j - 1] * _SCALE >= ratio * law[j])
        while start < len(law) - 2 and law[start - 1] * _SCALE < ratio * law[start]:
            start += 1
        return start

    def divergence(self, line: _Line, at: int) -> tuple[arb, bool]:
        """The largest D_J: between a J from which D rises and one from which it falls, both near `at`, for certain."""
        low, high = self._rising(line, at), self._falling(line, at)
        if low is None or high is None:
            # D_J <= alpha P(N = J-1)
            return line.alpha * (max(self._law[max(0, (low or 0) - 1) :]) + self._lost) * self._unit, False
        heights = [
            line.alpha * (self._law[j - 1] + self._lost) - line.rise * self._above[j] for j in range(low, high + 1)
        ]
        highest = reduce(arb.max, heights)
        return highest * self._unit, bool(line.alpha * self._lost <= _LITTLE * highest)

    def _rising(self, line: _Line, at: int) -> int | None:
        """The last J up to `at` which is certainly not below the one before; they are looked at farther and farther apart."""
        leap = 1
        while at > 1:
            if line.beta * self._law[at - 1] >= line.alpha * (self._law[at - 2] + self._lost):
                return at
            at, leap = at - leap, 2 * leap
        return None

    def _falling(self, line: _Line, at: int) -> int | None:
        """The first J from `at` on which is certainly not below the one after."""
        leap = 1
        while at < len(self._law) and leap <= _FARTHEST:
            if line.beta * (self._law[at] + self._lost) <= line.alpha * self._law[at - 1]:
                return at
            at, leap = at + leap, 2 * leap
        return None


def _binomial(count: int, chance: fmpq, bits: int) -> list[int]:
    """The probabilities of a binomial law in units of 2^-bits, rounded down, from the first to the last that has one."""
    p, q = int(chance.p), int(chance.q - chance.p)
    mode = min(int((count + 1) * fmpq(p, p + q)), count)
    log_peak = arb(count + 1).lgamma() - arb(mode + 1).lgamma() - arb(count - mode + 1).lgamma()
    log_peak += mode * arb(chance).log() + (count - mode) * arb(1 - chance).log()
    peak = int((log_peak.exp() * arb(2) ** bits).lower().floor().unique_fmpz())
    falling, at, times, over = [peak], peak, (count - mode) * p, (mode + 1) * q
    while at := at * times // over:
        falling.append(at)
        times, over = times - p, over + q
    rising, at, times, over = list[int](), peak, mode * q, (count - mode + 1) * p
    while at := at * times // over:
        rising.append(at)
        times, over = times - q, over + p
    return [*reversed(rising), *falling]
