"""Additive noise on [0, 1] cut into cells of its log-likelihood ratio, for the numeric bounds.

Between the inputs 0 and 1 everything depends on v(y) = log(mu_0(y) / mu_1(y)) alone: with eta = min(mu_0, mu_1),
l = e^v - e^epsilon where v >= 0 and 1 - e^(epsilon - v) where v <= 0. Cut the line at v-values (0 among them).
A *spread* moves each cell's mass to its two ends, keeping the mean of l: larger in convex order, for upper bounds. A
*contraction* moves it to its mean: smaller, for lower bounds. Where the cells are cut does not depend on epsilon.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from flint import arb

from shuffledp.core.pair import Pair, doubles


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Cells of the real line, in increasing v.

    Attributes:
        edges: v at the cells' ends, the outer two possibly where a tail is cut off.
        first: mu_0 of the cells, and of the tails below and above: len(edges) + 1 masses.
        second: mu_1 likewise.
    """

    edges: Sequence[arb]
    first: Sequence[arb]
    second: Sequence[arb]

    def spread(self, *, cover_top: bool) -> Pair:
        """The pair (0, 1) with eta = min(mu_0, mu_1), each cell's mass moved to the ends of the cell.

        The tail of small v moves up to the first edge, which only enlarges the bound. In the tail of large v l is constant
        (`cover_top`, Laplace) or eta is set to 0 there and the tail is paid for in full (Gaussian).
        """
        count = len(self.edges)
        masses = [arb(0)] * count
        masses[0] += self.first[0] if self.edges[0] < 0 else self.second[0]
        for j in range(count - 1):
            low, high = self.edges[j], self.edges[j + 1]
            if low >= 0:  # eta = mu_1 and l rises with e^v, whose mean over the cell is mu_0 / mu_1
                eta, ratio, start, end = self.second[j + 1], self.first[j + 1], low.exp(), high.exp()
            else:  # eta = mu_0 and l rises with -e^-v
                eta, ratio, start, end = self.first[j + 1], -self.second[j + 1], -(-low).exp(), -(-high).exp()
            up = (ratio - start * eta) / (end - start)
            masses[j + 1] += up
            masses[j] += eta - up
        bare: tuple[list[arb], list[arb]] = ([], [])
        if cover_top:
            masses[-1] += self.second[-1]
        else:
            bare = (
                [self.first[-1]],
                [arb(0)],
            )  # mu_1 may not be subtracted: v can be below epsilon in part of the tail
        return Pair(
            doubles([v.expm1() if v >= 0 else -(-v).expm1() for v in self.edges]),
            doubles([arb(1) if v >= 0 else (-v).exp() for v in self.edges]),
            doubles(masses),
            doubles(bare[0]),
            doubles(bare[1]),
        )

    def contraction(self, others: Sequence[arb]) -> Pair:
        """The pair (0, 1) when all others follow a law with these masses of the cells: each cell merged into one message."""
        cells = [(u, v, w) for u, v, w in zip(self.first, self.second, others, strict=True) if w > 0]
        return Pair(
            doubles([_or_zero((u - v) / w) for u, v, w in cells]),
            doubles([v / w for _, v, w in cells]),
            doubles([w for *_, w in cells]),
        )


def _or_zero(difference: arb) -> arb:
    """A difference that cannot be told from 0 is 0 by symmetry (mu_0 and mu_1 mirror each other); it is off by at most 2^-100."""
    return arb(0) if difference.contains(0) and difference.rad() < arb(2) ** -100 else difference


def cell_masses(marks: Sequence[arb]) -> list[arb]:
    """From probabilities of v up to each edge: of the tail below, the cells, and the tail above."""
    return [marks[0], *(b - a for a, b in pairwise(marks)), 1 - marks[-1]]
