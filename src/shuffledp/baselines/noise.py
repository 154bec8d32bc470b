"""Discrete Laplace noise: exact, its law for simulation, and its infinitely divisible parts."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shuffledp.baselines.discrete_laplace import discrete_laplace
from shuffledp.core.randomness import WORD, RandomSource, Words, coins
from shuffledp.errors import InvalidInput

Wholes = NDArray[np.int64]
_LONGEST = 1 << 25


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """P(k) proportional to a^|k|, a = e^(-1/scale). Variance 2 a / (1 - a)^2."""

    scale: float

    @property
    def stop(self) -> float:
        """1 - a, without cancellation."""
        return -math.expm1(-1 / self.scale)

    @property
    def variance(self) -> float:
        """Of one sample."""
        return 2 * math.exp(-1 / self.scale) / self.stop**2

    def sample(self, rows: Words, randomness: RandomSource, first_draw: int) -> Wholes:
        """One number per row, exactly of this law."""
        return discrete_laplace(self.scale, rows, randomness, first_draw)

    def simulate(self, generator: np.random.Generator, size: int | tuple[int, ...], users: int = 1) -> Wholes:
        """Sums of `users` samples each, for forecasts, in doubles: differences of two negative binomials."""
        if self.scale * users > 1e17:
            raise InvalidInput("the noise is too large to simulate. Use a larger epsilon.")
        if users == 1:
            first, second = generator.geometric(self.stop, size), generator.geometric(self.stop, size)
        else:
            first = generator.negative_binomial(users, self.stop, size)
            second = generator.negative_binomial(users, self.stop, size)
        return np.asarray(first - second)


class PolyaShare:
    """One of h users' parts of discrete Laplace noise: the difference of two Polya(1/h, a) numbers, from 64-bit words.

    A number is 0 with probability (1 - a)^(1/h); otherwise it comes from a table of the conditional law in units of 2^-64.
    `distance` bounds the total variation of one part from the ideal law: what the table rounds, cuts off and miscalculates.
    """

    def __init__(self, scale: float, honest: int) -> None:
        if honest < 1:
            raise InvalidInput("noise is shared by at least one honest user. Give how many are.")
        shape = 1 / honest
        length = math.ceil(scale * 60) + 64
        if length > _LONGEST:
            raise InvalidInput("the noise needs too long a table. Use fewer steps or a larger epsilon.")
        k = np.arange(1, length + 1, dtype=np.longdouble)
        # P(k) / P(0) = a^k (shape)(shape + 1)...(shape + k - 1) / k!
        steps = np.log((k - 1 + np.longdouble(shape)) / k) - 1 / np.longdouble(scale)
        weights = np.exp(np.cumsum(steps))
        total = weights.sum()
        ends = np.floor(np.cumsum(weights / total) * np.longdouble(2) ** 64)
        self._marks = np.minimum(ends, np.longdouble(2) ** 64 - 1).astype(np.uint64)
        a = math.exp(-1 / scale)
        log_stop = math.log1p(-a) if a < 0.5 else math.log(-math.expm1(-1 / scale))
        self._some = math.ceil(-math.expm1(shape * log_stop) * WORD)
        self.scale, self.honest = scale, honest
        slips = 64 * length * float(np.finfo(np.longdouble).eps)
        cut = float(weights[-1] / total) * scale * 2
        chance = self._some / WORD
        # the chance is off by some ulps of itself and a step of 2^-64 upwards; both numbers of a part count
        self.distance = 2 * (2**-48 * chance + 2**-63 + chance * (length * 2**-63 + slips + cut))

    def sample(self, rows: Words, randomness: RandomSource, first_draw: int) -> Wholes:
        """One part per row."""
        return self._number(rows, randomness, first_draw) - self._number(rows, randomness, first_draw + 2)

    def _number(self, rows: Words, randomness: RandomSource, draw: int) -> Wholes:
        found = np.zeros(len(rows), dtype=np.int64)
        some = np.flatnonzero(coins(self._some, 1, rows, randomness, draw)[:, 0])
        drawn = randomness.blocks(rows[some], draw + 1)[:, 0]
        found[some] = np.minimum(np.searchsorted(self._marks, drawn, side="right"), len(self._marks) - 1) + 1
        return found

    def law(self, parts: int, reach: int) -> NDArray[np.float64]:
        """The law on -reach ... reach of the sum of that many parts, for tests: convolution by FFT."""
        size = 1 << (4 * reach).bit_length()
        one = np.zeros(size)
        edges = np.concatenate([[0.0], self._marks.astype(np.float64) / WORD])
        chance = self._some / WORD
        table = np.diff(edges)[: size // 2]
        one[0] = 1 - chance
        one[1 : len(table) + 1] = chance * table
        spectrum = np.abs(np.fft.rfft(one)) ** 2  # the difference of two
        whole = np.fft.irfft(spectrum**parts, size)
        return np.concatenate([whole[-reach:], whole[: reach + 1]])
