"""k-ary randomized response: send the true symbol, or with probability gamma a uniformly random one."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Literal, Self

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.core.blanket import AmplificationVariable, Blanket, RandomizerFamily
from shuffledp.core.digits import rounded_up
from shuffledp.core.document import Document, fields, whole, word
from shuffledp.core.pair import Pair, pair_of
from shuffledp.core.randomizer import OwnMessages
from shuffledp.core.randomness import WORD, RandomSource
from shuffledp.errors import InvalidInput
from shuffledp.randomizers.mixing import threshold_of, with_blanket
from shuffledp.randomizers.of_blanket import OfPureBlanket


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseBlanket(Blanket):
    """Blanket of k-ary randomized response: uniform, with probability gamma.

    Formula: gamma = k / (e^eps0 + k - 1), equivalently eps0 = log(1 + k (1 - gamma) / gamma).
    Legend: k = size, gamma = given_gamma or derived, eps0 = given_epsilon0 or derived.
    Reference: BBGN19, Lemma 5.1 (gamma), Lemma 5.7 (L).
    """

    size: int
    given_epsilon0: float | None = None
    given_gamma: float | Fraction | None = None

    @property
    def label(self) -> str:
        """The randomizer in words."""
        return f"{self.size}-ary randomized response"

    @property
    def uniform_size(self) -> int:
        """Every message is equally likely under the blanket."""
        return self.size

    def gamma(self) -> arb:
        """The probability of ignoring the value."""
        if self.given_epsilon0 is not None:
            return self.size / (arb(self.given_epsilon0).exp() + (self.size - 1))
        return _exact(self.given_gamma or 1.0)

    def epsilon0(self) -> arb:
        """The local privacy parameter."""
        if self.given_epsilon0 is not None:
            return arb(self.given_epsilon0)
        gamma = self.gamma()
        return (self.size * (1 - gamma) / gamma).log1p()

    def coins(self) -> tuple[arb, arb] | None:
        """Of two symbols: each message is the symbol, or not."""
        if self.size != 2:
            return None
        rest, _ = self._cell_and_gain()
        return 1 - rest, rest

    def amplification(self, epsilon: arb) -> Sequence[AmplificationVariable]:
        """Lemma 5.7; by symmetry every pair x != x' has the same law, with atoms on x, x' and the rest."""
        gamma, k, a = self.gamma(), self.size, epsilon.exp()
        middle = -gamma * epsilon.expm1()
        return [
            AmplificationVariable(
                mean=-epsilon.expm1(),
                lower=middle - (1 - gamma) * k * a,
                upper=middle + (1 - gamma) * k,
                second_moment=gamma * (2 - gamma) * (1 - a) ** 2 + (1 - gamma) ** 2 * k * (1 + a**2),
            )
        ]

    def chi_squared(self) -> arb:
        """While the others hold a third value, or, of two values, either."""
        rest, gain = self._cell_and_gain()
        return gain**2 * rest * (2 if self.size > 2 else 1 + 1 / (1 + gain))

    def pairs(self) -> Sequence[Sequence[Pair]]:
        """By symmetry all pairs x != x' are one: atoms on x, on x', on the k - 2 others."""
        return [[_pair(self)]]

    def witnesses(self) -> Sequence[Pair]:
        """All others on a third value, on x, or on x'."""
        with ctx.workprec(128):
            rest, gain = self._cell_and_gain()
            p, k = 1 + gain, self.size
            others = [(arb(0), arb(1), (k - 2) * rest)] if k > 2 else []
            on_x = [(gain / p, 1 / p, p * rest), (-gain, p, rest), *others]
            on_z = [(gain, arb(1), rest), (-gain / p, arb(1), p * rest), *others]
            found = [pair_of(on_x), pair_of(on_z)]
            if k > 2:
                fourth = [(arb(0), arb(1), (k - 3) * rest)] if k > 3 else []
                found.append(pair_of([(gain, arb(1), rest), (-gain, p, rest), (arb(0), 1 / p, p * rest), *fourth]))
            return found

    def agreements(self) -> Sequence[Pair]:
        """None: where both hold x, two atoms between those of a pair have their sum (docs/maths/mixtures.md)."""
        return []

    def _cell_and_gain(self) -> tuple[arb, arb]:
        """Gamma / k = 1 / (e^eps0 + k - 1), and e^eps0 - 1."""
        if self.given_epsilon0 is not None:
            gain = arb(self.given_epsilon0).expm1()
            return 1 / (gain + self.size), gain
        gamma = self.gamma()
        return gamma / self.size, self.size * (1 - gamma) / gamma


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomizedResponse(OfPureBlanket, OwnMessages):
    """With probability gamma a uniform message, otherwise the symbol itself (Algorithm 1).

    Give the number of symbols and either the local privacy parameter or gamma.
    Sampling compares 64 bits per row, eight of them at first, with `threshold` = ceil(gamma 2^64): below it the row is in
    the blanket, and its message is an exactly uniform one. Rounding up means more blanket: the safe side. `as_run` is
    the very law that is sampled.

    Reference: BBGN19, Algorithm 1 and Lemma 5.1.

    >>> RandomizedResponse(size=10, epsilon0=1.0).gamma
    0.8533674259065844
    """

    kind: ClassVar[str] = "response"

    size: int
    given_epsilon0: float | None = None
    given_gamma: float | Fraction | None = None

    def __init__(self, *, size: int, epsilon0: float | None = None, gamma: float | Fraction | None = None) -> None:
        if (epsilon0 is None) == (gamma is None):
            raise InvalidInput("randomized response takes either epsilon0 or gamma. Give exactly one of them.")
        if gamma is not None and not isinstance(gamma, Fraction):
            gamma = checks.real(gamma, "gamma", "down")
        if gamma is not None and not 0 < gamma <= 1:
            raise InvalidInput(
                f"gamma must be above 0 and at most 1; got {float(gamma)}. Usual values are 0.001 to 0.5."
            )
        object.__setattr__(self, "size", checks.size(size))
        object.__setattr__(
            self, "given_epsilon0", None if epsilon0 is None else checks.epsilon(epsilon0, "epsilon0", side="up")
        )
        object.__setattr__(self, "given_gamma", gamma)

    @classmethod
    def of_threshold(cls, *, size: int, threshold: int) -> Self:
        """The law that runs with this threshold: gamma is threshold / 2^64 exactly."""
        if type(threshold) is not int or not 0 < threshold <= WORD:
            raise InvalidInput(f"a threshold is a whole number from 1 to 2^64; got {threshold}. It is gamma 2^64.")
        return cls(size=size, gamma=Fraction(threshold, WORD))

    @classmethod
    def from_document(cls, document: object) -> Self:
        """The law that runs, from its document."""
        return cls.of_threshold(**fields(document, cls.kind, size=whole, threshold=word))

    def document(self) -> Document:
        """The law that runs (`as_run`), as JSON data."""
        return {"kind": self.kind, "size": self.size, "threshold": str(self.threshold)}

    @classmethod
    def examples(cls) -> list[Self]:
        """Few and many symbols, little and much noise."""
        strong, weak = cls(size=2, epsilon0=0.5), cls(size=100, gamma=Fraction(1, 3))
        return [strong, cls(size=3, epsilon0=2.0), cls(size=10, gamma=0.2), weak]

    @staticmethod
    def family(*, size: int, parameter: Literal["epsilon0", "gamma"] = "epsilon0") -> RandomizerFamily:
        """Randomized response on `size` symbols with epsilon0 or gamma left open."""
        size = checks.size(size)
        if parameter == "gamma":
            return RandomizerFamily(
                parameter="gamma",
                blanket=lambda gamma: ResponseBlanket(size=size, given_gamma=gamma),
                low=1e-18,
                high=1.0,
                more_private="larger",
            )
        return RandomizerFamily(
            parameter="epsilon0",
            blanket=lambda epsilon0: ResponseBlanket(size=size, given_epsilon0=epsilon0),
            low=0.0,
            high=checks.LARGEST_EPSILON,
            more_private="smaller",
        )

    def blanket(self) -> ResponseBlanket:
        """The privacy blanket."""
        return ResponseBlanket(size=self.size, given_epsilon0=self.given_epsilon0, given_gamma=self.given_gamma)

    @property
    def threshold(self) -> int:
        """ceil(gamma 2^64): a word below it puts the row in the blanket."""
        if self.given_gamma is not None:
            numerator, denominator = self.given_gamma.as_integer_ratio()
            return -(-numerator * WORD // denominator)
        with ctx.workprec(256):
            return min(WORD, int((self.blanket().gamma() * WORD).upper().ceil().unique_fmpz() or WORD))

    @property
    def gamma_as_run(self) -> float:
        """The probability of ignoring the value that is actually sampled: threshold / 2^64, to the nearest double."""
        return self.threshold / WORD

    def sentence(self) -> str:
        """What a user does with a symbol."""
        return (
            f"sends a uniformly random value with probability {self.gamma_as_run:.6g}, otherwise the true one "
            f"(local epsilon0 = {rounded_up(self.epsilon0)})"
        )

    def as_run(self) -> Self:
        """The law that `randomize` samples: gamma is threshold / 2^64 exactly."""
        return self.of_threshold(size=self.size, threshold=self.threshold)

    def with_gamma(self, gamma: float) -> Self:
        """On the same symbols, with more or less blanket: as it runs, rounded up."""
        return self.of_threshold(size=self.size, threshold=threshold_of(gamma))

    def randomize(
        self, symbols: NDArray[np.integer], randomness: RandomSource, *, first_row: int
    ) -> NDArray[np.unsignedinteger]:
        """One message per row; a pure function of the symbols and the words at rows first_row, first_row + 1, ...

        Under one key no row may be used for two people or two questions: they would share their coins.
        """
        return with_blanket(checks.symbols(symbols, self.size), self.threshold, self.size, randomness, first_row)

    def probability(self, message: NDArray[np.integer] | int, symbol: int) -> NDArray[np.float64]:
        """mu_symbol(message)."""
        return self.gamma / self.size + (1 - self.gamma) * self.left_over(message, symbol)

    def omega(self, message: NDArray[np.integer] | int) -> NDArray[np.float64]:
        """The blanket's probability of a message."""
        return np.full(np.shape(message), 1 / self.size)

    def left_over(self, message: NDArray[np.integer] | int, symbol: int) -> NDArray[np.float64]:
        """nu_symbol(message): the truth."""
        return np.asarray(np.equal(message, symbol), dtype=np.float64)


@lru_cache(maxsize=64)
def _pair(blanket: ResponseBlanket) -> Pair:
    """Kept, because a search asks for it at every step."""
    with ctx.workprec(128):
        rest, gain = blanket._cell_and_gain()
        others = [(arb(0), arb(1), (blanket.size - 2) * rest)] if blanket.size > 2 else []
        return pair_of([(gain, arb(1), rest), (-gain, 1 + gain, rest), *others])


def _exact(value: float | Fraction) -> arb:
    fraction = Fraction(value)
    return arb(fmpq(fraction.numerator, fraction.denominator))
