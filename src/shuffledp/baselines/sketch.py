"""Apple's count mean sketch, and its one-bit Hadamard form: for domains too large to list."""

import hashlib
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
from shuffledp.core.randomness import RandomSource, coins, rows_from, uniform_below
from shuffledp.domains.whole_numbers import WholeNumbers
from shuffledp.errors import InvalidInput
from shuffledp.protocols.counting import Counting
from shuffledp.references import cite

Reals = NDArray[np.float64]
Messages = tuple[NDArray[np.int64], NDArray[np.bool_]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch(Counting, Fields):
    """What both sketches have in common: hash functions, and agreements with each value counted."""

    size: int
    hashes: int
    width: int
    flip: Flip
    seed: int = 0
    reference: ClassVar[str] = cite("Apple17")
    flipped: ClassVar[int]
    """How many of the bits that a user sends depend on the value."""

    def __post_init__(self) -> None:
        checks.size(self.size)
        checks.size(self.width, name="width")
        if self.hashes < 1:
            raise InvalidInput(f"a sketch has at least one hash function; got {self.hashes}. Use e.g. 1024.")

    @classmethod
    def private(cls, *, size: int, epsilon0: float, hashes: int = 65536, width: int = 1024, seed: int = 0) -> Self:
        """The most accurate one that is epsilon0-LDP."""
        return cls(size=size, hashes=hashes, width=width, flip=Flip.private(epsilon0 / cls.flipped), seed=seed)

    @property
    def epsilon0(self) -> float:
        """The local privacy parameter, rounded up."""
        return self.flipped * self.flip.epsilon

    @property
    def domain(self) -> WholeNumbers:
        """The values that are asked about."""
        return WholeNumbers(self.size)

    @property
    def counters(self) -> int:
        """Agreements with each value, and of how many users."""
        return self.size + 1

    def reports(self, counts: NDArray[np.int64]) -> int:
        return int(counts[-1])

    def worst_variance(self, share: float, n: int) -> float:
        """It depends on what the others hold: one value, at worst."""
        return self._first_variance(self.worst_share(share, n))

    @property
    def cells_per_run(self) -> int:
        """Every pair of values may collide."""
        return self.size**2

    @classmethod
    def examples(cls) -> list[Self]:
        """Few hash functions and bits, so that values collide."""
        return [cls(size=4, hashes=8, width=8, flip=Flip.private(0.75))]


@dataclass(frozen=True, slots=True, kw_only=True)
class CountMeanSketch(Sketch):
    """CMS (Apple 2017): a random one of k hash functions, the unary vector of the hash in m bits, every bit of it flipped.

    Formula: f(d) = m / (m - 1) (S - n / m) with S = sum over users of (c v / 2 + 1/2), v = +-1 the user's bit at h_j(d), c
    = 1 / (1 - 2 s).
    Over random hash functions Var f(d) = (m / (m - 1))^2 (n (c^2 - 1) / 4 + (1/m)(1 - 1/m) sum_{d' != d} (f' + f' (f' - 1) / k)).
    Legend: k = hashes, m = width, s = flip.probability; eps0 = 2 log((1 - s) / s).
    """

    kind = "count-mean-sketch"
    flipped = 2

    def sentence(self) -> str:
        """What one user does."""
        return (
            f"each user hashes the value to {self.width:,} bits by one of {self.hashes:,} functions and flips every bit "
            f"with probability {self.flip.probability:.6g}"
        )

    @property
    def bits(self) -> int:
        return (self.hashes - 1).bit_length() + self.width

    def randomize(self, values: NDArray[np.integer], randomness: RandomSource, *, first_row: int) -> Messages:
        """Each user's hash function and row of bits."""
        held, rows = checks.symbols(values, self.size), rows_from(first_row, len(values))
        chosen = uniform_below(self.hashes, rows, randomness, randomness.blocks(rows, 0), 0).astype(np.int64)
        truth = np.arange(self.width) == _table(self)[chosen, held][:, None]
        return chosen, self.flip.apply(truth, rows, randomness, 1 << 16)

    def count(self, messages: Messages) -> Counts:
        """How many users have a one where the value's hash is."""
        chosen, bits = messages
        table, everyone = _table(self), np.arange(len(chosen))
        pluses = [int(bits[everyone, table[chosen, d]].sum()) for d in range(self.size)]
        return Counts(np.array([*pluses, len(chosen)], dtype=np.int64))

    def debias(self, counts: NDArray[np.int64], n: int) -> Reals:
        """Unbiased counts of users, over random hash functions."""
        return self._unbiased(counts[..., :-1], n)

    def variance(self, users: Reals, n: int) -> Reals:
        m, k, c = self.width, self.hashes, self.flip.gain
        clash = users + users * (users - 1.0) / k
        others = clash.sum(axis=-1, keepdims=True) - clash
        return np.asarray((m / (m - 1)) ** 2 * (float(n) * (c**2 - 1) / 4 + others / m * (1 - 1 / m)))

    def max_shift(self, n: int) -> float:  # noqa: ARG002
        """One bit, in the scale of a count."""
        return self.width / (self.width - 1) * self.flip.gain

    def simulate(self, population: Population, generator: np.random.Generator, runs: int) -> Reals:
        """New hash functions in each run; each count is exact in law."""
        n, ones = population.n, _agreeing(self.held(population), self.hashes, self.width, generator, runs)
        return self._unbiased(self.flip.count(ones, n - ones, generator), n)

    def _unbiased(self, pluses: NDArray[np.int64], n: int) -> Reals:
        total = self.flip.gain * (2.0 * pluses - n) / 2 + n / 2
        return np.asarray(self.width / (self.width - 1) * (total - n / self.width))


@dataclass(frozen=True, slots=True, kw_only=True)
class HadamardSketch(Sketch):
    """HCMS (Apple 2017): one random entry of the Hadamard transform of the hash's unary vector, as one lying bit.

    Formula: f(d) = m / (m - 1) (c sum over users of w H[l, h_j(d)] - n / m), c = 1 / (1 - 2 s). Over random hash functions
    Var f(d) = (m / (m - 1))^2 (f_d (c^2 - 1) + (n - f_d)(c^2 - 1/m^2) + (1/m)(1 - 1/m) sum_{d' != d} f' (f' - 1) / k).
    Legend: k = hashes, m = width, a power of two; s = flip.probability; eps0 = log((1 - s) / s).
    """

    kind = "hadamard-sketch"
    flipped = 1

    def __post_init__(self) -> None:
        Sketch.__post_init__(self)
        if self.width & (self.width - 1):
            raise InvalidInput(f"the width of a Hadamard sketch is a power of two; got {self.width}. Use e.g. 1024.")

    def sentence(self) -> str:
        """What one user does."""
        return (
            f"each user hashes the value to {self.width:,} bits by one of {self.hashes:,} functions and lies about one "
            f"Hadamard coefficient with probability {self.flip.probability:.6g}"
        )

    @property
    def bits(self) -> int:
        return (self.hashes - 1).bit_length() + (self.width - 1).bit_length() + 1

    def randomize(
        self, values: NDArray[np.integer], randomness: RandomSource, *, first_row: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """Each user's hash function, entry, and whether the sign is plus."""
        held, rows = checks.symbols(values, self.size), rows_from(first_row, len(values))
        chosen = uniform_below(self.hashes, rows, randomness, randomness.blocks(rows, 0), 0).astype(np.int64)
        entry = uniform_below(self.width, rows, randomness, randomness.blocks(rows, 1 << 16), 1 << 16).astype(np.int64)
        plus = _is_plus(entry, _table(self)[chosen, held])
        return chosen, entry, plus ^ coins(self.flip.threshold, 1, rows, randomness, 2 << 16)[:, 0]

    def count(self, messages: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]) -> Counts:
        """How many users' signs agree with the value's."""
        chosen, entry, plus = messages
        table = _table(self)
        agree = [int((_is_plus(entry, table[chosen, d]) == plus).sum()) for d in range(self.size)]
        return Counts(np.array([*agree, len(chosen)], dtype=np.int64))

    def debias(self, counts: NDArray[np.int64], n: int) -> Reals:
        """Unbiased counts of users, over random hash functions."""
        return self._unbiased(counts[..., :-1], n)

    def variance(self, users: Reals, n: int) -> Reals:
        m, k, c = self.width, self.hashes, self.flip.gain
        clash = users * (users - 1.0) / k
        noise = users * (c**2 - 1) + (float(n) - users) * (c**2 - 1 / m**2)
        others = clash.sum(axis=-1, keepdims=True) - clash
        return np.asarray((m / (m - 1)) ** 2 * (noise + others / m * (1 - 1 / m)))

    def max_shift(self, n: int) -> float:  # noqa: ARG002
        """One sign, in the scale of a count."""
        return self.width / (self.width - 1) * 2 * self.flip.gain

    def simulate(self, population: Population, generator: np.random.Generator, runs: int) -> Reals:
        """New hash functions in each run; each count is exact in law.

        A user whose hash differs agrees with a random entry's sign half of the time, because rows of H are orthogonal.
        """
        n, same = population.n, _agreeing(self.held(population), self.hashes, self.width, generator, runs)
        agree = generator.binomial(same, 1 - self.flip.probability) + generator.binomial(n - same, 0.5)
        return self._unbiased(agree, n)

    def _unbiased(self, agree: NDArray[np.int64], n: int) -> Reals:
        total = self.flip.gain * (2.0 * agree - n)
        return np.asarray(self.width / (self.width - 1) * (total - n / self.width))


class CountMeanSketches(LocalHistogram):
    """With Apple's numbers of hash functions and bits."""

    name = "Apple CMS"

    def private(self, size: int, epsilon0: float) -> CountMeanSketch:
        """The most accurate one that is epsilon0-LDP."""
        return CountMeanSketch.private(size=size, epsilon0=epsilon0)


class HadamardSketches(LocalHistogram):
    """With Apple's numbers of hash functions and bits."""

    name = "Apple HCMS"

    def private(self, size: int, epsilon0: float) -> HadamardSketch:
        """The most accurate one that is epsilon0-LDP."""
        return HadamardSketch.private(size=size, epsilon0=epsilon0)


def _table(sketch: Sketch) -> NDArray[np.int64]:
    """The public hash functions h_j(d), from the public seed."""
    drawn = hashlib.shake_256(f"shuffledp sketch {sketch.seed}".encode()).digest(4 * sketch.hashes * sketch.size)
    return (np.frombuffer(drawn, dtype="<u4") % np.uint32(sketch.width)).astype(np.int64).reshape(sketch.hashes, -1)


def _agreeing(
    users: NDArray[np.int64], hashes: int, width: int, generator: np.random.Generator, runs: int
) -> NDArray[np.int64]:
    """For each value the users whose hash equals its own: its holders, and those of others in the rows where they collide."""
    size = len(users)
    colliding = generator.binomial(hashes, 1 / width, size=(runs, size, size)) / hashes
    colliding[:, np.arange(size), np.arange(size)] = 1.0
    return np.asarray(generator.binomial(np.broadcast_to(users, (runs, size, size)), colliding).sum(axis=2))


def _is_plus(row: NDArray[np.int64], column: NDArray[np.int64]) -> NDArray[np.bool_]:
    """H[row, column] > 0, H the Hadamard matrix of Sylvester: an even number of common bits."""
    return np.asarray(np.bitwise_count(row & column) % 2 == 0)
