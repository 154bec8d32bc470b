"""Two messages, all datasets, at many epsilons at once: a cover in whole numbers, as fine as each epsilon needs.

As in binary.py A of the other users hold one input and the rest the other, N is the number of ones among them, f its law, and

    D = max over J of D_J,   D_J = alpha f(J-1) - (a-1) P(N >= J),   alpha = q - a r,  beta = alpha + a - 1.

Here f is the product of two polynomials whose coefficients are those of binomial laws, rounded down to multiples of a power of
two, and what all of them lack to 1 is charged. One f does for many epsilons. D_(J+1) - D_J = beta f(J) - alpha f(J-1) changes
sign once, because N is log-concave: a J where it does is the best one.

The dataset that lacks the users who vary within a cell of values of A is above all of that cell. Cells are laid side by side,
each so wide that it is hardly above the larger of both ends, where all others are alike: there D is largest as far as is known.
Nothing depends on that but how many cells it takes. Where a small epsilon makes all datasets about equally bad, cells are as
narrow as may be. docs/maths/binary.md has the argument.
"""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from flint import arb, ctx, fmpq, fmpz_poly

from shuffledp.certificates.effort import Effort

_BITS, _SPARE_BITS = 192, 40
_LINE_BITS: Final = 160
"""alpha, beta and a - 1 are known to that many."""
_FIRST_BITS, _MORE_BITS, _MOST_BITS = 48, 24, 1200
"""Bits of probabilities: first so many, and more until these are enough at all epsilons."""
_LITTLE: Final = 10**7
"""What probabilities lack is so many times less than a divergence."""
_LONGEST: Final = 100_000
"""Values of N that are looked at; of more, sums over a circle in binary.py take less time."""
_DEVIATIONS: Final = 36
"""So many values of N, in its standard deviations, there are about."""
_FINEST: Final = 2400
"""A cell need not have less than such a part of all users,"""
_NARROW: Final = 300
"""but so many may, as near a dataset that is worse than all others."""
_NEXT: Final = 4e-4
"""How far a cell may be above what is known of a dataset, if it is wider than that."""
_TOGETHER: Final = 180
"""Epsilons that have one cover."""
_RATIO_BITS, _MOST_TIMES = 32, 1 << 64
_CAUTION: Final = 0.95
_FARTHEST: Final = 64
_VALUE, _LINE = 2, 8
"""What a value of N, and an epsilon, take in terms of a sum."""


def cover(coins: tuple[fmpq, fmpq], others: int, growths: Sequence[arb], effort: Effort) -> list[arb] | None:
    """Upper bounds on the divergence over all datasets, in both directions, at increasing e^epsilon; None if N is too wide."""
    q, r = coins
    if any(_DEVIATIONS**2 * others * coin * (1 - coin) > _LONGEST**2 for coin in coins):
        return None
    with ctx.workprec(_BITS):
        ways = [_Direction(more, less, others, effort) for more, less in {(q, r), (1 - r, 1 - q)}]
        found = list[arb]()
        for start in range(0, len(growths), _TOGETHER):
            each = [way.largest(growths[start : start + _TOGETHER]) for way in ways]
            found += each[0] if len(each) == 1 else map(arb.max, *each)
    return found


class _Line:
    """What a divergence is made of at one epsilon, in units of 2^-160."""

    __slots__ = ("alpha", "alpha_up", "beta", "beta_up", "rise")

    def __init__(self, alpha: arb, rise: arb) -> None:
        self.alpha, self.alpha_up = _both_ways(alpha, _LINE_BITS)
        self.beta, self.beta_up = _both_ways(alpha + rise, _LINE_BITS)
        self.rise, _ = _both_ways(rise, _LINE_BITS)


