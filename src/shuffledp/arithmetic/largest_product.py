"""How near the nearest of many random points of a sphere is to a given one."""

import math
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
_PANELS: Final = 24
_NODES: Final = 40
_REACH: Final = 9.0
"""Standard deviations of a coordinate beyond which its law has less mass than doubles can add."""


class LargestProduct(NamedTuple):
    """The largest inner product T of a unit vector with independent uniform ones: E[T] and E[T^2]."""

    mean: float
    square: float


class Coordinate(NamedTuple):
    """The law of one coordinate of a uniform point of a sphere, at the nodes of a quadrature.

    Attributes:
        values: of the coordinate, increasing.
        tails: how likely it is above each.
        weights: of an integral over the values.
        end: the largest value that is looked at; the law is symmetric, and has no mass beyond it that a double could add.
    """

    values: Reals
    tails: Reals
    weights: Reals
    end: float


@lru_cache(maxsize=512)
def largest_product(dimension: int, size: int) -> LargestProduct:
    """Of `size` uniform points of the unit sphere in this many dimensions.

    Formula: E[T] = 1 - integral over [-1, 1] of F(t)^M, E[T^2] = 1 - integral of 2 t F(t)^M.
    Legend: M = size, F = the distribution function of a coordinate, t^2 ~ Beta(1/2, (D-1)/2), D = dimension.
    Regime: D >= 2, M >= 1. Rounding: to about 1e-13, which only accuracy depends on.
    Reference: docs/maths/vectors.md.
    """
    law = coordinate(dimension)
    with np.errstate(divide="ignore"):
        powers = np.exp(size * np.log1p(-law.tails)) * law.weights
    return LargestProduct(law.end - float(powers.sum()), law.end**2 - float((2 * law.values * powers).sum()))


@lru_cache(maxsize=8)
def coordinate(dimension: int, panels: int = _PANELS) -> Coordinate:
    """By Gauss-Legendre quadrature in the angle a, t = sin(a), whose density is in proportion to cos(a)^(D-2): it has no corners.

    In each panel the density is a polynomial through the nodes, integrated from each node to the panel's end.
    """
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    degrees = np.arange(_NODES)
    each = np.polynomial.legendre.legvander(nodes, _NODES)
    rest = np.empty((_NODES, _NODES))
    rest[:, 0] = 1 - nodes
    rest[:, 1:] = (each[:, : _NODES - 1] - each[:, 2 : _NODES + 1]) / (2 * degrees[1:] + 1)
    to_the_end = rest @ ((2 * degrees[:, None] + 1) / 2 * weights * each[:, :_NODES].T)
    reach = min(math.pi / 2, _REACH / math.sqrt(dimension))
    half = reach / panels
    middles = half * (2 * np.arange(panels) + 1) - reach
    angles = middles[:, None] + half * nodes
    cosines = np.cos(angles)
    density = np.exp((dimension - 2) * np.log(cosines))
    whole = half * density @ weights
    after = np.append(np.cumsum(whole[:0:-1])[::-1], 0.0)
    tails = (half * density @ to_the_end.T + after[:, None]) / whole.sum()
    return Coordinate(
        np.sin(angles).ravel(), np.clip(tails, 0.0, 1.0).ravel(), (half * weights * cosines).ravel(), math.sin(reach)
    )
