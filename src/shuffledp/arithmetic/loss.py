"""Laws of a privacy loss in whole numbers: composed exactly, rounded to one side.

A law is a measure on multiples of a step and on infinity. Its curve is

    D(epsilon) = sum over losses x of m(x) (1 - e^(epsilon - x))_+,     m(infinity) counted in full.

One law is above another if its curve is at every real epsilon. The curve of a convolution, the sum over y of m(y) D(epsilon - y),
is linear in each law with weights that are not negative, so the order survives composition. An upper law may gain mass, move mass
to larger losses, or spread it so that its mass and the mean of e^-x stay; a lower one may do the opposite. Masses are whole
multiples of 2^-bits, so that nothing but these three ever happens. docs/maths/composition.md has the proofs.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np
from flint import arb, ctx, fmpz, fmpz_poly

from shuffledp.arithmetic.balls import round_down, round_up
from shuffledp.arithmetic.inversion import first_integer
from shuffledp.errors import InvalidInput

FINE: Final = 64
"""Steps in a standard deviation that a law keeps when its grid is made coarser, unless it says otherwise."""
_MOST_POINTS: Final = 2**15
"""Of a law; above it the grid is made coarser anyway."""
_GUARD: Final = 64
"""Bits beyond those of the masses, for e^-step."""


@dataclass(frozen=True, kw_only=True)
class LossLaw:
    """A measure on multiples of a step and on infinity.

    Attributes:
        upper: whether it is rounded up; otherwise down.
        bits: masses are multiples of 2^-bits.
        spare: mass in these units that may be cut off at either end, after each convolution.
        step: between the losses; steps of laws that are composed are powers of two of each other.
        first: the least loss, in steps.
        masses: from there on.
        infinite: the mass of an infinite loss.
        fine: steps in a standard deviation that it keeps when its grid is made coarser.
    """

    upper: bool
    bits: int
    spare: int
    step: float
    first: int
    masses: tuple[fmpz, ...]
    infinite: int = 0
    fine: int = FINE

    @cached_property
    def finite(self) -> int:
        """The mass of all finite losses."""
        return int(sum(self.masses, fmpz(0)))

    @property
    def total(self) -> int:
        """The mass of all losses."""
        return self.finite + self.infinite

    @property
    def deviation(self) -> float:
        """The standard deviation of the finite losses in steps, roughly: it decides how fine a grid is, not what is claimed."""
        shift = max(0, self.bits - 60)
        weights = np.array([int(mass >> shift) for mass in self.masses], dtype=np.float64)
        if not weights.any():
            return 0.0
        k = np.arange(len(weights), dtype=np.float64)
        mean = float(weights @ k / weights.sum())
        return float(np.sqrt(weights @ (k - mean) ** 2 / weights.sum()))

    def times(self, other: "LossLaw") -> "LossLaw":
        """One after the other: the exact convolution, rounded once, without negligible ends, on a grid that is fine enough."""
        first, second = self._beside(other)
        product = fmpz_poly(list(first.masses)) * fmpz_poly(list(second.masses))
        infinite = first.total * second.total - first.finite * second.finite
        unit = fmpz(1) << self.bits
        rounded = -(-product // unit) if self.upper else product // unit
        together = replace(
            first,
            first=first.first + second.first,
            masses=tuple(rounded.coeffs()),
            infinite=int(-(-infinite // unit) if self.upper else infinite // unit),
            spare=max(self.spare, other.spare),
            fine=max(self.fine, other.fine),
        )
        return together.trimmed().fitted()

    def power(self, rounds: int) -> "LossLaw":
        """So many of them, by repeated squaring."""
        product: LossLaw | None = None
        square = self
        while True:
            if rounds & 1:
                product = square if product is None else product.times(square)
            rounds >>= 1
            if not rounds:
                return product or self
            square = square.times(square)

    def trimmed(self) -> "LossLaw":
        """Without negligible ends: an upper law counts large losses as infinite, small ones as larger; a lower law drops them."""
        masses = self.masses
        low, below = _negligible(iter(masses), self.spare)
        high, above = _negligible(reversed(masses[low:]), self.spare)
        kept = list(masses[low : len(masses) - high])
        if not kept:
            kept = [fmpz(0)]
        if self.upper:
            kept[0] += below
        return replace(
            self, first=self.first + low, masses=tuple(kept), infinite=self.infinite + (int(above) if self.upper else 0)
        )

    def fitted(self) -> "LossLaw":
        """On a coarser grid, as long as that is fine enough or this one too long."""
        law, deviation = self, self.deviation
        while deviation >= 2 * self.fine or len(law.masses) > _MOST_POINTS:
            law, deviation = law.coarser(), deviation / 2
        return law

    def coarser(self) -> "LossLaw":
        """On every other point of its grid."""
        masses = [fmpz(0)] * (self.first % 2) + list(self.masses)
        masses += [fmpz(0)] * (1 - len(masses) % 2)
        (self._spread if self.upper else self._contract)(masses)
        return replace(self, step=2 * self.step, first=self.first // 2, masses=tuple(masses[::2]))

    def _spread(self, masses: list[fmpz]) -> None:
        """Split each odd point between its neighbours: mass stays, and the mean of e^-x, or that falls."""
        with ctx.workprec(self.bits + _GUARD):
            share = ceiled((1 / (1 + (-arb(self.step)).exp())) * (arb(2) ** self.bits))
        for k in range(1, len(masses), 2):
            up = -(-masses[k] * share >> self.bits)
            masses[k + 1] += up
            masses[k - 1] += masses[k] - up

    def _contract(self, masses: list[fmpz]) -> None:
        """Merge each odd point with mass to its right, on the even point between: the mean of e^-x stays, or rises."""
        with ctx.workprec(self.bits + _GUARD):
            scale, step = arb(2) ** self.bits, arb(self.step)
            rise = ceiled(step.expm1() * scale)
            falls: list[fmpz] = [fmpz(0)]
            for k in range(1, len(masses), 2):
                owed, gathered, at = masses[k] * rise, masses[k], k + 2
                while owed > 0 and at < len(masses):
                    while len(falls) <= at - k - 1:
                        falls.append(floored(-(-len(falls) * step).expm1() * scale))
                    fall = falls[at - k - 1]
                    moved = min(masses[at], -(-owed // fall)) if fall > 0 else fmpz(0)
                    owed -= moved * fall
                    gathered += moved
                    masses[at] -= moved
                    at += 1 if owed > 0 else 0
                # what has too little mass to its right moves down
                down = min(masses[k], -(-owed // rise)) if owed > 0 else fmpz(0)
                masses[k - 1] += down
                masses[k + 1] += gathered - down

    def _beside(self, other: "LossLaw") -> "tuple[LossLaw, LossLaw]":
        """Both on one grid: the finer one, unless that is too long."""
        if (self.upper, self.bits) != (other.upper, other.bits):
            raise InvalidInput("laws that are rounded differently do not compose.")
        first, second = self, other
        while first.step != second.step:
            fine, coarse = (first, second) if first.step < second.step else (second, first)
            ratio = round(coarse.step / fine.step)
            if len(coarse.masses) * ratio > _MOST_POINTS:
                fine = fine.coarser()
            else:
                coarse = coarse._finer(ratio)
            first, second = (fine, coarse) if first.step < second.step else (coarse, fine)
        return first, second

    def _finer(self, ratio: int) -> "LossLaw":
        """This law on a grid that is so many times finer."""
        if self.step / ratio * ratio != self.step or ratio & (ratio - 1):
            raise InvalidInput("steps of laws that compose must be powers of two of each other.")
        masses = [fmpz(0)] * ((len(self.masses) - 1) * ratio + 1)
        masses[::ratio] = self.masses
        return replace(self, step=self.step / ratio, first=self.first * ratio, masses=tuple(masses))

    # Its curve.

    @cached_property
    def _ends(self) -> tuple[list[int], list[int]]:
        """For each point the mass from there on, and the sum of m(x) e^-(x - point): on the safe side."""
        with ctx.workprec(self.bits + _GUARD):
            scaled = (-arb(self.step)).exp() * (arb(2) ** self.bits)
            decay = int(floored(scaled) if self.upper else ceiled(scaled))
        carry = 0 if self.upper else (1 << self.bits) - 1
        masses, discounted = [0], [0]
        for mass in reversed(self.masses):
            masses.append(masses[-1] + int(mass))
            discounted.append(int(mass) + ((discounted[-1] * decay + carry) >> self.bits))
        return masses[::-1], discounted[::-1]

    def _at(self, index: int) -> int:
        """The curve at a point of the grid, in units of mass."""
        masses, discounted = self._ends
        return self.infinite + max(0, masses[index] - discounted[index])

    def delta(self, epsilon: float) -> float:
        """Its curve at this epsilon, on the safe side."""
        masses, discounted = self._ends
        index = min(max(0, math.ceil(Fraction(epsilon) / Fraction(self.step)) - self.first), len(self.masses))
        with ctx.workprec(self.bits + _GUARD):
            decay = (arb(epsilon) - arb(self.step) * (self.first + index)).exp()
            height = (masses[index] - discounted[index] * decay).max(arb(0)) + self.infinite
            height = height / arb(2) ** self.bits
            return min(1.0, round_up(height)) if self.upper else max(0.0, round_down(height))

    def epsilon(self, delta: float) -> float | None:
        """The least epsilon from 0 on at which its curve is at most this delta, on the safe side; None if there is none."""
        masses, discounted = self._ends
        with ctx.workprec(self.bits + _GUARD):
            scaled = arb(delta) * arb(2) ** self.bits
            target = int(floored(scaled) if self.upper else ceiled(scaled))
            if target < self.infinite:
                return None
            # the first point at which the curve has fallen to the target; at the last it is nothing but the infinite mass
            index = first_integer(lambda at: self._at(at) <= target, -1, len(self.masses) - 1)
            left = self.infinite + masses[index] - target
            if left <= 0:
                return 0.0
            # up to there, and from the point before on, it is infinite + masses - discounted e^(epsilon - point)
            crossing = arb(self.step) * (self.first + index) + (arb(left) / discounted[index]).log()
            if not self.upper:
                return max(0.0, round_down(crossing))
            before = arb(self.step) * (self.first + index - 1)
            return max(0.0, round_up(crossing.max(before) if index else crossing))


def _negligible(masses: Iterator[fmpz], spare: int) -> tuple[int, fmpz]:
    """How many masses, one after the other, are together at most what may be cut off; and what they are together."""
    count, total = 0, fmpz(0)
    for mass in masses:
        if total + mass > spare:
            break
        count, total = count + 1, total + mass
    return count, total


def ceiled(ball: arb) -> fmpz:
    """The least whole number that is certainly not below it."""
    return -floored(-ball)


def floored(ball: arb) -> fmpz:
    """The greatest whole number that is certainly not above it."""
    whole = ball.lower().floor().unique_fmpz()
    if whole is None:
        raise ArithmeticError("a whole number is not known for certain; compute it more precisely")
    return whole
