"""Codebook response: which of a few random codewords is nearest to a point, or with probability gamma any of them."""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.arithmetic.balls import evaluate
from shuffledp.core.blanket import Blanket, RandomizerFamily
from shuffledp.core.digits import rounded_up
from shuffledp.core.document import Readers, Written, whole, word
from shuffledp.core.ragged import Ragged
from shuffledp.core.randomness import CHOICE_DRAW, WORD, RandomSource, randomness_of, rows_from
from shuffledp.errors import InvalidInput
from shuffledp.randomizers.codewords import SEEDS, UNIT, nearest
from shuffledp.randomizers.design_response import DesignBlanket, design_blanket, design_threshold
from shuffledp.randomizers.mixing import threshold_of, with_blanket
from shuffledp.randomizers.structure import Shape
from shuffledp.randomizers.together import TogetherBlanket

Reals = NDArray[np.float64]
Words = NDArray[np.uint64]
MOST_CODEWORDS: Final = 1 << 14
"""With a seed of 48 bits a message then has at most 62."""
MOST_REPEATS: Final = 1 << 10
"""Messages that one user sends."""
_LONGEST: Final = 1 + 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class CodebookResponse(Written):
    """A user makes a point of the unit ball one of the sphere above it, draws a seed, and says which codeword is nearest.

    A message is seed * size + number. Whatever the codewords are, and however the nearest one is found, the messages (r, j_r(x))
    of a value x are one for each seed r: a design of share exactly 1 / size. Nothing is said about how many of them two values
    share, because opposite points may share none. Privacy rests on the random seed, the threshold, and nothing else.

    Attributes:
        dimension: of the ball.
        size: codewords for each seed.
        threshold: the probability of naming any codeword, in units of 2^-64.
        repeats: messages of each user, about the same point, with coins of their own and shuffled apart.
    """

    kind: ClassVar[str] = "codebook"
    readers: ClassVar[Readers] = {"dimension": whole, "size": whole, "repeats": whole, "threshold": word}

    dimension: int
    size: int
    threshold: int
    repeats: int = 1
    blanket_of_one: DesignBlanket = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, value, low, high in (
            ("dimension", self.dimension, 1, 1 << 20), ("size", self.size, 2, MOST_CODEWORDS),
            ("repeats", self.repeats, 1, MOST_REPEATS), ("threshold", self.threshold, 1, WORD),
        ):  # fmt: skip
            if type(value) is not int or not low <= value <= high:
                raise InvalidInput(f"`{name}` must be a whole number from {low:,} to {high:,}. Give another one.")
        object.__setattr__(
            self, "blanket_of_one", design_blanket(design_of(self.size), gamma=Fraction(self.threshold, WORD))
        )

    @classmethod
    def private(
        cls, *, dimension: int, size: int, repeats: int = 1, gamma: float | None = None, epsilon0: float | None = None
    ) -> Self:
        """With the blanket probability, or the local privacy parameter, of one message; more blanket rather than less."""
        threshold = design_threshold(design_of(size), gamma=gamma, epsilon0=epsilon0)
        return cls(dimension=dimension, size=size, threshold=threshold, repeats=repeats)

    @staticmethod
    def family(size: int, parameter: Literal["epsilon0", "gamma"] = "gamma") -> RandomizerFamily:
        """One message with gamma or epsilon0 left open: the dimension does not matter."""
        low, high = (1e-18, 1.0) if parameter == "gamma" else (0.0, 700.0)
        return RandomizerFamily(
            parameter=parameter,
            blanket=lambda value: design_blanket(design_of(size), **{parameter: value}),
            low=low,
            high=high,
            more_private="larger" if parameter == "gamma" else "smaller",
        )

    def blanket(self) -> Blanket:
        """The privacy blanket, of the very law that runs; of several messages, which compose, those of all."""
        one = self.blanket_of_one
        return one if self.repeats == 1 else TogetherBlanket(parts=(one,) * self.repeats)

    @property
    def gamma(self) -> float:
        """The probability that no message depends on the value, rounded down."""
        return max(0.0, evaluate(self.blanket().gamma).lower)

    @property
    def gamma_as_run(self) -> float:
        """The probability that one message names any codeword, to the nearest double."""
        return self.threshold / WORD

    @property
    def epsilon0(self) -> float:
        """The local privacy parameter of all messages of a user, rounded up."""
        return evaluate(lambda: self.blanket().epsilon0()).upper  # type: ignore[arg-type,return-value]

    @property
    def messages(self) -> int:
        """Number of different messages."""
        return SEEDS * self.size

    def sentence(self) -> str:
        """What a user does with a point."""
        often = "" if self.repeats == 1 else f"{self.repeats:,} times "
        local = "" if self.repeats == 1 else " of all messages"
        return (
            f"{often}draws a random seed and sends it with a uniformly random number below {self.size:,} with probability "
            f"{self.gamma_as_run:.6g}, otherwise with that of the nearest of {self.size:,} codewords "
            f"(local epsilon0{local} = {rounded_up(self.epsilon0)})"
        )

    def randomize(self, points: Reals, randomness: RandomSource, *, first_row: int) -> Any:
        """One message per row, or `repeats` of them; a pure function of the points and the words at their rows.

        The seed comes from words of its own, so that it does not depend on the point.
        """
        targets = on_sphere(points, self.dimension)
        if self.repeats == 1:
            return self._once(targets, randomness, first_row)
        found = np.empty((len(targets), self.repeats), dtype=np.uint64)
        for t in range(self.repeats):
            found[:, t] = self._once(targets, randomness_of(t, randomness), first_row)
        return Ragged(found.reshape(-1), np.full(len(targets), self.repeats, dtype=np.int64))

    def _once(self, targets: Reals, randomness: RandomSource, first_row: int) -> Words:
        seeds = randomness.blocks(rows_from(first_row, len(targets)), CHOICE_DRAW)[:, 0] >> np.uint64(16)
        numbers = nearest(targets, seeds, self.size).astype(np.uint32)
        sent = with_blanket(numbers, self.threshold, self.size, randomness, first_row)
        return np.asarray(seeds * np.uint64(self.size) + sent)

    def split(self, messages: Words) -> tuple[Words, Words]:
        """Seeds and numbers of messages."""
        seeds, numbers = np.divmod(np.asarray(messages, dtype=np.uint64), np.uint64(self.size))
        return seeds, numbers

    def with_gamma(self, gamma: float) -> Self:
        """With more or less blanket in each message, rounded up."""
        return replace(self, threshold=threshold_of(gamma))

    @classmethod
    def examples(cls) -> list[Self]:
        """Few and many codewords, and several messages."""
        return [
            cls.private(dimension=3, size=2, gamma=0.3),
            cls.private(dimension=2, size=16, epsilon0=2.0),
            cls.private(dimension=5, size=8, gamma=0.2, repeats=3),
        ]


