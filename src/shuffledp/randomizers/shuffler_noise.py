"""True messages, and noise from the shuffler: users send their symbols as they are, and the shuffler adds dummies of every one.

What hides a user are the dummies alone, however many others there are (docs/maths/shuffler-noise.md). One user's message by
itself hides nothing, and neither does anything from a shuffler who sees the answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.core.attacker_view import AttackerView
from shuffledp.core.blanket import AmplificationVariable, Blanket
from shuffledp.core.document import Readers, Written, whole
from shuffledp.core.guarantee import SHUFFLER_NOISE
from shuffledp.core.pair import Pair, doubles
from shuffledp.core.randomizer import OwnMessages
from shuffledp.core.randomness import RandomSource
from shuffledp.randomizers.geometric_noise import GeometricNoise, Outcome, ThinnedGeometric, TwoSidedGeometric, noise_of
from shuffledp.randomizers.truthful import Truthful


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseBlanket(Blanket):
    """What the dummies of the shuffler hide: everything that two counts say, for any number of users.

    There are few outcomes (`outcomes`), so delta is a sum over them. Relative to the average of both laws they are also a pair
    with a single summand, whatever n is: that is how curves are composed.
    """

    noise: GeometricNoise

    @property
    def label(self) -> str:
        """Who adds what."""
        return "noise from the shuffler"

    @property
    def bounded(self) -> bool:
        """The formulas are about a blanket of lies; there is none."""
        return False

    @property
    def caveat(self) -> str:
        """Against whom it holds."""
        return SHUFFLER_NOISE

    def summands(self, n: int) -> int:  # noqa: ARG002
        """One: others hide nobody, and nobody needs them."""
        return 1

    def outcomes(self) -> list[Outcome]:
        return self.noise.outcomes()

    def gamma(self) -> arb:
        """No user ignores the value."""
        return arb(0)

    def epsilon0(self) -> None:
        """There is none: nothing is private about what a user sends."""

    def amplification(self, epsilon: arb) -> Sequence[AmplificationVariable]:
        """The law of l relative to the average of both laws."""
        a = epsilon.exp()
        halves = [((first + second) / 2, first - a * second) for first, second in self.outcomes()]
        return [
            AmplificationVariable(
                mean=-epsilon.expm1(), lower=-2 * a, upper=arb(2),
                second_moment=sum((gap**2 / half for half, gap in halves), arb(0)),
            )
        ]  # fmt: skip

    def pairs(self) -> Sequence[Sequence[Pair]]:
        """The truth: both directions are alike."""
        return [[self._pair()]]

    def witnesses(self) -> Sequence[Pair]:
        """A pair of laws that datasets attain, so that it bounds delta from below."""
        return [self._pair()]

    def _pair(self) -> Pair:
        with ctx.workprec(256):
            outcomes = [(first, second, (first + second) / 2) for first, second in self.outcomes()]
            difference, second, masses = zip(
                *((arb(0) if x is z else (x - z) / half, z / half, half) for x, z, half in outcomes), strict=True
            )
            return Pair(doubles(list(difference)), doubles(list(second)), doubles(list(masses)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ShufflerNoise(Truthful, OwnMessages, Written):
    """The symbol itself; the shuffler adds dummies of every symbol.

    Attributes:
        size: how many symbols there are, and messages.
        noise: how many dummies of each.
    """

    size: int
    noise: GeometricNoise
    kind: ClassVar[str] = "shuffler-noise"
    readers: ClassVar[Readers] = {"size": whole, "noise": noise_of}

    def __post_init__(self) -> None:
        checks.settle(self, size=checks.size(self.size))

    def blanket(self) -> NoiseBlanket:
        """What hides a user."""
        return NoiseBlanket(noise=self.noise)

    def sentence(self) -> str:
        """What a user does with a symbol, and the shuffler with all of them."""
        return f"sends the true value, and {self.noise.sentence()} (no local guarantee)"

    def randomize(
        self, symbols: NDArray[np.integer], randomness: RandomSource, *, first_row: int  # noqa: ARG002
    ) -> NDArray[Any]:  # fmt: skip
        """The symbols: no chance takes part."""
        return checks.symbols(symbols, self.size)

    def attacker_view(self) -> AttackerView:
        """The law of the message: its sender's symbol."""
        return AttackerView(messages=self.size, law=lambda value: np.bincount(value, minlength=self.size).astype(float))

    @classmethod
    def examples(cls) -> list[Self]:
        """With and without a chance of failure; weak and strong."""
        return [
            cls(size=3, noise=TwoSidedGeometric.least(1.0, 1e-6)),
            cls(size=2, noise=TwoSidedGeometric.least(3.0, 1e-2)),
            cls(size=4, noise=ThinnedGeometric.least(0.5)),
        ]
