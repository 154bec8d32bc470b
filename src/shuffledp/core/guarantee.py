"""What is claimed: (epsilon, delta)-differential privacy of the shuffled messages of n users."""

from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from typing import Final

_SIX_DIGITS_UP: Final = Context(prec=6, rounding=ROUND_CEILING)

ADJACENCY: Final = "replace-one"
"""Neighbouring datasets differ in one user's value; the number of users is public."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """The shuffled messages of n users are (epsilon, delta)-DP under replace-one adjacency, n being public.

    Attributes:
        epsilon: rounded up.
        delta: rounded up.
        n: number of honest reports relied on.
        bound: name of the bound that proves it.
        reference: where the bound is stated.
        adjacency: which datasets are neighbours.
    """

    epsilon: float
    delta: float
    n: int
    bound: str
    reference: str
    adjacency: str = ADJACENCY

    def __str__(self) -> str:
        return (
            f"({_up(self.epsilon)}, {_up(self.delta)})-differentially private after shuffling {self.n:,} reports "
            f"({self.adjacency} neighbours, n public; by {self.bound})"
        )


def _up(value: float) -> str:
    """Six significant digits, rounded up: what is printed still holds."""
    return f"{float(_SIX_DIGITS_UP.create_decimal(Decimal(value))):.6g}"
