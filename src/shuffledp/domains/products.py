"""Columns with ranges, of which not only the numbers are averaged but also their squares and products."""

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.digits import about
from shuffledp.domains.vectors import Box, Reals
from shuffledp.errors import InvalidInput

MOST_COLUMNS: Final = 16
"""Whose squares and products are at most 160 entries: of so many the covariance of the errors is known."""


@dataclass(frozen=True, slots=True)
class Products(Box):
    """Named columns, each scaled from its range to t in [-1, 1]: the numbers t_j, their squares, and the products t_i t_j, i < j.

    Formula: the point is t_j / R, (t_j^2 - 1) / sqrt(p), t_i t_j / R with R^2 = p (p + 1) / 2. Its squared length is convex in
    each t_j^2, so it is greatest where these are 0 or 1: 1 - k (p - k) / (p (p + 1)) if k of them are 1, which is at most 1.
    Legend: p = columns.

    >>> found = Products((0.0, 0.0), (1.0, 100.0), ("share", "age"))
    >>> found.averaged(found.clean(["1,75"]).values).tolist()
    [[1.0, 0.5, 1.0, 0.25, 0.5]]
    """

    kind = "products"

    def __post_init__(self) -> None:
        Box.__post_init__(self)
        if not 1 <= self.width <= MOST_COLUMNS:
            raise InvalidInput(f"moments are of 1 to {MOST_COLUMNS} columns; got {self.width:,}. Name fewer.")
        if not self.columns:
            raise InvalidInput("columns whose moments are asked for have names. Name each one.")
        if len(set(self.names)) < len(self.names):
            raise InvalidInput("two products of columns have the same name. Rename a column.")

    @property
    def width(self) -> int:
        return len(self.lows)

    @property
    def dimension(self) -> int:
        return self.width * (self.width + 3) // 2

    @property
    def names(self) -> tuple[str, ...]:
        squares = (f"{name} squared" for name in self.columns)
        return (*self.columns, *squares, *(f"{one} times {other}" for one, other in self.pairs))

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Every two columns, in the order of their products."""
        return tuple(combinations(self.columns, 2))

    @property
    def middle(self) -> Reals:
        return np.repeat((0.0, 1.0, 0.0), self._sizes)

    @property
    def radii(self) -> Reals:
        # squares have more room than other entries, at no cost to these
        wide = math.sqrt(self.width * (self.width + 1) / 2)
        return np.repeat((wide, math.sqrt(self.width), wide), self._sizes)

    @property
    def squares(self) -> tuple[float, float]:
        # convex in the squares of the scaled numbers, and alike in them: least where these are 1 / (p + 1) each
        p, s = self.width, 1 / (self.width + 1)
        return p * (s + (1 - s) ** 2) + p * (p - 1) / 2 * s**2, p * (p + 1) / 2

    @property
    def most_squares(self) -> Reals:
        return np.asarray(1 / np.square(self.radii))

    @property
    def _sizes(self) -> tuple[int, int, int]:
        return self.width, self.width, self.width * (self.width - 1) // 2

    def off_by(self, share: float) -> str:
        """In words, an error that is this share of each column's range."""
        return f"each mean is off by at most {about(50 * share * float(self.radii[0]))} % of its column's range"

    def averaged(self, values: NDArray[Any]) -> Reals:
        scaled = (self.rows(values) - self.centre) / self.halves
        first, second = np.triu_indices(self.width, 1)
        return np.concatenate([scaled, scaled * scaled, scaled[:, first] * scaled[:, second]], axis=1)

    def landmarks(self) -> NDArray[Any]:
        """A corner, one of those farthest from it in the ball, where the entries are nearest to the middle, and another point."""
        across = np.where(np.arange(self.width) % 2, 1.0, -1.0)
        ways = [np.ones(self.width), across, np.full(self.width, math.sqrt(1 / (self.width + 1))), 0.3 * across]
        return self._cleaned(self.centre + np.array(ways) * self.halves)