def design_of(size: int) -> Shape:
    """What privacy depends on: of each seed's messages one belongs to a value, and two values may share none."""
    return Shape(share=Fraction(1, size), overlap=Fraction(0), label=f"codebook response with {size:,} codewords")


def on_sphere(points: Reals, dimension: int) -> Reals:
    """Points of the ball, each with one entry more that makes its length 1, in whole numbers of 1 / UNIT.

    Squares of such numbers, and their sums, are exact in doubles, so that the order in which they are added does not matter.
    """
    given = np.asarray(points, dtype=np.float64)
    if given.ndim != 2 or given.shape[1] != dimension:
        raise InvalidInput(f"points have {dimension:,} coordinates each. Clean the rows first.")
    if given.size and not np.abs(given).max() <= _LONGEST:
        raise _outside()
    targets = np.empty((len(given), dimension + 1))
    np.rint(given * UNIT, out=targets[:, :-1])
    squares = np.einsum("ij,ij->i", targets[:, :-1], targets[:, :-1])
    if len(given) and squares.max() > (_LONGEST * UNIT + _rounding(dimension)) ** 2:
        raise _outside()
    targets[:, -1] = np.rint(np.sqrt(np.maximum(float(UNIT) ** 2 - squares, 0.0)))
    return targets


def _rounding(dimension: int) -> float:
    """How much longer a row may be because its entries are rounded."""
    return float(np.sqrt(dimension)) / 2


def _outside() -> InvalidInput:
    return InvalidInput("a point is not in the unit ball. Clean the rows first.")
