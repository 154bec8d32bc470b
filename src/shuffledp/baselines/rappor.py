"""RAPPOR, one-time and basic: a unary vector with every bit flipped at random."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from shuffledp.arithmetic.balls import evaluate
from shuffledp.baselines.document_fields import Fields
from shuffledp.baselines.flip import Flip
from shuffledp.baselines.local import LocalHistogram
from shuffledp.core import checks
from shuffledp.core.blanket import AmplificationVariable, Blanket, RandomizerFamily
from shuffledp.core.counts import Counts
from shuffledp.core.pair import Pair, held_by_either, pair_of
from shuffledp.core.population import Population
from shuffledp.core.randomness import RandomSource, rows_from
from shuffledp.domains.whole_numbers import WholeNumbers
from shuffledp.protocols.counting import Counting
from shuffledp.references import cite

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class RapporBlanket(Blanket):
    """Blanket of RAPPOR on K bits, each flipped with probability s.

    With t = 1 - s and p = (t/s)^2, a message that has some 0 is least likely for a value whose bit is 0 in it, and the message of
    ones equally likely for all. So for x != x' (mu_x / inf, mu_x' / inf) is (p, 1) or (1, p) with mass s^2 each, (1, 1) with s t,
    (p, p) with (s/t)(s^2 - s^K), and (1, 1) with s^(K-1) t; gamma is the sum of all: (s/t)(1 - s^K) + s^(K-1) t.
    Legend: K = size, s = flip.
    """

    size: int
    flip: Flip

    @property
    def label(self) -> str:
        """The randomizer in words."""
        return f"RAPPOR on {self.size} bits"

    def gamma(self) -> arb:
        """The probability of a message that does not depend on the value."""
        s = self.flip.ball
        return s / (1 - s) * (1 - s**self.size) + s ** (self.size - 1) * (1 - s)

    def epsilon0(self) -> arb:
        """The local privacy parameter: two bits change."""
        s = self.flip.ball
        return 2 * ((1 - s) / s).log()

    def _atoms(self) -> list[tuple[arb, arb, arb]]:
        """((mu_x - mu_x') / inf, mu_x' / inf, inf)."""
        s, k = self.flip.ball, self.size
        t = 1 - s
        p = (t / s) ** 2
        zero, one = arb(0), arb(1)
        both = [(zero, p, s / t * (s**2 - s**k))] if k > 2 else []
        return [(p - 1, one, s**2), (1 - p, p, s**2), (zero, one, s * t), *both, (zero, one, s ** (k - 1) * t)]

    def amplification(self, epsilon: arb) -> Sequence[AmplificationVariable]:
        """By symmetry all pairs have one law."""
        gamma, rise = self.gamma(), epsilon.expm1()
        values = [(gamma * (difference - rise * second), mass) for difference, second, mass in self._atoms()]
        p = self._atoms()[1][1]
        return [
            AmplificationVariable(
                mean=-rise,
                lower=gamma * (1 - p - rise * p),
                upper=gamma * (p - 1 - rise),
                second_moment=sum((value**2 * mass for value, mass in values), arb(0)) / gamma,
            )
        ]

    def pairs(self) -> Sequence[Sequence[Pair]]:
        """By symmetry all pairs are one."""
        with ctx.workprec(128):
            return [[pair_of(self._atoms())]]

    def witnesses(self) -> Sequence[Pair]:
        """All others on x, or on x'."""
        with ctx.workprec(128):
            return held_by_either(self._atoms())


@dataclass(frozen=True, slots=True, kw_only=True)
class Rappor(Counting, Fields):
    """Basic one-time RAPPOR (Erlingsson, Pihur, Korolova 2014): the users' unary vectors, every bit flipped independently.

    Formula: c_j = (ones_j - n s) / (1 - 2 s), Var c_j = n s (1 - s) / (1 - 2 s)^2 for any data; eps0 = 2 log((1 - s) / s).
    Legend: s = flip.probability (f / 2 in the paper on RAPPOR).
    """

    size: int
    flip: Flip
    kind = "rappor"
    reference: ClassVar[str] = cite("RAPPOR14")

    def __post_init__(self) -> None:
        checks.settle(self, size=checks.size(self.size))

    @classmethod
    def private(cls, *, size: int, epsilon0: float) -> Self:
        """The most accurate one that is epsilon0-LDP."""
        return cls(size=size, flip=Flip.private(epsilon0 / 2))

    @staticmethod
    def family(*, size: int) -> RandomizerFamily:
        """With epsilon0 left open."""
        return RandomizerFamily(
            parameter="epsilon0",
            blanket=lambda epsilon0: Rappor.private(size=size, epsilon0=epsilon0).blanket(),
            low=0.0,
            high=80.0,
            more_private="smaller",
        )

    @property
    def domain(self) -> WholeNumbers:
        """The bits of the vector."""
        return WholeNumbers(self.size)

    def sentence(self) -> str:
        """What one user does."""
        return f"each user flips every bit of a unary vector with probability {self.flip.probability:.6g}"

    @property
    def epsilon0(self) -> float:
        """The local privacy parameter, rounded up."""
        return evaluate(self.blanket().epsilon0).upper

    @property
    def bits(self) -> int:
        return self.size

    def blanket(self) -> RapporBlanket:
        """The privacy blanket."""
        return RapporBlanket(size=self.size, flip=self.flip)

    def randomize(self, values: NDArray[np.integer], randomness: RandomSource, *, first_row: int) -> NDArray[np.bool_]:
        """One row of bits per user."""
        truth = np.arange(self.size) == checks.symbols(values, self.size)[:, None]
        return self.flip.apply(truth, rows_from(first_row, len(values)), randomness, 0)

    @property
    def counters(self) -> int:
        """The ones of each bit, and of how many users."""
        return self.size + 1

    def count(self, messages: NDArray[np.bool_]) -> Counts:
        """Ones of each bit."""
        return Counts(np.append(messages.sum(axis=0, dtype=np.int64), len(messages)))

    def reports(self, counts: NDArray[np.int64]) -> int:
        return int(counts[-1])

    def debias(self, counts: NDArray[np.int64], n: int) -> Reals:
        """Unbiased counts of users."""
        return self._unbiased(counts[..., :-1], n)

    def variance(self, users: Reals, n: int) -> Reals:
        s = self.flip.probability
        return np.full(np.shape(users), float(n) * s * (1 - s) * self.flip.gain**2)

    def max_shift(self, n: int) -> float:  # noqa: ARG002
        return self.flip.gain

    def simulate(self, population: Population, generator: np.random.Generator, runs: int) -> Reals:
        held, n = np.tile(self.held(population), (runs, 1)), population.n
        return self._unbiased(self.flip.count(held, n - held, generator), n)

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls.private(size=4, epsilon0=1.5)]

    def _unbiased(self, ones: NDArray[np.int64], n: int) -> Reals:
        return np.asarray((ones - n * self.flip.probability) * self.flip.gain)


class Rappors(LocalHistogram):
    """Accounted by its own blanket when shuffled."""

    name, shuffled_by = "RAPPOR", "its blanket"

    def private(self, size: int, epsilon0: float) -> Rappor:
        """The most accurate one that is epsilon0-LDP."""
        return Rappor.private(size=size, epsilon0=epsilon0)

    def family(self, size: int) -> RandomizerFamily:
        """With epsilon0 left open."""
        return Rappor.family(size=size)
