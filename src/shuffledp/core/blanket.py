"""The waist of the planning path: all that a bound may know about a local randomizer.

Every R with output laws mu_x splits as mu_x = (1 - gamma) nu_x + gamma omega, where gamma omega(y) = inf_x mu_x(y).
omega is the blanket: what a user sends whatever the value is. Quantities are balls (`arb`) computed at the
caller's precision, so a bound's formula can be evaluated as exactly as it needs.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from flint import arb

from shuffledp.arithmetic.summand_law import Summands
from shuffledp.core.pair import Pair
from shuffledp.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class AmplificationVariable:
    """What is known of L = (mu_x(W) - e^epsilon mu_x'(W)) / omega(W), W ~ omega, for one pair (x, x').

    Attributes:
        mean: E[L] = 1 - e^epsilon.
        lower: a bound below L (b_- in the paper).
        upper: a bound above L (b_+).
        second_moment: a bound above E[L^2] (c); uncentred.
    """

    mean: arb
    lower: arb
    upper: arb
    second_moment: arb


class Blanket(ABC):
    """The privacy blanket of a local randomizer."""

    __slots__ = ()

    @property
    @abstractmethod
    def label(self) -> str:
        """The randomizer in words, for messages and tables."""

    @property
    def uniform_size(self) -> int | None:
        """The number of messages, if the blanket is uniform and nu_x a point (randomized response)."""
        return None

    def coins(self) -> "tuple[arb, arb] | None":
        """If there are two messages, the largest and the smallest probability of the second one; every input is between them."""
        return None

    @property
    def bounded(self) -> bool:
        """Whether L is bounded for every pair of inputs."""
        return True

    @property
    def caveat(self) -> str | None:
        """What a result assumes: without a complete proof, or of the shuffler. In words that go on "which"; None if nothing."""
        return None

    def summands(self, n: int) -> Summands:
        """How many messages may hide those of one of n users: theirs, or a Poisson number of dummies."""
        return n

    def shortfall(self, n: int, epsilon: float) -> float:  # noqa: ARG002
        """What delta is larger by, because what n users run is only close to the law; rounded up."""
        return 0.0

    @abstractmethod
    def gamma(self) -> arb:
        """The total variation similarity, or a lower bound on it where the randomizer is not known."""

    @abstractmethod
    def epsilon0(self) -> arb | None:
        """The local privacy parameter, or None if the randomizer has none (not pure)."""

    @abstractmethod
    def amplification(self, epsilon: arb) -> Sequence[AmplificationVariable]:
        """The laws of L to maximise over: their supremum covers every ordered pair of inputs."""

    @abstractmethod
    def pairs(self) -> Sequence[Sequence[Pair]]:
        """Pairs of inputs with eta below every input, for upper bounds.

        The supremum over the outer sequence covers all pairs of inputs; of each inner sequence (one pair, several
        measures eta) any one is valid and the best may be taken. Empty where the randomizer is not known.
        """

    @abstractmethod
    def witnesses(self) -> Sequence[Pair]:
        """Pairs of inputs with eta the law of a third, for lower bounds: any may be taken."""

    def crowds(self) -> Sequence[Sequence[Pair]]:
        """For each pair of inputs, that pair relative to the law of each input that the others may hold, for `cushion`.

        Pairs and laws are enough for all inputs: any other is a mixture of them. Empty where that is not known, or no use.
        """
        return ()

    def chi_squared(self) -> arb | None:
        """The largest sum over messages of (mu_x - mu_x')^2 / mu_x'' over all inputs x, x', x''; None if it is not known.

        Infinite if x'' cannot send what x can. Its root is the shuffle index (docs/maths/cushion.md).
        """
        return None

    def outcomes(self) -> "Sequence[tuple[arb, arb]]":
        """How likely each outcome is with either value of one user, if a few say all that can be learned about them.

        They must not depend on what others hold, and both directions must be alike. Empty where messages of others matter.
        """
        return ()

    @property
    def needs_crowd(self) -> bool:
        """Whether other users are what hides one."""
        return not self.outcomes()

    def releases(self) -> "Sequence[Blanket]":
        """The blankets of several messages per person, each shuffled apart: releases that compose. Empty if there is one."""
        return ()

    def agreements(self) -> Sequence[Pair]:
        """Equal inputs, with the eta of `pairs`: two people who differ in another question may agree in this one.

        Empty if some pair of `pairs` is above all of them in convex order. Needed for mixtures only.
        """
        raise InvalidInput(
            f"{self.label} cannot be one of several questions. Use a randomizer of finitely many values."
        )


@runtime_checkable
class HasBlanket(Protocol):
    """Anything that can be accounted for."""

    def blanket(self) -> Blanket:
        """The part of its output that does not depend on the value."""
        ...


@runtime_checkable
class HasMessageBlanket(Protocol):
    """A protocol whose messages can be accounted for."""

    def message_blanket(self) -> Blanket:
        """What hides a user's messages once they are shuffled."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomizerFamily:
    """Randomizers that differ in one parameter, for solving for it.

    Attributes:
        parameter: its name.
        blanket: the blanket at a value of the parameter.
        low: the least value to consider.
        high: the greatest value to consider.
        more_private: whether smaller or larger values are more private.
    """

    parameter: Literal["epsilon0", "gamma", "sigma", "dummies"]
    blanket: Callable[[float], Blanket]
    low: float
    high: float
    more_private: Literal["smaller", "larger"]
