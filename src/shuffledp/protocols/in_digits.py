"""What protocols have in common that add up numbers digit by digit, dummies among them."""

import math

import numpy as np
from numpy.typing import NDArray

from shuffledp.protocols.estimator import Reals
from shuffledp.protocols.with_dummies import WithDummies
from shuffledp.randomizers.digit_by_digit import Digits


class InDigits(WithDummies):
    """Numbers on a grid from 0 to 1, a message for each digit.

    Formula: digit j = 0, 1, ... counts w_j = B^j / (B^D - 1); all digits of one number add up to its share of the range.
    The number of dummies of a digit is known: its messages less the users. So digits are counted from the middle (B - 1) / 2 of
    all, where dummies are 0 on average. The middles of a user's true ones add up to 1/2.
    Legend: B = base, D = digits; d_j = dummies of digit j per user, G = groups; a_j = w_j (B - 1), which add up to 1.
    """

    __slots__ = ()
    randomizer: Digits

    @property
    def precision(self) -> int:
        """Number of steps of the grid."""
        return self.randomizer.levels - 1

    @property
    def weights(self) -> Reals:
        """w_j, the least significant digit first."""
        return np.array([self.randomizer.base**j / self.precision for j in range(self.randomizer.digits)])

    @property
    def shares(self) -> Reals:
        """a_j: of the range, what a digit decides."""
        return self.weights * (self.randomizer.base - 1)

    @property
    def spread_of_digits(self) -> float:
        """What the dummies of one user add to the variance of the digits from their middle, over all groups.

        Formula: sum over j of w_j^2 d_j (B^2 - 1) / 12.
        """
        base, rates = self.randomizer.base, np.array(self.randomizer.dummies)
        return float(np.square(self.weights) @ rates) * (base**2 - 1) / 12

    @property
    def spread_of_users(self) -> float:
        """What they add to that of the number of a group's users, each digit's estimate having the weight a_j.

        Formula: sum over j of a_j^2 d_j (1 - 1/G) / G.
        """
        groups, rates = self.randomizer.groups, np.array(self.randomizer.dummies)
        return float(np.square(self.shares) @ rates) * (1 - 1 / groups) / groups

    @property
    def largest_shift(self) -> float:
        """How far one report can shift a sum, in units of the range: all its messages name the most significant digit."""
        return self.most_messages * float(self.shares[-1])

    def from_the_middle(self, counts: NDArray[np.int64]) -> Reals:
        """For every group, the digits of all messages less their middles, weighted and added up; one run per row."""
        middles = np.arange(self.randomizer.base) * 2 - (self.randomizer.base - 1)  # doubled, so that sums are exact
        return np.asarray(np.einsum("...jg,j->...g", self._often(counts) @ middles, self.weights) / 2)

    def users_of(self, counts: NDArray[np.int64], n: int) -> Reals:
        """How many users each group has: every digit says so by itself, the more significant with fewer dummies."""
        of_group = self._often(counts).sum(axis=-1)
        dummies = of_group.sum(axis=-1, keepdims=True) - n
        return np.asarray(np.einsum("...jg,j->...g", of_group - dummies / self.randomizer.groups, self.shares))

    def drawn_dummies(self, n: int, generator: np.random.Generator, runs: int) -> NDArray[np.int64]:
        """The dummies of n users by digit, group and what they say, one run per row."""
        each = self.randomizer.groups * self.randomizer.base
        means = np.repeat(np.array(self.randomizer.dummies) * n / each, each)
        return generator.poisson(means, (runs, self.alphabet))

    @property
    def cells_per_run(self) -> int:
        """A number per message."""
        return self.alphabet

    def _often(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Counts of messages by digit, group and what they say; without the number of users."""
        shape = (self.randomizer.digits, self.randomizer.groups, self.randomizer.base)
        return counts[..., : math.prod(shape)].reshape(*counts.shape[:-1], *shape)
