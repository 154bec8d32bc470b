"""What two inputs and a measure below all inputs say about each other: the raw material of the numeric bounds."""

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from flint import arb

from shuffledp.arithmetic.summand_law import ULP, Law, Poisson, Reals, Summands

_TINY = arb(2) ** -1100
"""Below every double: a ball around 0 this thin is 0."""


def _none() -> Reals:
    return np.zeros(0)


@dataclass(frozen=True)
class Pair:
    """Messages y with l(y) = (mu_x(y) - e^epsilon mu_x'(y)) / eta(y), for a measure eta.

    With dummies eta is the law of one of them, and delta = (1/m) E[(l_1 + ... + l_N)_+], N ~ Poisson(m): docs/maths/dummies.md.
    If eta <= mu_z for every input z, delta <= (1/n) E[(l_1 + ... + l_n)_+] + uncovered (upper bound). If eta = mu_x'' is
    the law of one input, delta >= (1/n) E[(l_1 + ... + l_n)_+] (all other users hold x'').

    Attributes:
        difference: (mu_x - mu_x') / eta, nearest doubles: kept apart so that small epsilons lose nothing.
        second: mu_x' / eta.
        masses: eta.
        bare_first: mu_x where eta is 0.
        bare_second: mu_x' there.
        ulps: how many units in the last place these may be off.
        unseen: mu_x and mu_x' of the messages that a witness does not look at; of Poisson numbers of messages only.
    """

    difference: Reals = field(repr=False)
    second: Reals = field(repr=False)
    masses: Reals = field(repr=False)
    bare_first: Reals = field(default_factory=_none, repr=False)
    bare_second: Reals = field(default_factory=_none, repr=False)
    ulps: float = 2.0
    unseen: float = 0.0

    def law(self, epsilon: float) -> Law:
        """The law of l at this epsilon."""
        rise = math.expm1(epsilon)
        loss = self.second * rise
        return Law(self.difference - loss, self.masses, np.abs(self.difference) + loss, self.ulps + 4)

    def summands(self, n: Summands, epsilon: float) -> Summands:
        """How many terms l there are: unseen messages shift their sum, by what both inputs have of them."""
        if not isinstance(n, Poisson) or self.unseen == 0:
            return n
        return Poisson(n.mean, -self.unseen * math.expm1(epsilon) * n.mean * (1 + 8 * ULP))

    def uncovered_up(self, epsilon: float) -> float:
        """An upper bound on the sum of (mu_x - e^epsilon mu_x')_+ over messages outside eta."""
        if len(self.bare_first) == 0:
            return 0.0
        gaps = self.bare_first * (1 + 1e-14) - math.exp(epsilon) * self.bare_second * (1 - 1e-14)
        return math.fsum(np.maximum(gaps, 0.0).tolist()) * (1 + 1e-14)

    @cached_property
    def largest_ratio(self) -> float:
        """The largest likelihood ratio to eta."""
        return float(max(np.abs(self.difference).max(initial=0.0), self.second.max(initial=0.0)))

    @cached_property
    def spread(self) -> float:
        """E[l^2] at epsilon = 0: the larger, the less private."""
        if self.largest_ratio > 1e150:
            return math.inf
        return float(self.masses @ self.difference**2)


def pair_of(atoms: list[tuple[arb, arb, arb]]) -> Pair:
    """The pair with these atoms of ((mu_x - mu_x') / eta, mu_x' / eta, eta)."""
    difference, second, masses = (doubles(list(column)) for column in zip(*atoms, strict=True))
    return Pair(difference, second, masses)


def held_by_either(atoms: list[tuple[arb, arb, arb]]) -> list[Pair]:
    """Two inputs relative to the law of each of them: all others hold the first, or the second."""
    on_first, on_second = [], []
    for difference, second, mass in atoms:
        first = second + difference
        on_first.append((difference / first, second / first, mass * first))
        on_second.append((difference / second, arb(1), mass * second))
    return [pair_of(on_first), pair_of(on_second)]


def doubles(balls: list[arb]) -> Reals:
    """Nearest doubles of balls, which must be thin enough for that: lost precision must not go unseen."""
    for ball in balls:
        if ball.rel_accuracy_bits() < 56 and not ball.rad() < _TINY:
            raise ArithmeticError(
                f"a quantity is known to {ball.rel_accuracy_bits()} bits only; compute it more precisely"
            )
    return np.array([float(ball) for ball in balls], dtype=np.float64)
