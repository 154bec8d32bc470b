"""Local hashing: each user hashes the value by a function of the own choice and lies about the hash."""

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.baselines.published_design import DesignCounts, PublishedDesign
from shuffledp.core import checks
from shuffledp.core.counts import Counts
from shuffledp.core.randomness import WORD, RandomSource, rows_from, uniform_below
from shuffledp.planning.families.histogram import HistogramQuestion
from shuffledp.randomizers.local_hashing import LocalHashing
from shuffledp.randomizers.mixing import with_blanket
from shuffledp.references import cite

Numbers = NDArray[np.uint64]


@dataclass(frozen=True, slots=True, kw_only=True)
class HashedResponse(DesignCounts):
    """Local hashing (Wang, Blocki, Li, Jha 2017): a random hash function, and the hash by randomized response.

    The papers draw the seed of a hash function and assume that hashes are uniform and independent; the functions here are a
    universal family, with exactly the collisions that this needs (randomizers/local_hashing.py).
    """

    size: int
    range: int
    threshold: int
    kind = "hashed-response"
    reference: ClassVar[str] = cite("WBLJ17")

    def __post_init__(self) -> None:
        self.check()
        LocalHashing.holding(self.size, self.range)

    @property
    def design(self) -> LocalHashing:
        """The functions and their values."""
        return LocalHashing.holding(self.size, self.range)

    def sentence(self) -> str:
        """What one user does."""
        return (
            f"each user hashes the value to {self.range:,} by a random function and sends a random hash instead with "
            f"probability {self.gamma:.6g}"
        )

    @property
    def bits(self) -> int:
        return (self.design.choices - 1).bit_length() + (self.range - 1).bit_length()

    def randomize(
        self, values: NDArray[np.integer], randomness: RandomSource, *, first_row: int
    ) -> tuple[Numbers, Numbers, Numbers]:
        """Each user's function, a and b, and hash. The function is uniform whether the hash is true or not."""
        held, rows, design = checks.symbols(values, self.size), rows_from(first_row, len(values)), self.design
        a, b = (
            uniform_below(bound, rows, randomness, randomness.blocks(rows, draw << 16), draw << 16).astype(np.uint64)
            for draw, bound in ((1, design.prime - 1), (2, design.prime))
        )
        a += np.uint64(1)
        hashes = with_blanket(design.hashed(held, a, b), self.threshold, self.range, randomness, first_row)
        return a, b, hashes.astype(np.uint64)

    def count(self, messages: tuple[Numbers, Numbers, Numbers]) -> Counts:
        """How many users sent the hash of each value."""
        a, b, hashes = messages
        same = [int((self.design.hashed(np.full(1, value), a, b) == hashes).sum()) for value in range(self.size)]
        return Counts(np.array([*same, len(a)], dtype=np.int64))

    @classmethod
    def examples(cls) -> list[Self]:
        """As many functions as values and more."""
        return [cls(size=4, range=3, threshold=WORD // 5), cls(size=5, range=2, threshold=WORD // 3)]


class HashedResponses(PublishedDesign):
    """With the ranges that the papers find best: e^epsilon0 + 1 locally (2017), a third of the blanket's size shuffled (2020)."""

    name = "local hashing"

    def published(self, question: HistogramQuestion, size: int, epsilon0: float) -> HashedResponse:
        """Local: g = e^epsilon0 + 1. Shuffled: d' = (m + 2) / 3, m = epsilon^2 (n - 1) / (14 log(2 / delta)) (WDX20)."""
        blanket = question.epsilon**2 * (question.n - 1) / (14 * math.log(2 / question.delta))
        best = (blanket + 2) / 3 if self._shuffled else math.exp(min(epsilon0, 40.0)) + 1
        most = LocalHashing.holding(size, 2).prime
        return HashedResponse(size=size, range=min(most, max(2, round(best))), threshold=WORD // 2)
