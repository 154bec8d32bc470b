"""Subset selection: each user sends a set of values that is likely to hold the own."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.baselines.published_design import DesignCounts, PublishedDesign
from shuffledp.core import checks
from shuffledp.core.counts import Counts
from shuffledp.core.randomness import WORD, RandomSource, coins, rows_from, uniform_below
from shuffledp.errors import InvalidInput
from shuffledp.planning.families.histogram import HistogramQuestion
from shuffledp.randomizers.structure import Shape
from shuffledp.references import cite


@dataclass(frozen=True, slots=True, kw_only=True)
class SubsetSelection(DesignCounts):
    """Subset selection (Ye, Barg 2018): a message is a set of d of the k values; those with v in them belong to v.

    Legend: k = size, d = chosen: s = d / k, o = d (d - 1) / (k (k - 1)), triple = o (d - 2) / (k - 2).
    """

    size: int
    chosen: int
    threshold: int
    kind = "subset-selection"
    reference: ClassVar[str] = cite("YB18")

    def __post_init__(self) -> None:
        self.check()
        if not 1 <= self.chosen < self.size:
            raise InvalidInput(f"a set has 1 to {self.size - 1} values; got {self.chosen}. Choose fewer.")

    @property
    def design(self) -> Shape:
        """How many sets hold one value, and two."""
        k, d = self.size, self.chosen
        overlap = Fraction(d * (d - 1), k * (k - 1))
        triple = overlap * Fraction(d - 2, k - 2) if k > 2 else None
        return Shape(share=Fraction(d, k), overlap=overlap, triple=triple, label=f"subset selection of {d:,} of {k:,}")

    def sentence(self) -> str:
        """What one user does."""
        return (
            f"each user sends a random set of {self.chosen:,} values that contains the true one, or, with probability "
            f"{self.gamma:.6g}, any such set"
        )

    @property
    def bits(self) -> int:
        """As many as number the sets."""
        k, d = self.size, self.chosen
        nats = math.lgamma(k + 1) - math.lgamma(d + 1) - math.lgamma(k - d + 1)
        return max(1, math.ceil(nats / math.log(2) - 1e-9))

    def randomize(self, values: NDArray[np.integer], randomness: RandomSource, *, first_row: int) -> NDArray[np.bool_]:
        """One row per user, true for the values of the set."""
        held, rows = checks.symbols(values, self.size).astype(np.int64), rows_from(first_row, len(values))
        everyone = np.arange(len(held))
        order = np.tile(np.arange(self.size), (len(held), 1))
        order[everyone, held], order[:, 0] = 0, held
        ignored = coins(self.threshold, 1, rows, randomness, 0)[:, 0]
        for j in range(
            self.chosen
        ):  # Fisher and Yates, as far as needed; the own value is the first unless it is ignored
            draw = (j + 1) << 16
            step = uniform_below(self.size - j, rows, randomness, randomness.blocks(rows, draw), draw).astype(np.int64)
            at = j + np.where(ignored, step, 0) if j == 0 else j + step
            order[everyone, at], order[:, j] = order[:, j].copy(), order[everyone, at]
        found = np.zeros((len(held), self.size), dtype=np.bool_)
        found[everyone[:, None], order[:, : self.chosen]] = True
        return found

    def count(self, messages: NDArray[np.bool_]) -> Counts:
        """In how many sets each value is."""
        return Counts(np.append(messages.sum(axis=0, dtype=np.int64), len(messages)))

    @classmethod
    def examples(cls) -> list[Self]:
        """One, two and three values chosen."""
        return [cls(size=4, chosen=chosen, threshold=WORD // 4) for chosen in (1, 2, 3)]


class SubsetSelections(PublishedDesign):
    """With the paper's size of the sets."""

    name = "subset selection"

    def published(self, question: HistogramQuestion, size: int, epsilon0: float) -> SubsetSelection:  # noqa: ARG002
        """D = k / (e^epsilon0 + 1), to the nearest whole number."""
        best = size / (math.exp(min(epsilon0, 600.0)) + 1)
        return SubsetSelection(size=size, chosen=min(size - 1, max(1, round(best))), threshold=WORD // 2)
