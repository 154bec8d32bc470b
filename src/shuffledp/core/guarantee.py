"""What is claimed: (epsilon, delta)-differential privacy of the shuffled messages of n users."""

import math
from dataclasses import dataclass
from typing import Any, Final

from flint import arb

from shuffledp.arithmetic.balls import product_up, round_up
from shuffledp.core import checks
from shuffledp.core.digits import counted, rounded_up
from shuffledp.core.display import figure_of, page_of
from shuffledp.errors import InvalidInput

ADJACENCY: Final = "replace-one"
"""Neighbouring datasets differ in one user's value; the number of users is public."""
SETTING: Final = f"{ADJACENCY} neighbours, number of users public"
"""The same in a few words, for tables."""

NOTHING_LOCAL: Final = (
    "THERE IS NO LOCAL GUARANTEE: whoever sees the messages of one user before they are shuffled, such as a shuffler and an "
    "analyzer who collude, may learn the value"
)
"""Where users rely on others' dummies alone."""


SHUFFLER_NOISE: Final = (
    "relies on dummies that the shuffler adds, and on no crowd: it holds against the analyzer and all who see the answer, but "
    "not against a shuffler who sees it"
)
"""The caveat where the shuffler hides people, as files state it: readers compare it letter by letter, so it stays."""
SHUFFLER_NOISE_SHOWN: Final = (
    "relies on dummies that the shuffler adds, not on a crowd: it protects people from the analyzer and from everybody who "
    "sees the answer, but not from a shuffler that sees the answer"
)
"""This caveat in the words that people are shown."""


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
        caveat: what it assumes: without a complete proof, or of the shuffler; None if nothing.
    """

    epsilon: float
    delta: float
    n: int
    bound: str
    reference: str
    adjacency: str = ADJACENCY
    caveat: str | None = None

    def __post_init__(self) -> None:
        checks.settle(
            self,
            epsilon=checks.real(self.epsilon, "epsilon", "up"),
            delta=checks.real(self.delta, "delta", "up"),
            n=checks.users(self.n),
        )
        if not self.epsilon >= 0:
            raise InvalidInput(f"epsilon must be at least 0; got {self.epsilon}. Usual values are 0.1 to 10.")
        if not 0 <= self.delta <= 1:
            raise InvalidInput(f"delta must be from 0 to 1; got {self.delta}. A usual choice is 1e-6.")

    def __str__(self) -> str:
        noised = self.caveat == SHUFFLER_NOISE
        shown = SHUFFLER_NOISE_SHOWN if noised else self.caveat
        caveat = "" if shown is None else f", which {shown}"
        crowd = (
            "with noise from the shuffler, for any number of reports"
            if noised
            else f"after shuffling {counted(self.n, 'report')}"
        )
        return (
            f"{claim(self.epsilon, self.delta)} {crowd} "
            f"({self.adjacency} neighbours, number of users public; proved by the {self.bound} bound{caveat})"
        )

    @property
    def success(self) -> float:
        """At most how often an attacker guesses right who knows everybody else's value and has narrowed a person's down to two.

        Formula: (e^epsilon + delta) / (e^epsilon + 1). A coin is right half of the time.
        Rounding: up.

        >>> Guarantee(epsilon=1.0, delta=1e-6, n=1000, bound="best", reference="").success < 0.7311
        True
        """
        decay = (-arb(self.epsilon)).exp()
        return min(1.0, round_up((1 + arb(self.delta) * decay) / (1 + decay)))

    def hits(self, false_alarms: float) -> float:
        """At most how often such an attacker notices one of the two values, if false alarms about the other happen this often.

        Formula: min(1, e^epsilon a + delta, 1 - e^-epsilon (1 - delta - a)), a the share of false alarms.
        """
        false_alarms = checks.real(false_alarms, "false_alarms")
        steep = self.delta + (math.exp(min(self.epsilon, 700.0)) * false_alarms if false_alarms else 0.0)
        return min(1.0, steep, 1 - math.exp(-self.epsilon) * (1 - self.delta - false_alarms))

    def meaning(self) -> str:
        """What it means for one person."""
        return (
            "Somebody who knows everybody else's value, and has narrowed a person's down to two equally likely ones, guesses "
            f"right at most {self.percent_right()} of the time; a coin toss, 50 %."
        )

    def percent_right(self) -> str:
        """At most how often such an attacker guesses right, as text, rounded up."""
        return f"{rounded_up(product_up(self.success, 100), 4)} %"

    def plot(self) -> Any:
        """A picture of how much an attacker can learn about a person."""
        return figure_of(self)

    def _repr_html_(self) -> str:
        return page_of(self)


def claim(epsilon: float, delta: float) -> str:
    """What is claimed, in words.

    >>> claim(0.12345678, 1e-6)
    '(0.123457, 1e-6)-differentially private'
    """
    return f"({rounded_up(epsilon)}, {rounded_up(delta)})-differentially private"
