"""RAPPOR, one-time and basic: a unary vector with every bit flipped at random."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from shuffledp.arithmetic.balls import evaluate
from shuffledp.core import checks
from shuffledp.core.blanket import AmplificationVariable, Blanket, Family
from shuffledp.core.pair import Pair, pair_of
from shuffledp.core.words import WordSource, rows_from
from shuffledp.protocols.baselines.flip import Flip
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
            on_x, on_z = [], []
            for difference, second, mass in self._atoms():
                first = second + difference
                on_x.append((difference / first, second / first, mass * first))
                on_z.append((difference / second, arb(1), mass * second))
            return [pair_of(on_x), pair_of(on_z)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rappor:
    """Basic one-time RAPPOR (Erlingsson, Pihur, Korolova 2014): the users' unary vectors, every bit flipped independently.

    Formula: c_j = (ones_j - n s) / (1 - 2 s), Var c_j = n s (1 - s) / (1 - 2 s)^2 for any data; eps0 = 2 log((1 - s) / s).
    Legend: s = flip.probability (f / 2 in the paper on RAPPOR).
    """

    size: int
    flip: Flip

    @classmethod
    def private(cls, *, size: int, epsilon0: float) -> "Rappor":
        """The most accurate one that is epsilon0-LDP."""
        return cls(size=checks.size(size), flip=Flip.private(epsilon0 / 2))

    @staticmethod
    def family(*, size: int) -> Family:
        """With epsilon0 left open."""
        return Family(
            parameter="epsilon0",
            blanket=lambda epsilon0: Rappor.private(size=size, epsilon0=epsilon0).blanket(),
            low=0.0,
            high=80.0,
            more_private="smaller",
        )

    reference = cite("RAPPOR14")

    @property
    def epsilon0(self) -> float:
        """The local privacy parameter, rounded up."""
        return evaluate(self.blanket().epsilon0).upper

    @property
    def bits(self) -> int:
        """Of one report."""
        return self.size

    def blanket(self) -> RapporBlanket:
        """The privacy blanket."""
        return RapporBlanket(size=self.size, flip=self.flip)

    def randomize(self, symbols: NDArray[np.integer], words: WordSource, *, first_row: int) -> NDArray[np.bool_]:
        """One row of bits a user."""
        truth = np.arange(self.size) == checks.symbols(symbols, self.size)[:, None]
        return self.flip.apply(truth, rows_from(first_row, len(symbols)), words, 0)

    def estimate(self, messages: NDArray[np.bool_]) -> Reals:
        """Unbiased counts of users."""
        return self._debias(messages.sum(axis=0), len(messages))

    def variance(self, users: NDArray[np.integer]) -> Reals:
        """Of each count: the same for all data."""
        s = self.flip.probability
        return np.full(self.size, float(users.sum()) * s * (1 - s) * self.flip.gain**2)

    def simulate(self, users: NDArray[np.int64], generator: np.random.Generator, runs: int) -> Reals:
        """Estimates of runs, one a row, exact in law."""
        held = np.tile(users, (runs, 1))
        n = int(users.sum())
        return self._debias(self.flip.count(held, n - held, generator), n)

    def _debias(self, ones: NDArray[np.int64], n: int) -> Reals:
        return np.asarray((ones - n * self.flip.probability) * self.flip.gain)
