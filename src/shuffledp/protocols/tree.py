"""A line of equal intervals at several widths: each level's intervals are made of those of the next."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import InvalidInput

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Tree:
    """`size` leaves in a row; an interval of level t holds widths[t] of them, the last one perhaps fewer.

    Seen from an edge between two leaves, every other leaf is set apart from it at one level: the first whose intervals are fine
    enough that the leaf's has the edge not inside. What is known of that interval counts to the left or to the right of the edge.

    >>> Tree(10, (4, 1)).sizes
    (3, 10)
    """

    size: int
    widths: tuple[int, ...]

    def __post_init__(self) -> None:
        whole = all(type(width) is int and width >= 1 for width in self.widths)
        if not self.widths or not whole or self.widths[-1] != 1 or not self.widths[0] < self.size:
            raise InvalidInput(
                "the widths of a tree are whole numbers that end with 1. Make the plan with shuffledp plan."
            )
        if any(above <= below or above % below for above, below in zip(self.widths, self.widths[1:], strict=False)):
            raise InvalidInput("each width of a tree is a multiple of the next. Make the plan with shuffledp plan.")

    @property
    def levels(self) -> int:
        """How many there are."""
        return len(self.widths)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many intervals each level has."""
        return tuple(-(-self.size // width) for width in self.widths)

    @property
    def first_levels(self) -> NDArray[np.intp]:
        """The first level that has an edge at each of the size - 1 inner edges."""
        edges = np.arange(1, self.size)
        found = np.zeros(self.size - 1, dtype=np.intp)
        for width in self.widths[:-1]:
            found += edges % width != 0
        return found

    def lengths(self, level: int) -> Reals:
        """How many leaves the interval of a level around each leaf has; level -1 is everything."""
        if level < 0:
            return np.full(self.size, float(self.size))
        width = self.widths[level]
        start = np.arange(self.size) // width * width
        return np.minimum(width, self.size - start).astype(np.float64)

    def summed(self, users: NDArray[np.int64], level: int) -> NDArray[np.int64]:
        """What the leaves of each interval of a level add up to; along the last axis."""
        return np.add.reduceat(users, np.arange(0, self.size, self.widths[level]), axis=-1)

    def around(self, levels: Sequence[Reals], right: Literal[1, -1]) -> Reals:
        """For each inner edge: numbers of the intervals set apart to its left, plus or minus those to its right, all levels.

        One row of numbers per level, along the last axis.
        """
        runs = levels[0].shape[:-1]
        found = np.zeros((*runs, self.size + 1))
        above, width_above = np.zeros((*runs, 1)), 0
        for numbers, width in zip(levels, self.widths, strict=True):
            parents = above.shape[-1]
            children = width_above // width if width_above else numbers.shape[-1]
            padded = np.zeros((*runs, parents * children))
            padded[..., : numbers.shape[-1]] = numbers
            split = padded.reshape(*runs, parents, children)
            to_left = np.cumsum(split, axis=-1) - split
            to_right = split.sum(axis=-1, keepdims=True) - to_left  # of the edge where an interval begins
            begins = above[..., None] + to_left + right * to_right
            edges = np.arange(parents * children).reshape(parents, children)[:, 1:].ravel() * width
            inside = edges < self.size
            found[..., edges[inside]] = begins[..., 1:].reshape(*runs, -1)[..., inside]
            above = (begins - right * split).reshape(*runs, -1)[..., : numbers.shape[-1]]
            width_above = width
        return found[..., 1:-1]

    def signs(self, level: int, edge: int) -> Reals:
        """Of one level's intervals as seen from an edge: 1 if set apart to its left, -1 to its right, 0 if not at this level."""
        width = self.widths[level]
        start = np.arange(self.sizes[level]) * width
        side = (np.minimum(start + width, self.size) <= edge).astype(np.float64) - (start >= edge)
        if level == 0:
            return side
        above = start // self.widths[level - 1] * self.widths[level - 1]
        return np.where((above < edge) & (edge < above + self.widths[level - 1]), side, 0.0)