class _Direction:
    """One of the two ordered pairs: ones are counted, or zeros."""

    def __init__(self, q: fmpq, r: fmpq, others: int, effort: Effort) -> None:
        self._q, self._r, self._others, self._effort = q, r, others, effort
        self._finest = -(-(others + 1) // _FINEST)

    def largest(self, growths: Sequence[arb]) -> list[arb]:
        """The largest bound of any cell, for each e^epsilon."""
        alphas = [arb(self._q) - growth * arb(self._r) for growth in growths]
        lines = [_Line(alpha, growth - 1) for alpha, growth in zip(alphas, growths, strict=True) if alpha > 0]
        none = [alpha.max(arb(0)) for alpha in alphas[len(lines) :]]
        return [*self._covered(lines), *none] if lines else none

    def _covered(self, lines: Sequence[_Line]) -> list[arb]:
        """Cells from the least A to the largest."""
        bits, known = self._known(lines)
        found = [0] * len(lines)
        low, width, cost, narrow = 0, 1, 0.0, 0
        while low <= self._others:
            finest = self._finest if narrow >= _NARROW else 1
            high = min(low + max(width, finest) - 1, self._others)
            heights = self._law(low, self._others - high, lines, bits).divergences(lines)
            times = max(((h << _RATIO_BITS) // k for h, k in zip(heights, known, strict=True) if k), default=0)
            excess = min(times, _MOST_TIMES) / 2**_RATIO_BITS - 1
            wide = high + 1 - low
            cost = cost or max(excess / wide, 1e-12)
            room = int(_CAUTION * ((_NEXT - excess) / cost + wide - 1))
            if excess > _NEXT and wide > finest:
                width = max(1, min(room, int(_CAUTION * wide)))
                continue
            found = list(map(max, found, heights))
            narrow += wide < self._finest
            low, width = high + 1, max(1, min(room, 2 * wide))
        unit = arb(2) ** -(2 * bits + _LINE_BITS)
        return [arb(height) * unit for height in found]

    def _known(self, lines: Sequence[_Line]) -> tuple[int, list[int]]:
        """How precise probabilities must be, and the larger divergence of the two datasets in which all others are alike."""
        bits = _FIRST_BITS
        while True:
            ends = [self._law(*alike, lines, bits) for alike in ((self._others, 0), (0, self._others))]
            known = [max(both) for both in zip(*(end.nearly(lines) for end in ends), strict=True)]
            if all(known) or bits >= _MOST_BITS:
                return bits, known
            bits += _MORE_BITS

    def _law(self, ones: int, zeros: int, lines: Sequence[_Line], bits: int) -> "_Ones":
        """The law of how many of these others send 1, precise to so many bits."""
        some, more = _binomial(ones, self._q, bits), _binomial(zeros, self._r, bits)
        self._effort.spend(_VALUE * (len(some) + len(more)) + _LINE * len(lines))
        return _Ones(some, more, bits)


class _Ones:
    """The law of N, rounded down to units of the square of 2^-bits."""

    def __init__(self, some: Sequence[int], more: Sequence[int], bits: int) -> None:
        self._law = [0, *map(int, (fmpz_poly(some) * fmpz_poly(more)).coeffs()), 0, 0]
        self._above = list(accumulate(reversed(self._law)))[::-1]
        self._lost = (1 << 2 * bits) - sum(some) * sum(more)

    def divergences(self, lines: Sequence[_Line]) -> list[int]:
        """Upper bounds on D at increasing epsilons."""
        law, above, lost, last = self._law, self._above, self._lost, len(self._law) - 2
        at, found = self._first_threshold(lines[0]), list[int]()
        for line in lines:
            alpha, beta = line.alpha, line.beta
            while at < last and alpha * law[at - 1] < beta * law[at]:
                at += 1
            here = law[at - 1]
            # D rises to here and falls from here on, for certain
            if (
                at > 1
                and beta * here >= line.alpha_up * (law[at - 2] + lost)
                and line.beta_up * (law[at] + lost) <= alpha * here
            ):
                found.append(line.alpha_up * (here + lost) - line.rise * above[at])
            else:
                found.append(self._between(line, self._rising(line, at), self._falling(line, at)))
        return found

    def nearly(self, lines: Sequence[_Line]) -> list[int]:
        """Upper bounds that are close to D; 0 where these probabilities are not precise enough for that."""
        return [
            height if _LITTLE * line.alpha_up * self._lost <= height else 0
            for line, height in zip(lines, self.divergences(lines), strict=True)
        ]

    def _first_threshold(self, line: _Line) -> int:
        """The J at which D is largest, as far as is known."""
        law, alpha, beta = self._law, line.alpha, line.beta
        return 1 + bisect_left(range(1, len(law) - 2), True, key=lambda j: alpha * law[j - 1] >= beta * law[j])

    def _between(self, line: _Line, low: int, high: int) -> int:
        """An upper bound on D, if it rises up to the one and falls from the other on; 0 if that is not known."""
        if low and high:
            return max(
                line.alpha_up * (self._law[j - 1] + self._lost) - line.rise * self._above[j]
                for j in range(low, high + 1)
            )
        # D_J <= alpha P(N = J-1)
        return line.alpha_up * (max(self._law[max(0, low - 1) :]) + self._lost)

    def _rising(self, line: _Line, at: int) -> int:
        """A J up to which D rises for certain; 0 if none is known. What is tried is farther and farther from `at`."""
        leap = 1
        while at > 1:
            if line.beta * self._law[at - 1] >= line.alpha_up * (self._law[at - 2] + self._lost):
                return at
            at, leap = at - leap, 2 * leap
        return 0

    def _falling(self, line: _Line, at: int) -> int:
        """A J from which on D falls for certain; 0 if none is known."""
        leap = 1
        while at < len(self._law) and leap <= _FARTHEST:
            if line.beta_up * (self._law[at] + self._lost) <= line.alpha * self._law[at - 1]:
                return at
            at, leap = at + leap, 2 * leap
        return 0


def _binomial(count: int, chance: fmpq, bits: int) -> list[int]:
    """The probabilities of a binomial law in units of 2^-bits, rounded down, without those that are 0 then."""
    p, q = int(chance.p), int(chance.q - chance.p)
    mode = min((count + 1) * p // (p + q), count)
    with ctx.workprec(bits + 2 * count.bit_length() + _SPARE_BITS):
        log_peak = arb(count + 1).lgamma() - arb(mode + 1).lgamma() - arb(count - mode + 1).lgamma()
        peak, _ = _both_ways((log_peak + mode * arb(chance).log() + (count - mode) * arb(1 - chance).log()).exp(), bits)
    peak = max(peak, 0)
    falling, at, times, over = [peak], peak, (count - mode) * p, (mode + 1) * q
    while at := at * times // over:
        falling.append(at)
        times, over = times - p, over + q
    rising, at, times, over = list[int](), peak, mode * q, (count - mode + 1) * p
    while at := at * times // over:
        rising.append(at)
        times, over = times - q, over + p
    return [*reversed(rising), *falling]


def _both_ways(ball: arb, bits: int) -> tuple[int, int]:
    """A number in units of 2^-bits, rounded down and up."""
    scaled = ball * arb(2) ** bits
    low, high = scaled.lower().floor().unique_fmpz(), scaled.upper().ceil().unique_fmpz()
    if low is None or high is None:
        raise ArithmeticError("a number is not known at all")
    return int(low), int(high)
