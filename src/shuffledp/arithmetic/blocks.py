"""One law above the sums of m independent summands of any one of several laws, in increasing convex order.

X is below Y in that order if U_X(t) = E[(X - t)_+] is at most U_Y(t) for every t; sums of independent variables keep it. So if
the summands of a long sum come in blocks of m, all of one law but nobody knows which, each block may be replaced by the law
whose U is the largest of the U of all blocks. Adding normal noise to a block only enlarges U, and makes its characteristic
function decay: a Fourier series with a period of many standard deviations has U in closed form. U is taken at the
points of a grid; between them it is convex, so below its chords, which are the U of a law on the grid.
docs/maths/cushion.md, Blocks, has the proofs. Assumption: as in `kernel`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from shuffledp.arithmetic.summand_law import ULP, Complexes, Law, Reals

_SMOOTHING: Final = 0.015
"""Deviation of the added noise, in standard deviations of the block: it adds 0.02 % to the variance."""
_CUT: Final = 8.8
"""Nodes go to _CUT / s."""
_REACHES: Final = (8.0, 9.0, 10.0, 12.0, 15.0, 20.0, 27.0, 40.0)
"""Half periods to try, in standard deviations of the block."""
_NEGLIGIBLE: Final = 1e-15
"""What the tail beyond the period may have, relative to the standard deviation."""
_FINE: Final = 0.03
"""Step of the grid, in standard deviations, where the block has its mass: it adds 0.015 % to the variance."""
_MIDDLE: Final = 5.0
"""Where the fine part of the grid ends."""
_COARSE: Final = 0.25
"""Step of the grid beyond."""
_CLEAR: Final = 0.1
"""A node whose relative error exceeds this is charged in full instead."""
_INFLATED: Final = 1 + 1e-9


@dataclass(frozen=True, slots=True)
class Block:
    """The law of a block, and the most by which its U may be too small anywhere."""

    law: Law
    shortfall: float


def largest_block(laws: Sequence[Law], m: int) -> Block:
    """A law above the sum of m summands of any one of the laws, all of one mean.

    >>> coin = Law(np.array([1.0, -1.0]), np.array([0.5, 0.5]), np.array([1.0, 1.0]))
    >>> block = largest_block([coin], 100)
    >>> mass, at = block.law.masses, block.law.values
    >>> bool(100 <= mass @ at**2 - (mass @ at) ** 2 <= 100.3)
    True
    """
    mean = max(float(law.masses @ law.values) for law in laws)
    summands = [_Summand(law, mean) for law in laws]
    deviation = math.sqrt(m * max(summand.variance for summand in summands))
    reach, tail = _reach(summands, m, deviation)
    series = _series(reach)
    characteristics = [_characteristic(summand, m, series.frequency, deviation) for summand in summands]
    highest = series.heights(np.array([terms for terms, _ in characteristics])).max(axis=1)
    error = max(series.rounding(spoiled, np.abs(terms)) for terms, spoiled in characteristics)
    return _on_grid(highest, series.grid, deviation, m * mean, error + series.truncation + tail)


class _Summand:
    """A law around the common mean."""

    def __init__(self, law: Law, mean: float) -> None:
        self.x, self.q = law.values - mean, law.masses
        self.scales = law.scales + abs(mean)
        self.variance = float(self.q @ self.x**2)
        # E[e^(itX)] - 1 is off by at most this times |t|: masses, angles, sines and their sum
        weight = (24 + 2 * law.ulps + 3 * len(self.x)) * self.scales
        self.off = 2 * ULP * float(self.q @ weight)
        self.ulps = law.ulps

    def log_moment(self, theta: Reals) -> Reals:
        """An upper bound on log E[e^(theta X)] for several theta > 0."""
        exponents = np.minimum(np.outer(theta, self.x), 700.0)
        slack = (8 + self.ulps + len(self.x)) * (1 + theta * float(self.scales.max())) * 4 * ULP
        log_moments = np.log(np.maximum(np.exp(exponents) @ self.q, 1e-300)) + slack
        return np.where(theta * float(self.x.max()) < 700.0, log_moments, np.inf)


def _reach(summands: list[_Summand], m: int, deviation: float) -> tuple[float, float]:
    """Half the period w, and a bound on 2 E[X; X > w], in standard deviations: x <= w e^(theta (x - w)) if theta w >= 1."""
    reach, tail = _REACHES[0], math.inf
    for reach in _REACHES:
        theta = np.geomspace(1.0, 4 * reach * reach, 60) / reach
        plus = (_SMOOTHING * theta) ** 2 / 2 - theta * reach + math.log(2 * reach)
        least = max(float((m * summand.log_moment(theta / deviation) + plus).min()) for summand in summands)
        tail = math.exp(min(600.0, least)) * _INFLATED
        if tail <= _NEGLIGIBLE:
            break
    return reach, tail


@dataclass(frozen=True, slots=True)
class _Series:
    """U at the points of a grid from the characteristic function at the nodes, all in standard deviations of the block.

    With w the reach, f = pi k / w the nodes and psi the characteristic function, U(t) is (w - t)^2 / (4 w) plus the sum of
    (1/w) Re of psi [ i (w - t) e^(-i f w) / f + (e^(-i f w) - e^(-i f t)) / f^2 ], and e^(-i f w) = (-1)^k.
    """

    reach: float
    frequency: Reals
    grid: Reals
    weights: Reals
    truncation: float

    def heights(self, terms: Complexes) -> Reals:
        """U on the grid, a column for each law."""
        level = (self.reach - self.grid) ** 2 / (4 * self.reach)
        return np.asarray(self.weights @ np.concatenate([terms.real, terms.imag], axis=1).T + level[:, None])

    def rounding(self, spoiled: Reals, size: Reals) -> float:
        """How far rounding may move U: of the nodes, of the angles in their weights, and of the sum."""
        own = (2 * len(self.frequency) + 16 * (1 + self.frequency * self.reach)) * ULP * size
        return float(((spoiled + own) * _most(self.frequency, self.reach)).sum()) + 16 * ULP * self.reach


def _most(frequency: Reals, reach: float) -> Reals:
    """The largest weight of a node."""
    return np.asarray((2 * reach / frequency + 2 / frequency**2) / reach)


@lru_cache(maxsize=16)
def _series(reach: float) -> _Series:
    step = math.pi / reach
    nodes = math.ceil(_CUT / _SMOOTHING / step) + 1
    frequency: Reals = step * np.arange(1, nodes + 1, dtype=np.float64)
    fine = np.arange(0.0, _MIDDLE, _FINE)
    side = np.concatenate([fine, np.arange(fine[-1] + _COARSE, reach - _COARSE / 2, _COARSE)])
    grid = np.concatenate([[-reach], -side[:0:-1], side, [reach]])
    sign = np.where(np.arange(1, nodes + 1) % 2, -1.0, 1.0)
    angle = np.outer(grid, frequency)
    real = (sign - np.cos(angle)) / frequency**2
    imaginary = (reach - grid)[:, None] * (sign / frequency) + np.sin(angle) / frequency**2
    # the nodes that are left out: each is smaller than the one before by a constant factor
    first = float(frequency[-1]) + step
    ratio = math.exp(-(_SMOOTHING**2) * first * step)
    left_out = math.exp(-((_SMOOTHING * first) ** 2) / 2) * float(_most(np.array([first]), reach)[0]) / (1 - ratio)
    weights = np.concatenate([real, -imaginary], axis=1) / reach
    return _Series(reach, frequency, grid, weights, left_out * _INFLATED)


def _characteristic(summand: _Summand, m: int, frequency: Reals, deviation: float) -> tuple[Complexes, Reals]:
    """The characteristic function of the block and its noise, and bounds on the errors."""
    t = frequency / deviation
    angle = np.outer(t, summand.x)
    d = -2 * (np.sin(angle / 2) ** 2 @ summand.q) + 1j * (np.sin(angle) @ summand.q)
    square_less_1 = np.maximum(2 * d.real + np.abs(d) ** 2, -1 + 1e-15)
    cumulant = 0.5 * np.log1p(square_less_1) + 1j * np.arctan2(d.imag, 1 + d.real)
    decay = (_SMOOTHING * frequency) ** 2 / 2
    terms = np.exp(m * cumulant - decay)
    modulus, off, size = np.exp(cumulant.real), summand.off * t, np.abs(terms)
    error = m * (off / modulus + 8 * ULP * np.abs(cumulant)) + 16 * ULP * (1 + m * np.abs(cumulant) + decay)
    # where the relative error is not small, both the true and the computed node are below the most they can be
    ceiling = np.exp(np.minimum(m * np.log(modulus + off) - decay, 600.0))
    spoiled = np.where(error < _CLEAR, size * np.expm1(np.minimum(error, _CLEAR)), 2 * (size + 2 * ceiling))
    return terms, spoiled


def _on_grid(height: Reals, grid: Reals, deviation: float, center: float, error: float) -> Block:
    """The law on the grid whose U goes through these points, and what it may lack."""
    slopes = np.concatenate([[-1.0], np.diff(height) / np.diff(grid), [0.0]])
    masses = np.maximum(np.diff(slopes), 0.0)
    masses /= max(1.0, float(masses.sum()))
    reached = np.maximum(grid[None, :] - grid[:, None], 0.0) @ masses
    lacking = max(0.0, float((height - reached).max())) + (len(grid) + 16) * 4 * ULP * (grid[-1] - grid[0])
    law = Law(center + deviation * grid, masses, np.abs(deviation * grid) + abs(center))
    return Block(law, (error + lacking) * deviation * _INFLATED)
