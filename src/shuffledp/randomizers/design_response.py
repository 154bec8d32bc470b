"""Design response: a message that belongs to the value, or with probability gamma any message.

Randomized response, local hashing, Hadamard response and the geometries are all of this form.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Literal, Self

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.core.blanket import AmplificationVariable, Blanket, RandomizerFamily
from shuffledp.core.digits import rounded_up
from shuffledp.core.document import Readers, Written, word
from shuffledp.core.pair import Pair, held_by_either, pair_of
from shuffledp.core.randomness import WORD, RandomSource, choose_below
from shuffledp.errors import InvalidInput
from shuffledp.randomizers.hadamard_design import Hadamard
from shuffledp.randomizers.local_hashing import LocalHashing
from shuffledp.randomizers.mixing import threshold_of, with_blanket
from shuffledp.randomizers.of_blanket import OfPureBlanket
from shuffledp.randomizers.structure import AmongValues, Design, Structure, ball
from shuffledp.randomizers.structures import AffineSpace, structure_of


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignBlanket(Blanket):
    """Blanket of a design response: uniform, with probability g.

    With c = (1 - g) / (g s), mu_v / eta = 1 + c [y in S_v]. So for x != x' the pair ((mu_x - mu_x') / eta, mu_x' / eta) is (c, 1)
    on S_x alone and (-c, 1 + c) on S_x' alone, with mass g (s - o) each, (0, 1 + c) on both with g o, and (0, 1) elsewhere.
    A smaller o is only worse (docs/maths/design.md), so the smallest over all pairs covers them all.
    Legend: s = share, o = overlap, g = given_gamma or 1 / (1 + s (e^eps0 - 1)), eps0 = given_epsilon0 or log(1 + c);
    triple = the share of messages that belong to three values, some of which exist, or None; any two of them share o.
    """

    share: Fraction
    overlap: Fraction
    triple: Fraction | None
    name: str
    given_gamma: Fraction | float | None = None
    given_epsilon0: float | None = None

    @property
    def label(self) -> str:
        """The randomizer in words."""
        return self.name

    def gamma(self) -> arb:
        """The probability of ignoring the value."""
        if self.given_gamma is not None:
            return ball(self.given_gamma)
        return 1 / (1 + ball(self.share) * self._gain())

    def epsilon0(self) -> arb:
        """The local privacy parameter."""
        return self._gain().log1p() if self.given_epsilon0 is None else arb(self.given_epsilon0)

    def amplification(self, epsilon: arb) -> Sequence[AmplificationVariable]:
        """One law covers all pairs."""
        gamma, rise = self.gamma(), epsilon.expm1()
        values = [(gamma * (difference - rise * second), mass) for difference, second, mass in self._atoms()]
        c = self._gain()
        return [
            AmplificationVariable(
                mean=-rise,
                lower=gamma * (-c - rise * (1 + c)),
                upper=gamma * (c - rise),
                second_moment=sum((value**2 * mass for value, mass in values), arb(0)) / gamma,
            )
        ]

    def pairs(self) -> Sequence[Sequence[Pair]]:
        """One pair covers all."""
        with ctx.workprec(128):
            return [[pair_of(self._atoms())]]

    def witnesses(self) -> Sequence[Pair]:
        """All others on x, on x', or on a third value."""
        with ctx.workprec(128):
            third = [] if self.triple is None else [pair_of(self._third(self.triple))]
            return [*held_by_either(self._atoms()), *third]

    def agreements(self) -> Sequence[Pair]:
        """None: where both hold x, two atoms between those of a pair have their sum (docs/maths/mixtures.md)."""
        return []

    def _third(self, t: Fraction) -> list[tuple[arb, arb, arb]]:
        """The same relative to the law of a third value, whose messages are 1 + c times as likely as the blanket's."""
        g, c, zero, one = self.gamma(), self._gain(), arb(0), arb(1)
        p, s, o = 1 + c, self.share, self.overlap
        alone, two, none = s - 2 * o + t, o - t, 1 - 3 * s + 3 * o - t
        atoms = [
            (c, one, one, alone), (-c, p, one, alone), (zero, p, one, two), (zero, one, one, none),
            (c / p, 1 / p, p, two), (-c / p, one, p, two), (zero, one, p, t), (zero, 1 / p, p, alone),
        ]  # fmt: skip
        return [(difference, second, g * weight * ball(part)) for difference, second, weight, part in atoms if part]

    def _gain(self) -> arb:
        """C = e^eps0 - 1."""
        if self.given_epsilon0 is not None:
            return arb(self.given_epsilon0).expm1()
        return (1 - self.gamma()) / (self.gamma() * ball(self.share))

    def _atoms(self) -> list[tuple[arb, arb, arb]]:
        """((mu_x - mu_x') / eta, mu_x' / eta, eta)."""
        g, c, zero, one = self.gamma(), self._gain(), arb(0), arb(1)
        alone, both, neither = (
            ball(part) for part in (self.share - self.overlap, self.overlap, 1 - 2 * self.share + self.overlap)
        )
        atoms = [(c, one, g * alone), (-c, 1 + c, g * alone)]
        if self.overlap:
            atoms.append((zero, 1 + c, g * both))
        if 1 - 2 * self.share + self.overlap:
            atoms.append((zero, one, g * neither))
        return atoms


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignResponse(OfPureBlanket, AmongValues, Written):
    """With probability gamma a uniform message, otherwise a uniform one of those that belong to the value.

    Give a structure and the threshold, gamma in units of 2^-64; `private` finds it for an epsilon0 or a gamma, rounded up.

    >>> DesignResponse.private(AffineSpace(prime=5), gamma=0.25).messages
    30
    """

    kind: ClassVar[str] = "design"
    readers: ClassVar[Readers] = {"structure": structure_of, "threshold": word}

    structure: Structure
    threshold: int

    def __post_init__(self) -> None:
        if type(self.threshold) is not int or not 0 < self.threshold <= WORD:
            raise InvalidInput(
                f"a threshold is a whole number from 1 to 2^64; got {self.threshold!r}. It is gamma 2^64."
            )
        if self.structure.messages > 1 << 32:
            raise InvalidInput(f"{self.structure.messages:,} messages do not fit 32 bits. Use a smaller structure.")

    @classmethod
    def private(cls, structure: Structure, *, gamma: float | None = None, epsilon0: float | None = None) -> Self:
        """With the blanket probability or the local privacy parameter; more blanket rather than less."""
        return cls(structure=structure, threshold=design_threshold(structure, gamma=gamma, epsilon0=epsilon0))

    @staticmethod
    def family(design: Design, parameter: Literal["epsilon0", "gamma"] = "gamma") -> RandomizerFamily:
        """With gamma or epsilon0 left open."""
        if parameter == "gamma":
            return RandomizerFamily(
                parameter="gamma",
                blanket=lambda gamma: design_blanket(design, gamma=gamma),
                low=1e-18,
                high=1.0,
                more_private="larger",
            )
        return RandomizerFamily(
            parameter="epsilon0",
            blanket=lambda epsilon0: design_blanket(design, epsilon0=epsilon0),
            low=0.0,
            high=checks.LARGEST_EPSILON,
            more_private="smaller",
        )

    @staticmethod
    def law(design: Design, *, gamma: float | None = None, epsilon0: float | None = None) -> DesignBlanket:
        """The blanket with exactly this gamma or epsilon0, which need not be a multiple of 2^-64: for accounting."""
        _exactly_one(gamma, epsilon0)
        if epsilon0 is not None:
            return design_blanket(design, epsilon0=checks.epsilon(epsilon0, "epsilon0", side="up"))
        return design_blanket(design, gamma=_share(gamma))

    def blanket(self) -> DesignBlanket:
        """The privacy blanket, of the very law that runs."""
        return design_blanket(self.structure, gamma=Fraction(self.threshold, WORD))

    @property
    def gamma_as_run(self) -> float:
        """The probability of ignoring the value, to the nearest double."""
        return self.threshold / WORD

    def sentence(self) -> str:
        """What a user does with a symbol."""
        return (
            f"sends a uniformly random message with probability {self.gamma_as_run:.6g}, otherwise one of the "
            f"{self.structure.choices:,} of {self.messages:,} that belong to the value "
            f"(local epsilon0 = {rounded_up(self.epsilon0)})"
        )

    def randomize(
        self, symbols: NDArray[np.integer], randomness: RandomSource, *, first_row: int
    ) -> NDArray[np.unsignedinteger]:
        """One message per row; a pure function of the symbols and the words at rows first_row, first_row + 1, ...

        Which of its messages stands for a value must be secret, so it is drawn from the row's own words.
        """
        values = checks.symbols(symbols, self.symbols)
        choice = choose_below(self.structure.choices, len(values), randomness, first_row=first_row)
        return with_blanket(self.structure.member(values, choice), self.threshold, self.messages, randomness, first_row)

    def with_gamma(self, gamma: float) -> Self:
        """On the same structure, with more or less blanket, rounded up."""
        return replace(self, threshold=threshold_of(gamma))

    def probability(self, message: NDArray[np.integer] | int, symbol: int) -> NDArray[np.float64]:
        """mu_symbol(message)."""
        g = self.gamma_as_run
        return np.asarray(g / self.messages + (1 - g) * self._belongs(message, symbol) / self.structure.choices)

    def _belongs(self, message: NDArray[np.integer] | int, symbol: int) -> NDArray[np.bool_]:
        choices = np.arange(self.structure.choices, dtype=np.uint32)
        mine = self.structure.member(np.full(len(choices), symbol), choices)
        return np.isin(np.asarray(message), mine)

    @classmethod
    def examples(cls) -> list[Self]:
        """A plane, a space and what they are compared with, little and much noise."""
        return [
            cls.private(AffineSpace(prime=3), gamma=0.2),
            cls.private(AffineSpace(prime=7), epsilon0=1.0),
            cls.private(AffineSpace(prime=2, dimension=3), gamma=0.5),
            cls.private(Hadamard(order=8), gamma=0.3),
            cls.private(LocalHashing(prime=5, range=3), gamma=0.2),
        ]


