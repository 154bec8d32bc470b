"""Microsoft's dBitFlip: each user answers about a few random buckets only."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.core.words import WordSource, rows_from, uniform_below
from shuffledp.errors import InvalidInput
from shuffledp.protocols.baselines.flip import Flip
from shuffledp.references import cite

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class DBitFlip:
    """dBitFlip (Ding, Kulkarni, Yekhanin 2017): d of K buckets without replacement, one lying bit for each.

    Formula: c_v = (K / d) sum over reports on v of (b - s) / (1 - 2 s); with r = s (1 - s) / (1 - 2 s)^2,
    Var c_v = (K / d) n r + f_v (K / d - 1); eps0 = min(2, d) log((1 - s) / s).
    Legend: K = size, d = asked, s = flip.probability, f_v = users in v.
    """

    size: int
    asked: int
    flip: Flip

    def __post_init__(self) -> None:
        checks.size(self.size)
        if not 1 <= self.asked <= self.size:
            raise InvalidInput(f"a user is asked about 1 to {self.size} buckets; got {self.asked}. Ask about fewer.")

    @classmethod
    def private(cls, *, size: int, asked: int, epsilon0: float) -> "DBitFlip":
        """The most accurate one that is epsilon0-LDP: two bits change, or one if only one is asked for."""
        return cls(size=size, asked=asked, flip=Flip.private(epsilon0 / min(2, asked)))

    reference = cite("DKY17")

    @property
    def epsilon0(self) -> float:
        """The local privacy parameter, rounded up."""
        return min(2, self.asked) * self.flip.epsilon

    @property
    def bits(self) -> int:
        """Of one report: which buckets, and a bit for each."""
        return self.asked * ((self.size - 1).bit_length() + 1)

    def randomize(
        self, symbols: NDArray[np.integer], words: WordSource, *, first_row: int
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The buckets and bits of each user: two matrices of shape (users, asked)."""
        held, rows = checks.symbols(symbols, self.size), rows_from(first_row, len(symbols))
        everyone = np.arange(len(held))
        order = np.tile(np.arange(self.size), (len(held), 1))
        for j in range(self.asked):  # Fisher and Yates, as far as needed
            draw = j << 16
            step = (
                uniform_below(self.size - j, rows, words, words.blocks(rows, draw), draw).astype(np.int64)
                if j < self.size - 1
                else np.zeros(len(held), dtype=np.int64)
            )
            chosen = order[everyone, j + step].copy()
            order[everyone, j + step] = order[:, j]
            order[:, j] = chosen
        buckets = order[:, : self.asked]
        return buckets, self.flip.apply(buckets == held[:, None], rows, words, self.asked << 16)

    def estimate(self, messages: tuple[NDArray[np.int64], NDArray[np.bool_]]) -> Reals:
        """Unbiased counts of users."""
        buckets, bits = messages
        reports = np.bincount(buckets.ravel(), minlength=self.size)
        ones = np.bincount(buckets.ravel(), weights=bits.ravel(), minlength=self.size)
        return self._debias(ones, reports)

    def variance(self, users: NDArray[np.integer]) -> Reals:
        """Of each count."""
        share, s = self.size / self.asked, self.flip.probability
        return np.asarray(share * float(users.sum()) * s * (1 - s) * self.flip.gain**2 + users * (share - 1))

    def simulate(self, users: NDArray[np.int64], generator: np.random.Generator, runs: int) -> Reals:
        """Estimates of runs, one a row; each count is exact in law (their dependence through who is asked what is not kept)."""
        held, n = np.tile(users, (runs, 1)), int(users.sum())
        true = generator.binomial(held, self.asked / self.size)
        false = generator.binomial(n - held, self.asked / self.size)
        return self._debias(self.flip.count(true, false, generator), true + false)

    def _debias(self, ones: NDArray[np.int64] | Reals, reports: NDArray[np.int64]) -> Reals:
        return np.asarray(self.size / self.asked * (ones - reports * self.flip.probability) * self.flip.gain)
