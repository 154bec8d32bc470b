"""Bits that lie with a fixed probability: what RAPPOR, dBitFlip and the sketches are made of."""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from shuffledp.arithmetic.balls import evaluate
from shuffledp.core import checks
from shuffledp.core.randomness import WORD, RandomSource, Words, coins
from shuffledp.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Flip:
    """A bit is flipped with probability threshold / 2^64, at least 1 / (1 + e^epsilon) and at most 1/2."""

    threshold: int

    def __post_init__(self) -> None:
        if not 0 < self.threshold <= WORD // 2:
            raise InvalidInput("a bit is flipped with a probability above 0 and at most 1/2. Use Flip.private.")

    @classmethod
    def private(cls, epsilon: float) -> Self:
        """The least flipping for which one bit is epsilon-LDP: rounded up."""
        number = checks.epsilon(epsilon)
        with ctx.workprec(256):
            bound = (arb(WORD) / (1 + arb(number).exp())).upper().ceil().unique_fmpz()
        return cls(min(WORD // 2, max(1, int(bound or 1))))

    @property
    def probability(self) -> float:
        """Of a lie."""
        return self.threshold / WORD

    @property
    def ball(self) -> arb:
        """The same, exactly."""
        return arb(fmpq(self.threshold, WORD))

    @property
    def epsilon(self) -> float:
        """What one bit gives away, rounded up."""
        return evaluate(lambda: ((1 - self.ball) / self.ball).log()).upper

    @property
    def gain(self) -> float:
        """1 / (1 - 2 p): what a bit of +-1 is multiplied with to be unbiased."""
        return WORD / (WORD - 2 * self.threshold) if 2 * self.threshold < WORD else math.inf

    def apply(
        self, bits: NDArray[np.bool_], rows: Words, randomness: RandomSource, first_draw: int
    ) -> NDArray[np.bool_]:
        """Flip a matrix of bits, one row per user."""
        return bits ^ coins(self.threshold, bits.shape[1], rows, randomness, first_draw)

    def count(
        self, ones: NDArray[np.int64], zeros: NDArray[np.int64], generator: np.random.Generator
    ) -> NDArray[np.int64]:
        """How many of the given true ones and zeros are reported as ones. For simulation."""
        return np.asarray(generator.binomial(ones, 1 - self.probability) + generator.binomial(zeros, self.probability))