def design_threshold(design: Design, *, gamma: float | None = None, epsilon0: float | None = None) -> int:
    """The blanket probability in units of 2^-64, for a gamma or an epsilon0: more blanket rather than less."""
    _exactly_one(gamma, epsilon0)
    if epsilon0 is not None:
        local = checks.epsilon(epsilon0, "epsilon0")
        with ctx.workprec(256):
            gamma_ball = 1 / (1 + ball(design.share) * arb(local).expm1())
            threshold = int((gamma_ball * WORD).upper().ceil().unique_fmpz() or WORD)
    else:
        numerator, denominator = _share(gamma).as_integer_ratio()
        threshold = -(-numerator * WORD // denominator)
    return min(WORD, max(1, threshold))


def design_blanket(
    design: Design, *, gamma: Fraction | float | None = None, epsilon0: float | None = None
) -> DesignBlanket:
    """The blanket of a design response."""
    return DesignBlanket(
        share=design.share,
        overlap=design.overlap,
        triple=design.triple,
        name=design.label,
        given_gamma=gamma,
        given_epsilon0=epsilon0,
    )


def _exactly_one(gamma: float | None, epsilon0: float | None) -> None:
    if (gamma is None) == (epsilon0 is None):
        raise InvalidInput("a design response takes either epsilon0 or gamma. Give exactly one of them.")


def _share(gamma: float | None) -> float:
    share = checks.real(gamma, "gamma", "down")
    if not 0 < share <= 1:
        raise InvalidInput(f"gamma must be above 0 and at most 1; got {share}. Usual values are 0.001 to 0.5.")
    return share
