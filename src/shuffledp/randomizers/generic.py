"""Any randomizer of which only epsilon0 is known."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from flint import arb

from shuffledp.core import checks
from shuffledp.core.blanket import AmplificationVariable, Blanket, RandomizerFamily
from shuffledp.core.pair import Pair
from shuffledp.randomizers.of_blanket import ByEpsilon0
from shuffledp.randomizers.response import ResponseBlanket


@dataclass(frozen=True, slots=True, kw_only=True)
class GenericBlanket(Blanket):
    """What holds for the blanket of every epsilon0-LDP randomizer.

    Its gamma is somewhere in [e^-eps0, 1] (Lemma 5.2). A bound on delta decreases in the gamma of the binomial, so
    there the least value counts; range and second moment of L grow with gamma, so there the greatest, 1, counts.
    Using e^-eps0 in both places is not proved and comes out far too small.

    Formula: b_+ = p - a/p, b_- = 1/p - a p, c = p (a^2 + 1) - 2 a / p^3, with a = e^epsilon, p = e^eps0.
    (c is the authors' choice; the maximum over gamma of Lemma 5.4's third point is 2 a (p^-2 - p^-3) smaller.)
    Reference: BBGN19, Lemma 5.2 and Lemma 5.4.
    """

    local: float

    @property
    def label(self) -> str:
        """The randomizer in words."""
        return "any epsilon0-LDP randomizer"

    def gamma(self) -> arb:
        """The least total variation similarity."""
        return (-arb(self.local)).exp()

    def epsilon0(self) -> arb:
        """The local privacy parameter."""
        return arb(self.local)

    def amplification(self, epsilon: arb) -> Sequence[AmplificationVariable]:
        """Lemma 5.4 with gamma = 1."""
        a, p = epsilon.exp(), arb(self.local).exp()
        return [
            AmplificationVariable(
                mean=-epsilon.expm1(),
                lower=1 / p - a * p,
                upper=p - a / p,
                second_moment=p * (a**2 + 1) - 2 * a / p**3,
            )
        ]

    def pairs(self) -> Sequence[Sequence[Pair]]:
        """None: the law is not known. The `generic` bound covers it."""
        return []

    def witnesses(self) -> Sequence[Pair]:
        """Randomized response on 2 and on 3 values is epsilon0-LDP: no bound for all such randomizers can be below it."""
        return [
            witness for size in (2, 3) for witness in ResponseBlanket(size=size, given_epsilon0=self.local).witnesses()
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Generic(ByEpsilon0):
    """Some epsilon0-LDP randomizer; it can be accounted for but, being unknown, neither sampled nor evaluated.

    >>> Generic(epsilon0=1.0).gamma
    0.3678794411714423
    """

    kind: ClassVar[str] = "generic"

    epsilon0: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon0", checks.epsilon(self.epsilon0, "epsilon0", side="up"))

    @staticmethod
    def family() -> RandomizerFamily:
        """Any epsilon0-LDP randomizer with epsilon0 left open."""
        return RandomizerFamily(
            parameter="epsilon0",
            blanket=lambda epsilon0: GenericBlanket(local=epsilon0),
            low=0.0,
            high=checks.LARGEST_EPSILON,
            more_private="smaller",
        )

    def blanket(self) -> GenericBlanket:
        """A blanket that every such randomizer has at least."""
        return GenericBlanket(local=self.epsilon0)
