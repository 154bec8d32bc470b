"""The Laplace mechanism on [0, 1]: value + Laplace(1 / epsilon0), as a continuous law."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from flint import arb, ctx
from numpy.typing import ArrayLike, NDArray

from shuffledp.core import checks
from shuffledp.core.blanket import AmplificationVariable, Blanket, RandomizerFamily
from shuffledp.core.pair import Pair
from shuffledp.randomizers.lattice import LatticeChannel, discretize
from shuffledp.randomizers.noise_cells import Cells, cell_masses
from shuffledp.randomizers.of_blanket import ByEpsilon0

_STEP = 0.02
"""Finest cell of the log-likelihood ratio: the cells add about 1e-4 of its variance to l."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceBlanket(Blanket):
    """Blanket of the Laplace mechanism: the Laplace density centred at 1/2, with probability e^(-eps0/2).

    The laws of L over all pairs are dominated, in convex order, by the pair (0, 1) (docs/maths/blankets.md).
    Reference: BBGN19, Lemma 5.1 (gamma), Lemma 5.8 (L).
    """

    local: float

    @property
    def label(self) -> str:
        """The randomizer in words."""
        return "Laplace on [0, 1]"

    def gamma(self) -> arb:
        """The probability of ignoring the value."""
        return (-arb(self.local) / 2).exp()

    def epsilon0(self) -> arb:
        """The local privacy parameter."""
        return arb(self.local)

    def amplification(self, epsilon: arb) -> Sequence[AmplificationVariable]:
        """Lemma 5.8 at the pair (0, 1), where its bounds are attained."""
        a, p, root = epsilon.exp(), arb(self.local).exp(), (arb(self.local) / 2).exp()
        return [
            AmplificationVariable(
                mean=-epsilon.expm1(),
                lower=(1 - a * p) / root,
                upper=root * (1 - a / p),
                second_moment=(a**2 + 1) * (2 * root + 1 / p) / 3 - 2 * a * (2 / root - 1 / p),
            )
        ]

    def chi_squared(self) -> arb:
        """Of 0 and 1 while the others hold 0: the largest of all (docs/maths/cushion.md)."""
        e = arb(self.local)
        return (2 * e.expm1() + (-2 * e).expm1()) / 3

    def pairs(self) -> Sequence[Sequence[Pair]]:
        """The pair (0, 1), which dominates all others."""
        return [[_spread(self.local)]]

    def witnesses(self) -> Sequence[Pair]:
        """All others at 0, at 1, or at 1/2."""
        return list(_contractions(self.local))


def _shares(epsilon0: float) -> list[float]:
    """Depths below eps0, as shares of it, at which to cut: fine near the ends, where l is large, coarse in the middle."""
    depth, depths = 0.0, []
    while depth < epsilon0 * (1 - 1e-3):
        depths.append(depth / epsilon0)
        depth += min(0.4, _STEP * math.exp(depth / 2)) * min(1.0, epsilon0)
    return depths


def _bits(epsilon0: float) -> int:
    """Enough for masses of e^-(2 epsilon0), found as differences of probabilities near 1."""
    return 256 + math.ceil(4 * epsilon0)


@lru_cache(maxsize=64)
def _cells(epsilon0: float) -> tuple[Cells, list[list[arb]]]:
    """Cells of the log-likelihood ratio v = eps0 (1 - 2 y), which is eps0 below 0 and -eps0 above 1."""
    with ctx.workprec(_bits(epsilon0)):
        e = arb(epsilon0)
        half = [e * (1 - share) for share in _shares(epsilon0)]
        edges = [*(-v for v in half), arb(0), *reversed(half)]
        at_0 = cell_masses([((v - e) / 2).exp() / 2 for v in edges])
        at_1 = cell_masses([1 - ((-v - e) / 2).exp() / 2 for v in edges])
        at_half = cell_masses([(v / 2).exp() / 2 if v <= 0 else 1 - (-v / 2).exp() / 2 for v in edges])
    return Cells(edges=edges, first=at_0, second=at_1), [at_0, at_1, at_half]


@lru_cache(maxsize=64)
def _spread(epsilon0: float) -> Pair:
    with ctx.workprec(_bits(epsilon0)):
        return _cells(epsilon0)[0].spread(cover_top=True)


@lru_cache(maxsize=64)
def _contractions(epsilon0: float) -> tuple[Pair, ...]:
    with ctx.workprec(_bits(epsilon0)):
        cells, laws = _cells(epsilon0)
        return tuple(cells.contraction(others) for others in laws)


@dataclass(frozen=True, slots=True, kw_only=True)
class Laplace(ByEpsilon0):
    """Value in [0, 1] plus Laplace noise of scale 1 / epsilon0: the paper's continuous law, for accounting.

    What *runs* is `lattice()`: a finite channel with integer probabilities and a blanket of its own.

    >>> Laplace(epsilon0=2.0).gamma
    0.3678794411714423
    """

    kind: ClassVar[str] = "laplace"

    epsilon0: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon0", checks.epsilon(self.epsilon0, "epsilon0", positive=True, side="up"))

    @staticmethod
    def family() -> RandomizerFamily:
        """The Laplace mechanism with epsilon0 left open."""
        return RandomizerFamily(
            parameter="epsilon0",
            blanket=lambda epsilon0: LaplaceBlanket(local=epsilon0),
            low=1e-9,
            high=checks.LARGEST_EPSILON,
            more_private="smaller",
        )

    def blanket(self) -> LaplaceBlanket:
        """The privacy blanket."""
        return LaplaceBlanket(local=self.epsilon0)

    def density(self, message: ArrayLike, value: float) -> NDArray[np.float64]:
        """mu_value(message)."""
        noise = np.abs(np.asarray(message, dtype=np.float64) - value)
        return self.epsilon0 / 2 * np.exp(-self.epsilon0 * noise)

    def omega(self, message: ArrayLike) -> NDArray[np.float64]:
        """The blanket's density: Laplace centred at 1/2."""
        return self.density(message, 0.5)

    def left_over(self, message: ArrayLike, value: float) -> NDArray[np.float64]:
        """nu_value(message) = (mu_value - gamma omega) / (1 - gamma)."""
        gap = self.density(message, value) - self.gamma * self.omega(message)
        return np.maximum(gap, 0.0) / (1 - self.gamma)

    def as_run(self) -> LatticeChannel:
        """The lattice of usual fineness."""
        return self.lattice()

    def lattice(self, *, inputs: int = 17, outputs: int = 129, reach: float | None = None) -> LatticeChannel:
        """The channel that runs: inputs on a lattice of [0, 1], outputs clamped to one on [-reach, 1 + reach]."""
        rate = arb(self.epsilon0)

        def cdf(noise: arb) -> arb:
            return (rate * noise).exp() / 2 if noise < 0 else 1 - (-rate * noise).exp() / 2

        return discretize(
            cdf,
            inputs=inputs,
            outputs=outputs,
            reach=8 / self.epsilon0 if reach is None else checks.real(reach, "reach"),
            label=f"Laplace(epsilon0={self.epsilon0:g}) on a lattice",
        )
