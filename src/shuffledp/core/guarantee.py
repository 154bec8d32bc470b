"""What is claimed: (epsilon, delta)-differential privacy of the shuffled messages of n users."""

from dataclasses import dataclass
from typing import Final

from shuffledp.core.digits import rounded_up
from shuffledp.core.display import paragraphs

ADJACENCY: Final = "replace-one"
"""Neighbouring datasets differ in one user's value; the number of users is public."""
SETTING: Final = f"{ADJACENCY} neighbours, number of users public"
"""The same in a few words, for tables."""

NOTHING_LOCAL: Final = (
    "THERE IS NO LOCAL GUARANTEE: whoever sees the messages of one user before they are shuffled, such as a shuffler and an "
    "analyzer who collude, may learn the value"
)
"""Where users rely on others' dummies alone."""


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
            f"{claim(self.epsilon, self.delta)} after shuffling {self.n:,} reports "
            f"({self.adjacency} neighbours, number of users public; proved by the {self.bound} bound)"
        )

    def _repr_html_(self) -> str:
        return paragraphs(str(self))


def claim(epsilon: float, delta: float) -> str:
    """What is claimed, in words.

    >>> claim(0.12345678, 1e-6)
    '(0.123457, 1e-6)-differentially private'
    """
    return f"({rounded_up(epsilon)}, {rounded_up(delta)})-differentially private"
