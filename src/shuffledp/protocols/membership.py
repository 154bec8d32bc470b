"""Counting the messages that belong to a value: how many users hold it, how far off that is, what chance alone would show."""

import math
from typing import NamedTuple

import numpy as np
from flint import arb
from numpy.typing import NDArray

from shuffledp.arithmetic.balls import evaluate, product_up
from shuffledp.arithmetic.inversion import first_integer
from shuffledp.core import checks
from shuffledp.core.estimate import Threshold
from shuffledp.errors import InvalidInput
from shuffledp.randomizers.structure import OnStructure

Reals = NDArray[np.float64]


class Membership(NamedTuple):
    """How likely a message belongs to a value: `own` if its sender holds the value, `other` if not.

    Formula: with T messages that belong to a value, (T - n p0) / (p1 - p0) is an unbiased estimate of the number f of the n
    users who hold it, and its variance is (f p1 (1 - p1) + (n - f) p0 (1 - p0)) / (p1 - p0)^2.
    Legend: p1 = own, p0 = other.
    """

    own: float
    other: float

    @classmethod
    def of(cls, randomizer: OnStructure) -> "Membership":
        """As it runs: p1 = 1 - g + g s, p0 = (1 - g) o / s + g s."""
        g, structure = randomizer.gamma_as_run, randomizer.structure
        share, among = float(structure.share), structure.shared / structure.choices
        return cls(1 - g + g * share, (1 - g) * among + g * share)

    @property
    def gap(self) -> float:
        """By how much holding a value makes its messages likelier."""
        return self.own - self.other

    def unbiased(self, totals: NDArray[np.integer], n: int) -> Reals:
        """How many of the n users hold each value, from the messages that belong to it."""
        return np.asarray((totals - n * self.other) / self.gap)

    def variance(self, users: Reals, n: int) -> Reals:
        """The exact variance of such an estimate when that many users hold the value."""
        p1, p0 = self
        return np.asarray((users * p1 * (1 - p1) + (n - users) * p0 * (1 - p0)) / self.gap**2)

    def drawn(self, users: NDArray[np.int64], n: int, generator: np.random.Generator) -> NDArray[np.int64]:
        """How many messages belong to each value, drawn at random."""
        return np.asarray(generator.binomial(users, self.own) + generator.binomial(n - users, self.other))

    def with_points(self, points: int) -> "Membership":
        """The same if values are hashed to so many points: those of two users are on one with probability 1 / points."""
        return Membership(self.own, self.other + self.gap / points)

    def threshold(self, n: int, values: int, false_positives: float) -> Threshold:
        """The least estimate that so few of the values reach by chance, if nobody holds any of them."""
        least, expected = rare_total(n, self.other, values, false_positives)
        return Threshold(float(self.unbiased(np.array(least), n)), expected)


def rare_total(n: int, chance: float, values: int, false_positives: float) -> tuple[int, float]:
    """The least total of n messages that so few of the values reach by chance, and how many do on average.

    Formula: the least T with values P(Bin(n, p) >= T) <= false_positives; P(Bin(n, p) >= T) = I_p(T, n - T + 1).
    Legend: p = chance; I = the regularized incomplete beta function, in ball arithmetic.
    Rounding: expected false positives up.
    """
    wanted = checks.real(false_positives, "false_positives")
    if not 0 < wanted < math.inf:
        raise InvalidInput(
            f"the expected number of false positives must be above 0; got {wanted:g}. A usual choice is 1."
        )

    def expected(total: int) -> float:
        if total > n:
            return 0.0
        tail = evaluate(lambda: arb(chance).beta_lower(arb(total), arb(n - total + 1), True))
        return product_up(tail.upper, values)

    mean, log = n * chance, max(1.0, math.log(values / wanted))
    high = min(n + 1, math.ceil(mean + math.sqrt(2 * mean * log) + log) + 1)  # few enough by Bernstein's inequality
    least = first_integer(lambda total: expected(total) <= wanted, max(0, math.ceil(mean) - 1), high)
    return least, expected(least)
