"""Hadamard response: rows of a Hadamard matrix, in blocks."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.baselines.published_design import DesignCounts, PublishedDesign
from shuffledp.core import checks
from shuffledp.core.counts import Counts
from shuffledp.core.population import Population
from shuffledp.core.randomness import WORD, RandomSource, choose_below
from shuffledp.errors import InvalidInput
from shuffledp.planning.families.histogram import HistogramQuestion
from shuffledp.randomizers.hadamard_design import rows_of_minus_one, walsh_hadamard
from shuffledp.randomizers.mixing import with_blanket
from shuffledp.randomizers.structure import Shape
from shuffledp.references import cite

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class HadamardResponse(DesignCounts):
    """Hadamard response (Acharya, Sun, Zhang 2019): a value has half of the messages of its block.

    Value v is column v // B + 1 of Sylvester's matrix of order b in block v % B; S_v are the rows of that block where it is -1.
    Formula: (2 |S_v| - |C_v|) / (1 - g) is unbiased, |S_v| and |C_v| counting messages in S_v and in v's block. A holder of v,
    of another value of its block, or of any other adds t - (1 - g)^2, t or 2 g s over (1 - g)^2 to the variance.
    Legend: B = blocks, b = order, s = 1 / (2 B), t = 1 - g + 2 g s. Two values share 1/4 of the messages if there is one block;
    else some share none.
    """

    size: int
    blocks: int
    order: int
    threshold: int
    kind = "hadamard-response"
    reference: ClassVar[str] = cite("ASZ19")

    def __post_init__(self) -> None:
        self.check()
        if any(number < 1 or number & (number - 1) for number in (self.blocks, self.order)):
            raise InvalidInput("blocks and order of a Hadamard response are powers of two. Use e.g. 2 and 1024.")
        if self.size > self.blocks * (self.order - 1) or self.messages > 1 << 32:
            raise InvalidInput(
                f"{self.size:,} values do not fit {self.blocks:,} blocks of order {self.order:,}. Use another order."
            )

    @property
    def messages(self) -> int:
        """Rows of all blocks."""
        return self.blocks * self.order

    @property
    def design(self) -> Shape:
        """What two values share at least."""
        overlap = Fraction(1, 4) if self.blocks == 1 else Fraction(0)
        return Shape(share=Fraction(1, 2 * self.blocks), overlap=overlap, label="Hadamard response")

    def sentence(self) -> str:
        """What one user does."""
        return (
            f"each user sends a random one of the {self.order // 2:,} rows that belong to the value, or, with "
            f"probability {self.gamma:.6g}, a random one of all {self.messages:,}"
        )

    @property
    def bits(self) -> int:
        return (self.messages - 1).bit_length()

    def randomize(
        self, values: NDArray[np.integer], randomness: RandomSource, *, first_row: int
    ) -> NDArray[np.unsignedinteger]:
        """One row per user."""
        held = checks.symbols(values, self.size).astype(np.uint64)
        choice = choose_below(self.order // 2, len(held), randomness, first_row=first_row)
        column, block = np.divmod(held, np.uint64(self.blocks))
        rows = rows_of_minus_one(column + np.uint64(1), choice) + (block * np.uint64(self.order)).astype(np.uint32)
        return with_blanket(rows, self.threshold, self.messages, randomness, first_row)

    @property
    def counters(self) -> int:
        """Messages of each value's set, of its block, and all."""
        return 2 * self.size + 1

    def count(self, messages: NDArray[np.unsignedinteger]) -> Counts:
        """By a transform of each block."""
        rows = np.bincount(messages, minlength=self.messages).reshape(self.blocks, self.order)
        transformed = np.stack([walsh_hadamard(block) for block in rows])
        column, block = np.divmod(np.arange(self.size), self.blocks)
        in_block = transformed[block, 0]
        return Counts(
            np.concatenate([(in_block - transformed[block, column + 1]) // 2, in_block, np.full(1, len(messages))])
        )

    def debias(self, counts: NDArray[np.int64], n: int) -> Reals:  # noqa: ARG002
        """Unbiased counts of users."""
        mine, in_block = counts[..., : self.size], counts[..., self.size : -1]
        return np.asarray((2.0 * mine - in_block) / (1 - self.gamma))

    def variance(self, users: Reals, n: int) -> Reals:
        seen = self._seen()
        together = self._together(np.asarray(users, dtype=np.float64))
        noise = users * (seen - (1 - self.gamma) ** 2) + (together - users) * seen
        rest = (n - together) * (self.gamma / self.blocks)
        return np.asarray((noise + rest) / (1 - self.gamma) ** 2)

    @property
    def nearest(self) -> int:
        """One of the same block, if there is any."""
        return self.blocks if self.size > self.blocks else 1

    def worst_variance(self, share: float, n: int) -> float:
        """It depends on how many hold a value of the same block: all, at worst."""
        return self._first_variance(self.worst_share(share, n))

    def max_shift(self, n: int) -> float:  # noqa: ARG002
        """From the other half of the block to the value's."""
        return 2 / (1 - self.gamma)

    def simulate(self, population: Population, generator: np.random.Generator, runs: int) -> Reals:
        """Each count is exact in law (their dependence through shared rows is not kept)."""
        held = np.tile(self.held(population), (runs, 1))
        together, g = self._together(held), self.gamma
        mine, seen = (1 - g) + g / (2 * self.blocks), self._seen()
        own = generator.binomial(held, seen)
        others = generator.binomial(together - held, seen) + generator.binomial(
            population.n - together, g / self.blocks
        )
        in_set = generator.binomial(own, min(1.0, mine / seen)) + generator.binomial(others, 0.5)
        return np.asarray((2.0 * in_set - own - others) / (1 - g))

    @classmethod
    def examples(cls) -> list[Self]:
        """One block, and several that are not full."""
        return [
            cls(size=3, blocks=1, order=4, threshold=WORD // 3),
            cls(size=5, blocks=2, order=4, threshold=WORD // 5),
        ]

    def _seen(self) -> float:
        """The probability of a message in the own block."""
        return 1 - self.gamma + self.gamma / self.blocks

    def _together(self, users: NDArray[Any]) -> NDArray[Any]:
        """How many users hold a value of the same block, for every value."""
        short = -self.size % self.blocks
        padded = np.pad(users, [*((0, 0),) * (users.ndim - 1), (0, short)])
        sums = padded.reshape(*users.shape[:-1], -1, self.blocks).sum(axis=-2)
        return np.asarray(sums[..., np.arange(self.size) % self.blocks])


class HadamardResponses(PublishedDesign):
    """With the paper's number of blocks."""

    name = "Hadamard response"

    def published(self, question: HistogramQuestion, size: int, epsilon0: float) -> HadamardResponse:  # noqa: ARG002
        """B = 2^(ceil(log2 min(e^epsilon0, 2 k)) - 1), b = 2^ceil(log2(k / B + 1))."""
        small = min(math.exp(min(epsilon0, 40.0)), 2 * size)
        blocks = 1 << max(0, math.ceil(math.log2(small)) - 1)
        return HadamardResponse(
            size=size, blocks=blocks, order=1 << (-(-size // blocks)).bit_length(), threshold=WORD // 2
        )
