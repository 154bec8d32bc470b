"""The Gaussian mechanism on [0, 1]: value + N(0, sigma^2), as a continuous law. The paper's open case."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import ClassVar, Self, overload

import numpy as np
from flint import arb, ctx
from numpy.typing import ArrayLike, NDArray

from shuffledp.core import checks
from shuffledp.core.blanket import AmplificationVariable, Blanket, RandomizerFamily
from shuffledp.core.document import Readers, Written, number
from shuffledp.core.pair import Pair
from shuffledp.randomizers.lattice import LatticeChannel, discretize
from shuffledp.randomizers.noise_cells import Cells
from shuffledp.randomizers.of_blanket import OfBlanket

_STEP = 0.02
"""Width of a cell of the log-likelihood ratio, relative to the smaller of 1 and its standard deviation 1 / sigma."""
_CUTS = tuple(k / 8 for k in range(16, 177))
"""Where the upper tail may be cut off: that many standard deviations of the message away."""


def _normal_cdf(x: arb) -> arb:
    return (-x / arb(2).sqrt()).erfc() / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianBlanket(Blanket):
    """Blanket of the Gaussian mechanism: the lower of the densities centred at 0 and at 1.

    L is unbounded, so neither Hoeffding's nor Bennett's inequality applies. Its second moment at the pair (0, 1) is
    gamma (1 + a^2) (e^(1/s^2) Phi(3/(2s)) + Phi(-1/(2s))) - 4 a gamma Phi(1/(2s)), with a = e^epsilon, s = sigma.
    Reference: BBGN19, Lemma 5.1 (gamma).
    """

    sigma: float

    @property
    def label(self) -> str:
        """The randomizer in words."""
        return "Gaussian on [0, 1]"

    @property
    def bounded(self) -> bool:
        """Whether L is bounded."""
        return False

    @property
    def caveat(self) -> str:
        """The one gap: docs/maths/blankets.md, which pairs."""
        return "takes (0, 1) as the worst pair of inputs: proved but for one corner, checked numerically there"

    def gamma(self) -> arb:
        """The probability of ignoring the value: 2 P[N(0, sigma^2) <= -1/2]."""
        return 2 * _normal_cdf(-1 / (2 * arb(self.sigma)))

    def epsilon0(self) -> None:
        """There is none: the likelihood ratio of two values is unbounded."""

    def amplification(self, epsilon: arb) -> Sequence[AmplificationVariable]:
        """The law at the pair (0, 1): mean and second moment; no range."""
        a, s, gamma = epsilon.exp(), arb(self.sigma), self.gamma()
        square = (1 / s**2).exp() * _normal_cdf(3 / (2 * s)) + _normal_cdf(-1 / (2 * s))
        return [
            AmplificationVariable(
                mean=-epsilon.expm1(),
                lower=arb.neg_inf(),
                upper=arb.pos_inf(),
                second_moment=gamma * ((1 + a**2) * square - 4 * a * _normal_cdf(1 / (2 * s))),
            )
        ]

    def chi_squared(self) -> arb:
        """Of 0 and 1 while the others hold 0: the largest of all (docs/maths/cushion.md)."""
        return (1 / arb(self.sigma) ** 2).expm1()

    def pairs(self) -> Sequence[Sequence[Pair]]:
        """The pair (0, 1), with its upper tail cut off at several places (docs/maths/blankets.md on other pairs)."""
        return [_Spreads(self.sigma)]

    def witnesses(self) -> Sequence[Pair]:
        """All others at 0, at 1, or at 1/2."""
        return list(_contractions(self.sigma))


def _cells(sigma: float, deviations: float) -> tuple[Cells, list[list[arb]]]:
    """Cells of the log-likelihood ratio v = (1 - 2 y) / (2 sigma^2), up to so many standard deviations."""
    reach = min(170.0, 1 / (2 * sigma**2) + deviations / sigma)
    below = _marks(sigma, min(170.0, 1 / (2 * sigma**2) + 8.5 / sigma), 1.08)
    edges = [*(-v for v in reversed(below)), 0.0, *_marks(sigma, reach, 1.02)]

    def masses(value: float) -> list[arb]:
        # differences of tails, on the side where they are small
        tails = [_tails(sigma, value, v) for v in edges]
        inner = [b[0] - a[0] if a[0] < 0.5 else a[1] - b[1] for a, b in pairwise(tails)]
        return [tails[0][0], *inner, tails[-1][1]]

    first, second = masses(0.0), masses(1.0)
    return Cells(edges=[arb(v) for v in edges], first=first, second=second), [first, second, masses(0.5)]


class _Spreads(Sequence[Pair]):
    """The measures by where they are cut off, each made when first asked for."""

    def __init__(self, sigma: float) -> None:
        self._sigma = sigma

    def __len__(self) -> int:
        return len(_CUTS)

    @overload
    def __getitem__(self, index: int) -> Pair: ...
    @overload
    def __getitem__(self, index: slice) -> list[Pair]: ...
    def __getitem__(self, index: int | slice) -> Pair | list[Pair]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return _spread(self._sigma, _CUTS[index])


@lru_cache(maxsize=256)
def _spread(sigma: float, deviations: float) -> Pair:
    with ctx.workprec(128):
        return _cells(sigma, deviations)[0].spread(cover_top=False)


@lru_cache(maxsize=50_000)
def _tails(sigma: float, value: float, v: float) -> tuple[arb, arb]:
    """Probabilities that the log-likelihood ratio is below and above v: that y is above and below 1/2 - sigma^2 v."""
    mark = (arb(value) - 0.5) / arb(sigma) + arb(sigma) * arb(v)
    return _normal_cdf(mark), _normal_cdf(-mark)


def _marks(sigma: float, reach: float, growth: float) -> list[float]:
    """Where to cut between 0 and reach: evenly as far as l^2 has its mass, then wider and wider."""
    step, busy = _STEP * min(1.0, 1 / sigma), 1.5 / sigma**2 + 2.5 / sigma
    marks = [step]
    while marks[-1] < reach:
        step *= growth if marks[-1] > busy else 1.0
        marks.append(marks[-1] + step)
    return [*(v for v in marks if v < reach - step / 2), reach]


@lru_cache(maxsize=16)
def _contractions(sigma: float) -> tuple[Pair, ...]:
    with ctx.workprec(128):
        laws = (_cells(sigma, d) for d in (1.0, 2.0, 4.0))
        return tuple(cells.contraction(masses) for cells, others in laws for masses in others)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaussian(OfBlanket, Written):
    """Value in [0, 1] plus normal noise of standard deviation sigma: the continuous law, for accounting.

    It has no epsilon0 (`epsilon0` is None). What *runs* is `lattice()`.

    >>> Gaussian(sigma=1.0).gamma
    0.6170750774519738
    """

    kind: ClassVar[str] = "gaussian"
    readers: ClassVar[Readers] = {"sigma": number}

    sigma: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", checks.scale(self.sigma, "sigma"))

    @staticmethod
    def family() -> RandomizerFamily:
        """The Gaussian mechanism with sigma left open."""
        return RandomizerFamily(
            parameter="sigma",
            blanket=lambda sigma: GaussianBlanket(sigma=sigma),
            low=0.1,
            high=1e6,
            more_private="larger",
        )

    @classmethod
    def examples(cls) -> list[Self]:
        """Weak and strong noise."""
        return [cls(sigma=sigma) for sigma in (0.5, 2.0)]

    def blanket(self) -> GaussianBlanket:
        """The privacy blanket."""
        return GaussianBlanket(sigma=self.sigma)

    def density(self, message: ArrayLike, value: float) -> NDArray[np.float64]:
        """mu_value(message)."""
        standard = (np.asarray(message, dtype=np.float64) - value) / self.sigma
        return np.asarray(np.exp(-(standard**2) / 2) / (self.sigma * np.sqrt(2 * np.pi)))

    def omega(self, message: ArrayLike) -> NDArray[np.float64]:
        """The blanket's density: the lower of the two end points' densities, normalised."""
        return np.minimum(self.density(message, 0.0), self.density(message, 1.0)) / self.gamma

    def left_over(self, message: ArrayLike, value: float) -> NDArray[np.float64]:
        """nu_value(message) = (mu_value - gamma omega) / (1 - gamma)."""
        gap = self.density(message, value) - self.gamma * self.omega(message)
        return np.maximum(gap, 0.0) / (1 - self.gamma)

    def as_run(self) -> LatticeChannel:
        """The lattice of usual fineness."""
        return self.lattice()

    def lattice(self, *, inputs: int = 17, outputs: int = 129, reach: float | None = None) -> LatticeChannel:
        """The channel that runs: inputs on a lattice of [0, 1], outputs clamped to one on [-reach, 1 + reach]."""
        sigma = arb(self.sigma)
        return discretize(
            lambda noise: _normal_cdf(noise / sigma),
            inputs=inputs,
            outputs=outputs,
            reach=4 * self.sigma if reach is None else checks.real(reach, "reach"),
            label=f"Gaussian(sigma={self.sigma:g}) on a lattice",
        )
