"""Microsoft's dBitFlip: each user answers about a few random buckets only."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.baselines.document_fields import Fields
from shuffledp.baselines.flip import Flip
from shuffledp.baselines.local import LocalHistogram
from shuffledp.core import checks
from shuffledp.core.counts import Counts
from shuffledp.core.population import Population
from shuffledp.core.randomness import RandomSource, rows_from, uniform_below
from shuffledp.domains.whole_numbers import WholeNumbers
from shuffledp.errors import InvalidInput
from shuffledp.protocols.counting import Counting
from shuffledp.references import cite

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class DBitFlip(Counting, Fields):
    """dBitFlip (Ding, Kulkarni, Yekhanin 2017): d of K buckets without replacement, one lying bit for each.

    Formula: c_v = (K / d) sum over reports on v of (b - s) / (1 - 2 s); with r = s (1 - s) / (1 - 2 s)^2,
    Var c_v = (K / d) n r + f_v (K / d - 1); eps0 = min(2, d) log((1 - s) / s).
    Legend: K = size, d = asked, s = flip.probability, f_v = users in v.
    """

    size: int
    asked: int
    flip: Flip
    kind = "dbitflip"
    reference: ClassVar[str] = cite("DKY17")

    def __post_init__(self) -> None:
        checks.settle(self, size=checks.size(self.size), asked=checks.whole(self.asked, "asked", "Ask about fewer."))
        if not 1 <= self.asked <= self.size:
            raise InvalidInput(f"a user is asked about 1 to {self.size} buckets; got {self.asked}. Ask about fewer.")

    @classmethod
    def private(cls, *, size: int, asked: int, epsilon0: float) -> Self:
        """The most accurate one that is epsilon0-LDP: two bits change, or one if only one is asked for."""
        return cls(size=size, asked=asked, flip=Flip.private(epsilon0 / min(2, asked)))

    @property
    def domain(self) -> WholeNumbers:
        return WholeNumbers(self.size)

    def sentence(self) -> str:
        """What one user does."""
        return (
            f"each user is asked about {self.asked:,} random buckets and lies about each with probability "
            f"{self.flip.probability:.6g}"
        )

    @property
    def epsilon0(self) -> float:
        """The local privacy parameter, rounded up."""
        return min(2, self.asked) * self.flip.epsilon

    @property
    def bits(self) -> int:
        return self.asked * ((self.size - 1).bit_length() + 1)

    def randomize(
        self, values: NDArray[np.integer], randomness: RandomSource, *, first_row: int
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The buckets and bits of each user: two matrices of shape (users, asked)."""
        held, rows = checks.symbols(values, self.size), rows_from(first_row, len(values))
        everyone = np.arange(len(held))
        order = np.tile(np.arange(self.size), (len(held), 1))
        for j in range(self.asked):  # Fisher and Yates, as far as needed
            draw = j << 16
            step = (
                uniform_below(self.size - j, rows, randomness, randomness.blocks(rows, draw), draw).astype(np.int64)
                if j < self.size - 1
                else np.zeros(len(held), dtype=np.int64)
            )
            chosen = order[everyone, j + step].copy()
            order[everyone, j + step] = order[:, j]
            order[:, j] = chosen
        buckets = order[:, : self.asked]
        return buckets, self.flip.apply(buckets == held[:, None], rows, randomness, self.asked << 16)

    @property
    def counters(self) -> int:
        """Ones and reports of each bucket."""
        return 2 * self.size

    def count(self, messages: tuple[NDArray[np.int64], NDArray[np.bool_]]) -> Counts:
        """Ones first, then all reports."""
        buckets, bits = messages
        ones = np.bincount(buckets[bits], minlength=self.size)
        return Counts(np.concatenate([ones, np.bincount(buckets.ravel(), minlength=self.size)]))

    def reports(self, counts: NDArray[np.int64]) -> int:
        """All reports, divided by the buckets that each user is asked about."""
        return int(counts[self.size :].sum()) // self.asked

    def debias(self, counts: NDArray[np.int64], n: int) -> Reals:  # noqa: ARG002
        """Unbiased counts of users."""
        return self._unbiased(counts[..., : self.size], counts[..., self.size :])

    def variance(self, users: Reals, n: int) -> Reals:
        share, s = self.size / self.asked, self.flip.probability
        return np.asarray(share * float(n) * s * (1 - s) * self.flip.gain**2 + users * (share - 1))

    def max_shift(self, n: int) -> float:  # noqa: ARG002
        """Every bit about one bucket: nothing stops a liar from answering about it alone."""
        return self.size * self.flip.gain

    def simulate(self, population: Population, generator: np.random.Generator, runs: int) -> Reals:
        """Each count is exact in law (their dependence through who is asked what is not kept)."""
        held, n = np.tile(self.held(population), (runs, 1)), population.n
        true = generator.binomial(held, self.asked / self.size)
        false = generator.binomial(n - held, self.asked / self.size)
        return self._unbiased(self.flip.count(true, false, generator), true + false)

    @classmethod
    def examples(cls) -> list[Self]:
        """Asked about one, some and all buckets."""
        return [cls.private(size=4, asked=asked, epsilon0=1.5) for asked in (1, 2, 4)]

    def _unbiased(self, ones: NDArray[np.int64], reports: NDArray[np.int64]) -> Reals:
        return np.asarray(self.size / self.asked * (ones - reports * self.flip.probability) * self.flip.gain)


class DBitFlips(LocalHistogram):
    """A quarter of the buckets is asked about."""

    name = "dBitFlip"

    def private(self, size: int, epsilon0: float) -> DBitFlip:
        """The most accurate one that is epsilon0-LDP."""
        return DBitFlip.private(size=size, asked=max(1, size // 4), epsilon0=epsilon0)
