"""The law of one bounded summand, as atoms, and how many summands there are."""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import InvalidInput

Reals = NDArray[np.float64]
Complexes = NDArray[np.complex128]
ULP = 2.0**-53
"""Relative error of one correctly rounded operation."""


@dataclass(frozen=True, slots=True)
class Law:
    """Atoms of a random variable; the mass that they leave over sits at zero.

    Attributes:
        values: where the atoms are.
        masses: their probabilities.
        scales: value i may be off by ulps * scales[i] * 2^-53; at least |value|.
        ulps: mass i may be off by ulps * masses[i] * 2^-53.
    """

    values: Reals = field(repr=False)
    masses: Reals = field(repr=False)
    scales: Reals = field(repr=False)
    ulps: float = 2.0

    def __post_init__(self) -> None:
        if not self.values.shape == self.masses.shape == self.scales.shape or self.values.ndim != 1:
            raise InvalidInput("a law needs one mass and one scale per value. Give three arrays of one length.")
        if not (np.isfinite(self.values).all() and (self.masses >= 0).all() and self.masses.sum() <= 1 + 1e-9):
            raise InvalidInput("a law needs finite values and non-negative masses that sum to at most 1.")

    @property
    def log_zero_mass_down(self) -> float:
        """A lower bound on the logarithm of the mass at zero that the atoms leave over.

        The logarithm, because a power n of the mass is taken: what is lost by rounding 1 - total would be multiplied by n.
        """
        total = float(self.masses.sum())
        total_up = math.nextafter(total * (1 + (len(self.masses) + self.ulps + 4) * 2 * ULP), math.inf)
        return math.log1p(-total_up) * (1 + 4 * ULP) if total_up < 1 else -math.inf


@dataclass(frozen=True, slots=True)
class Poisson:
    """A Poisson number of summands.

    Attributes:
        mean: how many there are on average; it may be off by one unit in its last place.
        drift: added to their sum, exactly; not above 0.
    """

    mean: float
    drift: float = 0.0

    def __post_init__(self) -> None:
        if not (0 < self.mean < math.inf and -math.inf < self.drift <= 0):
            raise InvalidInput("a Poisson number has a mean above 0, and the drift of its sum is not above 0.")


Summands = int | Poisson
"""How many summands a sum has: so many, or a Poisson number."""


def expected(n: Summands) -> float:
    """How many there are on average."""
    return n.mean if isinstance(n, Poisson) else n
