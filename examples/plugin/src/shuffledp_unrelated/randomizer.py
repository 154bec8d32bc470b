"""Two answers: to the sensitive question, or to a harmless one that has nothing to do with it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Self

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.core.blanket import RandomizerFamily
from shuffledp.core.document import Readers, Written, word
from shuffledp.core.randomizer import OwnMessages
from shuffledp.core.randomness import WORD, RandomSource, coins, rows_from
from shuffledp.errors import InvalidInput
from shuffledp.randomizers.channel import ChannelBlanket
from shuffledp.randomizers.mixing import threshold_of
from shuffledp.randomizers.named import Kind
from shuffledp.randomizers.of_blanket import OfBlanket

BORN_IN_MAY: Final = WORD // 12


@dataclass(frozen=True, slots=True, kw_only=True)
class UnrelatedQuestion(OfBlanket, OwnMessages, Written):
    """The true answer (0 is no, 1 is yes) or, with probability gamma, that to a harmless question.

    Formula: P(yes) = g p + (1 - g) x for the true answer x.
    Legend: g = threshold / 2^64, the probability of the harmless question; p = harmless / 2^64, that of a "yes" to it.
    Reference: Greenberg, Abul-Ela, Simmons and Horvitz (1969).
    """

    kind: ClassVar[str] = "unrelated-question"
    readers: ClassVar[Readers] = {"threshold": word, "harmless": word}
    size = 2  # no and yes

    threshold: int
    harmless: int = BORN_IN_MAY

    def __post_init__(self) -> None:
        for chance, most in ((self.threshold, WORD), (self.harmless, WORD - 1)):
            if type(chance) is not int or not 0 < chance <= most:
                raise InvalidInput(
                    "the two probabilities are whole numbers of 2^-64, above 0 and not too large. Use others."
                )

    @classmethod
    def of(cls, gamma: float, harmless: int = BORN_IN_MAY) -> Self:
        """With this probability of the harmless question, rounded up."""
        if not 0 < checks.real(gamma, "gamma", "down") <= 1:
            raise InvalidInput(f"gamma must be above 0 and at most 1; got {gamma}. Use e.g. 0.2.")
        return cls(threshold=threshold_of(gamma), harmless=harmless)

    @classmethod
    def family(cls, harmless: int = BORN_IN_MAY) -> RandomizerFamily:
        """With gamma left open: what `calibrate` solves for."""
        return RandomizerFamily(
            parameter="gamma",
            blanket=lambda gamma: cls.of(gamma, harmless).blanket(),
            low=1e-9,
            high=1.0,
            more_private="larger",
        )

    @classmethod
    def named(cls) -> Kind:
        """What the command line may say of it."""
        return Kind(("gamma",), lambda gamma: cls.of(gamma).blanket(), lambda **_: cls.family(), cls.of)

    def with_gamma(self, gamma: float) -> Self:
        """The same questions, the harmless one more or less often: what surveys ask for."""
        return replace(self, threshold=threshold_of(gamma))

    # What a bound sees

    def blanket(self) -> ChannelBlanket:
        """That of a channel with these probabilities, which are exact."""
        yes = [fmpq(self.threshold * self.harmless, WORD * WORD) + x * (1 - fmpq(self.threshold, WORD)) for x in (0, 1)]
        return ChannelBlanket(rows=tuple((1 - one, one) for one in yes), name="unrelated question")

    # What runs

    def probability(self, message: NDArray[np.integer] | int, symbol: int) -> NDArray[np.float64]:
        """mu_symbol(message)."""
        return np.asarray(np.array([float(chance) for chance in self.blanket().rows[symbol]])[message])

    def randomize(self, symbols: NDArray[np.integer], randomness: RandomSource, *, first_row: int) -> NDArray[Any]:
        """One answer per row: a function of the row's own random words, at draws 0 and 1."""
        answers = checks.symbols(symbols, 2).astype(np.uint8)
        rows = rows_from(first_row, len(answers))
        ignored, harmless = (
            coins(chance, 1, rows, randomness, j)[:, 0] for j, chance in enumerate((self.threshold, self.harmless))
        )
        return np.where(ignored, harmless, answers).astype(np.uint8)

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """What the conformance suite judges."""
        return [cls(threshold=WORD // 5), cls(threshold=WORD // 2, harmless=WORD // 3)]
