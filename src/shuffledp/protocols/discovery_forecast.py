"""How frequent a text must be to be found: a forecast by normal approximations. It decides nothing about privacy."""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np

from shuffledp.protocols.discovery import FALSE_PREFIXES
from shuffledp.protocols.membership import Membership
from shuffledp.protocols.prefixes import TABLES

SURELY: Final = 0.95
"""How likely a text is found from the reach on."""
_FREQUENT: Final = 100
"""Beginnings that are assumed to be frequent at each level."""
_LUCKY: Final = 0.01
"""About how often a text that shares a point with a frequent one in one table passes by luck in the other."""
_NORMAL: Final = NormalDist()
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What can be found.

    Attributes:
        law: of a user's message to a text at one level.
        levels: how many there are.
        pieces: ways to go on with a beginning.
        points: of one table.
        n: users.
        allowed: false positives at the last level.
    """

    law: Membership
    levels: int
    pieces: int
    points: int
    n: int
    allowed: float

    def found(self, users: float) -> float:
        """How likely a text of so many users is found, if no other text begins like it."""
        return math.prod(self._passed(users, level) for level in range(self.levels))

    def users(self) -> float:
        """The least number of users from which a text is found almost surely; infinite if there is none."""
        low, high = 1.0, float(self.n)
        if self.found(high) < SURELY:
            return math.inf
        while high > low * 1.001:
            middle = math.sqrt(low * high)
            low, high = (low, middle) if self.found(middle) >= SURELY else (middle, high)
        return high

    def sharing(self) -> float:
        """About how many false texts pass because they share a point with a frequent one."""
        return self._tried(self.levels - 1) * TABLES * _FREQUENT / self.points * _LUCKY

    def _tried(self, level: int) -> float:
        return self.pieces * (_FREQUENT + FALSE_PREFIXES if level else 1)

    def _threshold(self, level: int) -> float:
        """Messages above chance; the normal tail, corrected for the skewness of rare events."""
        allowed = self.allowed if level == self.levels - 1 else FALSE_PREFIXES
        z = -_NORMAL.inv_cdf(min(0.5, allowed / self._tried(level)))
        mean = self.n * self.law.other
        return math.sqrt(mean) * (z + max(0.0, z * z - 1) / (6 * math.sqrt(mean)))

    def _passed(self, users: float, level: int) -> float:
        """With S the messages of both tables and D their difference: S reaches the threshold and |D| <= S / 2.

        A message is in either table with the same probability, so S and D are uncorrelated and D^2 is S on average.
        """
        own, other = self.law
        mean = users * self.law.gap
        spread = max(0.5, self.law.gap * math.sqrt(float(self.law.variance(np.array(users), self.n))))
        apart = math.sqrt(users * own + (self.n - users) * other)
        start = max((self._threshold(level) - mean) / spread, -8.0)
        if start > 8:
            return 0.0
        z = start + (8 - start) * (1 + _NODES) / 2
        agreeing = [math.erf(max(0.0, mean + x * spread) / (2 * math.sqrt(2) * apart)) for x in z.tolist()]
        density = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        return float((density * agreeing) @ _WEIGHTS * (8 - start) / 2)
