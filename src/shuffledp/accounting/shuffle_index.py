"""The shuffle index: how much of a person a very large crowd still shows, as one number per randomizer.

At epsilon = c / sqrt(n) delta is about E[(chi Z - c)_+] / sqrt(n), Z standard normal: as of a Gaussian mechanism whose signal is
chi / sqrt(n) standard deviations (docs/maths/cushion.md).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from flint import arb, ctx

from shuffledp.accounting.numeric import three_atoms
from shuffledp.arithmetic.balls import round_down, round_up
from shuffledp.arithmetic.summand_law import ULP, Poisson
from shuffledp.core import argument
from shuffledp.core.blanket import Blanket, HasBlanket
from shuffledp.core.digits import rounded_down, rounded_up
from shuffledp.core.pair import Pair
from shuffledp.core.text_tables import aligned
from shuffledp.errors import NotDefined

_BITS: Final = 2500
"""Enough for the smallest epsilon0 and the largest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShuffleIndex:
    """Between which numbers chi lies, and what the blanket gives instead.

    Attributes:
        lower: chi is at least this.
        upper: and at most this; the two differ by rounding alone where the index is known.
        blanket: the index that Lemma 5.3 would give, rounded up: how loose it is for large n.
    """

    lower: float
    upper: float
    blanket: float

    def __str__(self) -> str:
        return indices_table("", [("shuffle index", self)])

    @property
    def known(self) -> bool:
        """Whether the lower ends of enclosures are exact in the limit of many users: the index is known, and finite."""
        return self.upper <= self.lower * (1 + 1e-9) and self.upper < math.inf


def indices_table(what: str, indices: Iterable[tuple[str, ShuffleIndex]]) -> str:
    """A line for each, rounded to the safe side."""
    rows = [[name, rounded_up(i.upper, 7), rounded_down(i.lower, 7), rounded_up(i.blanket, 7)] for name, i in indices]
    return aligned([what, "index", "lower bound", "blanket's"], rows)


def shuffle_index(randomizer: HasBlanket) -> ShuffleIndex:
    """The shuffle index of a randomizer that sends one message; the term is Takagi and Liew's (arXiv 2601.19154).

    >>> from shuffledp import Laplace
    >>> found = shuffle_index(Laplace(epsilon0=2.0))
    >>> round(found.lower, 4), round(found.blanket, 4), found.known
    (1.983, 2.614, True)
    """
    return index_of(
        argument.with_method(randomizer, "blanket", "randomizer", "a randomizer, such as Laplace(epsilon0=2)").blanket()
    )


def index_of(blanket: Blanket) -> ShuffleIndex:
    """The shuffle index of a randomizer with this blanket.

    Formula: chi^2 = max over x, x', x'' of sum_y (mu_x - mu_x')^2 / mu_x''; of the blanket, with eta instead of mu_x''.
    Regime: one message per person and no dummies.
    Reference: docs/maths/cushion.md.
    Rounding: lower down, upper and blanket up.
    """
    if blanket.releases() or isinstance(blanket.summands(1), Poisson) or not blanket.needs_crowd:
        raise NotDefined(
            "the shuffle index is defined for one message per person without dummies. Account for a given number of users "
            "instead."
        )
    loose = _root_up(_of_blanket(blanket))
    exact = blanket.chi_squared()
    if exact is None:
        spread = max((_spread(pair, -1) for pair in blanket.witnesses()), default=0.0)
        return ShuffleIndex(lower=math.sqrt(spread) * (1 - 4 * ULP), upper=loose, blanket=loose)
    if not exact.is_finite():
        return ShuffleIndex(lower=math.inf, upper=math.inf, blanket=math.inf)
    with ctx.workprec(_BITS):
        chi = (blanket.chi_squared() or arb(0)).sqrt()
        upper = round_up(chi)
        return ShuffleIndex(lower=max(0.0, round_down(chi)), upper=upper, blanket=max(loose, upper))


def _of_blanket(blanket: Blanket) -> float:
    """The largest E[l^2] at epsilon = 0 with l relative to the blanket, rounded up."""
    if not blanket.pairs():
        return _spread(three_atoms(blanket), 1)
    if blanket.chi_squared() is None:
        return max(_spread(options[0], 1) for options in blanket.pairs())

    with ctx.workprec(_BITS):
        gamma = blanket.gamma()
        return max(round_up(law.second_moment / gamma) for law in blanket.amplification(arb(0)))


def _spread(pair: Pair, direction: int) -> float:
    """E[l^2] at epsilon = 0, rounded up or down."""
    if pair.bare_first.any() or pair.bare_second.any():
        return math.inf if direction > 0 else 0.0
    return pair.spread * (1 + direction * (len(pair.masses) + 4 * pair.ulps + 8) * 2 * ULP)


def _root_up(square: float) -> float:
    return math.sqrt(square) * (1 + 4 * ULP)
