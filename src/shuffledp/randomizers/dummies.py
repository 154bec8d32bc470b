"""Truth and dummies: every user sends a message that belongs to the value, and a Poisson number of uniform ones beside it.

The dummies of all users together hide each of the true messages (docs/maths/dummies.md). One user's messages by themselves hide
nothing: there is no local guarantee.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from shuffledp.arithmetic.balls import evaluate
from shuffledp.arithmetic.summand_law import Poisson
from shuffledp.core import checks
from shuffledp.core.attacker_view import AttackerView
from shuffledp.core.blanket import AmplificationVariable, Blanket, RandomizerFamily
from shuffledp.core.document import Readers, Written, number
from shuffledp.core.pair import Pair, doubles
from shuffledp.core.ragged import Ragged
from shuffledp.core.randomness import DUMMY_DRAW, RandomSource, choose_below, uniform_below
from shuffledp.errors import InvalidInput
from shuffledp.randomizers.identity import Identity
from shuffledp.randomizers.poisson import CappedPoisson, capped_poisson
from shuffledp.randomizers.structure import AmongValues, Structure, ball
from shuffledp.randomizers.structures import AffineSpace, structure_of
from shuffledp.randomizers.truthful import Truthful

FEWEST, MOST = 1e-9, 1000.0
"""Dummies per user, on average, that are within reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DummyBlanket(Blanket):
    """What the dummies of n users hide: a Poisson process of mean n d, uniform over the messages.

    With u = 1 / M the law of a dummy, mu_v / u = [y in S_v] / s. So for x != x' the pair ((mu_x - mu_x') / u, mu_x' / u) is
    (1, 0) / s on S_x alone, (-1, 1) / s on S_x' alone, with mass s - o each, and (0, 1) / s on both with o; elsewhere both are 0.
    A smaller o is only worse. delta = (1 / (n d)) E[(sum of l over the process)_+] by Mecke's formula.
    Legend: s = share, o = overlap, triple = share of the messages of three values in general position, d = dummies per user.
    `distance` is that of the number of dummies that a user really sends to the Poisson law.
    """

    share: Fraction
    overlap: Fraction
    triple: Fraction | None
    name: str
    dummies: float
    distance: float = 0.0

    @property
    def label(self) -> str:
        """The randomizer in words."""
        return self.name

    @property
    def bounded(self) -> bool:
        """The formulas are about a blanket of lies; there is none."""
        return False

    def summands(self, n: int) -> Poisson:
        """As many dummies as n honest users send."""
        return Poisson(n * self.dummies)

    def shortfall(self, n: int, epsilon: float) -> float:
        """(1 + e^epsilon) n distance: the total variation distance, in both worlds."""
        if self.distance == 0:
            return 0.0
        return evaluate(lambda: (1 + arb(epsilon).exp()) * n * arb(self.distance)).upper

    def gamma(self) -> arb:
        """No user ignores the value."""
        return arb(0)

    def epsilon0(self) -> None:
        """There is none: nothing is private about the messages of one user."""

    def amplification(self, epsilon: arb) -> Sequence[AmplificationVariable]:
        """The law of l for one dummy."""
        a, s, o = epsilon.exp(), ball(self.share), ball(self.overlap)
        return [
            AmplificationVariable(
                mean=-epsilon.expm1(),
                lower=-a / s,
                upper=1 / s,
                second_moment=((s - o) * (1 + a**2) + o * (1 - a) ** 2) / s**2,
            )
        ]

    def pairs(self) -> Sequence[Sequence[Pair]]:
        """One pair covers all."""
        return [[self._pair(self.share - self.overlap, self.overlap)]]

    def witnesses(self) -> Sequence[Pair]:
        """All others on a third value, whose messages are not looked at; if values share none, these say nothing anyway."""
        s, o, t = self.share, self.overlap, self.triple
        if t is None:
            return [] if o else self.pairs()[0]
        return [self._pair(s - 2 * o + t, o - t, unseen=o / s)]

    def _pair(self, alone: Fraction, both: Fraction, unseen: Fraction = Fraction(0)) -> Pair:
        with ctx.workprec(128):
            inverse, zero = 1 / ball(self.share), arb(0)
            return Pair(
                doubles([inverse, -inverse, zero]),
                doubles([zero, inverse, inverse]),
                doubles([ball(alone), ball(alone), ball(both)]),
                unseen=float(unseen),
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Dummies(Truthful, AmongValues, Written):
    """A uniform message of those that belong to the value, and about `dummies` uniform messages of all.

    >>> Dummies(structure=Identity(size=10_000), dummies=0.43).most
    25
    """

    kind: ClassVar[str] = "dummies"
    readers: ClassVar[Readers] = {"structure": structure_of, "dummies": number}

    structure: Structure
    dummies: float

    def __post_init__(self) -> None:
        rate = checks.real(self.dummies, "dummies", "down")
        if not FEWEST <= rate <= MOST:
            raise InvalidInput(f"dummies must be from 1e-9 to 1000 per user; got {rate}. Usual values are 0.05 to 5.")
        if self.structure.messages > 1 << 32:
            raise InvalidInput(f"{self.structure.messages:,} messages do not fit 32 bits. Use a smaller structure.")
        object.__setattr__(self, "dummies", rate)

    @staticmethod
    def family(structure: Structure) -> RandomizerFamily:
        """With the number of dummies left open."""
        return RandomizerFamily(
            parameter="dummies",
            blanket=lambda dummies: Dummies(structure=structure, dummies=dummies).blanket(),
            low=FEWEST,
            high=MOST,
            more_private="larger",
        )

    def blanket(self) -> DummyBlanket:
        """What hides a user, of the very law that runs."""
        return DummyBlanket(
            share=self.structure.share,
            overlap=self.structure.overlap,
            triple=self.structure.triple,
            name=f"{self.structure.label} with dummies",
            dummies=self.dummies,
            distance=self._number.distance,
        )

    @property
    def true_messages(self) -> int:
        """How many messages a user sends besides dummies."""
        return 1

    @property
    def dummies_per_user(self) -> float:
        """How many dummies a user sends on average."""
        return self.dummies

    @property
    def most(self) -> int:
        """How many dummies a user sends at most."""
        return self._number.most

    def sentence(self) -> str:
        """What a user does with a symbol."""
        mine = self.structure.choices
        true = (
            "the value itself"
            if mine == 1
            else f"one of the {mine:,} of {self.messages:,} messages that belong to the value"
        )
        return (
            f"sends {true}, and beside it {self.dummies:.6g} uniformly random messages on average, at most {self.most} "
            "(no local guarantee)"
        )

    def randomize(self, symbols: NDArray[np.integer], randomness: RandomSource, *, first_row: int) -> Ragged:
        """The true message of each row, then its dummies; a pure function of the symbols and the words at rows first_row, ..."""
        values = checks.symbols(symbols, self.symbols)
        true = self._true(values, randomness, first_row)
        return Ragged.around(true, *self.beside(len(values), randomness, first_row=first_row))

    def beside(
        self, count: int, randomness: RandomSource, *, first_row: int
    ) -> tuple[NDArray[np.intp], NDArray[np.uint32]]:
        """The dummies of so many rows: which row each belongs to, counted from 0, in order."""
        rows, numbers = self._number.above_0(first_row, count, randomness)
        starts = np.cumsum(numbers) - numbers
        found = np.empty(int(numbers.sum()), dtype=np.uint32)
        for j in range(int(numbers.max(initial=0))):
            some = np.flatnonzero(numbers > j)
            addresses, draw = rows[some].astype(np.uint64) + np.uint64(first_row), DUMMY_DRAW + (j + 1 << 20)
            found[starts[some] + j] = uniform_below(
                self.messages, addresses, randomness, randomness.blocks(addresses, draw), draw
            )
        return np.repeat(rows, numbers), found

    def attacker_view(self) -> AttackerView:
        """The law of the true message, and how many others there are on average."""
        return AttackerView(messages=self.messages, law=self._true_law, dummies=(self.dummies,))

    @classmethod
    def examples(cls) -> list[Self]:
        """Values of their own, a plane and a space; few dummies and many."""
        return [
            cls(structure=Identity(size=3), dummies=0.4),
            cls(structure=AffineSpace(prime=3), dummies=2.5),
            cls(structure=AffineSpace(prime=2, dimension=3), dummies=0.05),
        ]

    def _true_law(self, value: NDArray[np.integer]) -> NDArray[np.float64]:
        """How likely each message is to be the true one of a value, in an array of one."""
        mine = self.structure.member(
            value.astype(np.uint32).repeat(self.structure.choices), np.arange(self.structure.choices, dtype=np.uint32)
        )
        return np.bincount(mine, minlength=self.messages) / self.structure.choices

    def _true(
        self, values: NDArray[np.unsignedinteger], randomness: RandomSource, first_row: int
    ) -> NDArray[np.uint32]:
        """Which of its messages stands for a value must be secret, so it is drawn from the row's own words."""
        if self.structure.choices == 1:
            return self.structure.member(values, np.zeros(len(values), dtype=np.uint32))
        choice = choose_below(self.structure.choices, len(values), randomness, first_row=first_row)
        return self.structure.member(values, choice)

    @property
    def _number(self) -> CappedPoisson:
        return capped_poisson(self.dummies)
