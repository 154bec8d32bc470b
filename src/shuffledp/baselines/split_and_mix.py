"""Ishai et al.'s split and mix: additive shares in many messages, and noise that only the crowd adds up."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.baselines.central import fine_steps
from shuffledp.baselines.document_fields import Fields
from shuffledp.baselines.noise import DiscreteLaplace, PolyaShare
from shuffledp.core import checks
from shuffledp.core.attacker_view import AttackerView
from shuffledp.core.attacker_view import Total as Revealed
from shuffledp.core.counts import Counts
from shuffledp.core.population import Population
from shuffledp.core.randomness import RandomSource, rows_from
from shuffledp.core.turnout import honest_reports
from shuffledp.errors import InvalidInput
from shuffledp.planning.families.summation import SumQuestion
from shuffledp.planning.family import Family
from shuffledp.protocols.rounding import grid_counts, to_grid
from shuffledp.protocols.summing import Summing, Total
from shuffledp.references import cite

Reals = NDArray[np.float64]
_WRAP = 1e-12
"""Probability that the noise leaves the modulus: an error of accuracy, not of privacy."""
_NOISE_DRAWS = 1 << 20
_MOST_NOISE = 1 << 14
"""Up to which the law of the noise is tabulated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitAndMix(Summing, Fields):
    """The sum of grid points and noise modulo q, each user's term cut into m shares of which any m - 1 are uniform.

    Each user adds Polya(1/h, a) - Polya(1/h, a), a = e^(-epsilon / steps): those of h honest users sum to discrete Laplace
    noise, enough for epsilon; more honest users only add more. The shuffled shares reveal the sum alone, up to a
    statistical distance of 2^-sigma, so the whole is (epsilon, (1 + e^epsilon)(2^-sigma + t))-DP, t the distance of h
    sampled noise parts from their ideal law.

    Formula: m = ceil(2 + (2 sigma + log2 q) / (log2 h - log2 e)), for h >= 19.
    Legend: h = honest, q = modulus, m = messages.
    The constant in the formula for m is quoted from Balle, Bell, Gascon and Nissim (2020) and not proved here; tests
    confirm it by exact enumeration where that is possible (q = 2 and q = 3).
    """

    n: int
    epsilon: float
    delta: float
    steps: int
    low: float = 0.0
    high: float = 1.0
    honest_fraction: float = 1.0
    total: Total = "sum"
    kind = "split-and-mix"
    reference: ClassVar[str] = cite("IKOS06")

    def __post_init__(self) -> None:
        checks.settle(self, n=checks.users(self.n))
        checks.settle_promise(self)
        checks.settle(self, steps=checks.whole(self.steps, "steps", "Give at least 1."))
        self.check_total()
        if self.steps < 1:
            raise InvalidInput(f"a grid has at least one step; got {self.steps}. Give more.")
        if self.honest < 19:
            raise InvalidInput(f"split and mix needs at least 19 honest users; got {self.honest}. Collect more.")
        if not math.isfinite(self.sigma):
            raise InvalidInput("the noise cannot be sampled finely enough for this delta. Use a larger delta.")
        if self.modulus_bits > 62:
            raise InvalidInput("the sum does not fit 62 bits. Use fewer steps.")

    @property
    def honest(self) -> int:
        """Users relied on."""
        return honest_reports(self.n, self.honest_fraction)

    def sentence(self) -> str:
        """What one user does."""
        return f"each user cuts the value and a little noise into {self.messages:,} shares modulo 2^{self.modulus_bits}"

    @property
    def noise(self) -> DiscreteLaplace:
        """What the honest users' noise sums to."""
        return DiscreteLaplace(math.nextafter(self.steps / self.epsilon, math.inf))

    @property
    def sigma(self) -> float:
        """Bits of statistical security that delta leaves room for, a little more than double precision can be off by."""
        left = self.delta / (1 + math.exp(self.epsilon)) - self.honest * self._share().distance
        return 1e-9 - math.log2(left) if left > 0 else math.inf

    @property
    def reach(self) -> int:
        """The noise stays within this, but for a probability of 1e-12."""
        return math.ceil(self.noise.scale * self._parts * math.log(2 / _WRAP)) + 1

    @property
    def _parts(self) -> float:
        """How many times the honest noise all users add together."""
        return self.n / self.honest

    @property
    def modulus_bits(self) -> int:
        """log2 q: above the range of sum and noise."""
        return (self.n * self.steps + 2 * self.reach + 1).bit_length()

    @property
    def messages(self) -> int:
        """Shares of each user."""
        return shares_needed(sigma=self.sigma, modulus=2**self.modulus_bits, honest=self.honest)

    @property
    def messages_per_user(self) -> int:
        return self.messages

    @property
    def bits(self) -> int:
        return self.messages * self.modulus_bits

    @property
    def epsilon0(self) -> None:
        """One user's shares, unshuffled, reveal the value up to the user's own little noise."""
        return

    def randomize(self, values: Reals, randomness: RandomSource, *, first_row: int) -> NDArray[np.uint64]:
        """The shares of each user, one row per user."""
        rows = rows_from(first_row, len(values))
        points = to_grid(values, randomness, low=self.low, high=self.high, steps=self.steps, first_row=first_row)
        return self.split(
            (points.astype(np.int64) + self._share().sample(rows, randomness, _NOISE_DRAWS)),
            randomness,
            first_row=first_row,
        )

    def split(self, terms: NDArray[np.int64], randomness: RandomSource, *, first_row: int) -> NDArray[np.uint64]:
        """Whole numbers as shares modulo q: exactly uniform but for their sum."""
        rows, mask = rows_from(first_row, len(terms)), np.uint64(2**self.modulus_bits - 1)
        shares = np.empty((len(terms), self.messages), dtype=np.uint64)
        for j in range(self.messages - 1):
            shares[:, j] = randomness.blocks(rows, j)[:, 0] & mask
        shares[:, -1] = (terms.astype(np.uint64) - shares[:, :-1].sum(axis=1, dtype=np.uint64)) & mask
        return shares

    @property
    def counters(self) -> int:
        """The sums of the shares' lower and upper halves, which do not overflow."""
        return 2

    def count(self, messages: NDArray[np.uint64]) -> Counts:
        """From the shares in any order; `messages` may have any shape."""
        lower, upper = messages & np.uint64(0xFFFFFFFF), messages >> np.uint64(32)
        return Counts(np.array([lower.sum(dtype=np.int64), upper.sum(dtype=np.int64)]))

    def reports(self, counts: NDArray[np.int64]) -> int:  # noqa: ARG002
        """Shares do not say how many users sent them: a batch is of exactly self.n."""
        return self.n

    def totals(self, messages: NDArray[np.uint64]) -> NDArray[np.int64]:
        """What the shares of each row add up to, in steps: all that they reveal, up to 2^-sigma."""
        modulus = np.int64(1 << self.modulus_bits)
        residues = (messages.sum(axis=1, dtype=np.uint64) & np.uint64(modulus - 1)).astype(np.int64)
        return np.asarray(np.where(residues < modulus - self.reach, residues, residues - modulus))

    def attacker_view(self) -> AttackerView:
        """Shares say nothing by themselves, and all of them together the noisy sum."""
        return AttackerView(apart=True, total=Revealed(self.totals, self.total_law))

    def quoted(self, n: int) -> tuple[float, float]:
        """Epsilon and delta that it was made for; refused for any other number of users."""
        if n != self.n:
            raise InvalidInput(f"this split-and-mix is made for {self.n:,} users; got {n:,}. Use that many.")
        return self.epsilon, self.delta

    def total_law(self, users: int) -> tuple[NDArray[np.int64], Reals, Reals]:
        """Totals in steps, and how likely each is if one of so many users holds the largest value, or the least as all others do.

        The noise is the difference of two negative binomials; their logarithms are summed term by term.
        """
        shape, most = users / self.honest, min(self.reach, _MOST_NOISE)
        k = np.arange(1, most + 1)
        logs = np.cumsum(np.log((k - 1 + shape) / k) - 1 / self.noise.scale) + shape * math.log(self.noise.stop)
        part = np.exp(np.concatenate([[shape * math.log(self.noise.stop)], logs]))
        noise, none = np.convolve(part, part[::-1]), np.zeros(self.steps)
        return (
            np.arange(-most, most + self.steps + 1),
            np.concatenate([none, noise]),
            np.concatenate([noise, none]),
        )

    def debias_sum(self, counts: NDArray[np.int64], n: int) -> Reals:  # noqa: ARG002
        modulus = 2**self.modulus_bits
        residues = [(int(lower) + (int(upper) << 32)) % modulus for lower, upper in counts.reshape(-1, 2)]
        total = [residue if residue < modulus - self.reach else residue - modulus for residue in residues]
        return self._scaled(np.array(total, dtype=np.int64).reshape(counts.shape[:-1]))

    def user_error(self, value: Reals | float) -> Reals:
        """What one user with this value adds to the mean squared error."""
        scaled = self.domain.share(value) * self.steps
        part = scaled - np.floor(scaled)
        return np.asarray(
            (part * (1 - part) + self.noise.variance / self.honest) * ((self.high - self.low) / self.steps) ** 2
        )

    @property
    def worst_value(self) -> float:
        """Between two grid points."""
        return self.low + (self.high - self.low) / (2 * self.steps)

    def max_shift(self, n: int) -> float:
        """One share can be anything below the modulus."""
        return (self.high - self.low) / self.steps * (1 << self.modulus_bits) / self.scale(n)

    def sums(self, population: Population, generator: np.random.Generator, runs: int) -> Reals:
        """Exact in law if all users are honest."""
        points = grid_counts(
            population.values, population.users, generator, low=self.low, high=self.high, steps=self.steps, runs=runs
        )
        shape = self.n / self.honest
        noise = [generator.negative_binomial(shape, self.noise.stop, runs) for _ in range(2)]
        return self._scaled(points + noise[0] - noise[1])

    @classmethod
    def examples(cls) -> list[Self]:
        """With and without liars."""
        return [
            cls(n=100, epsilon=1.5, delta=1e-6, steps=7),
            cls(n=100, epsilon=1.5, delta=1e-6, steps=7, honest_fraction=0.5),
        ]

    def _share(self) -> PolyaShare:
        return _shares(self.noise.scale, self.honest)

    def _scaled(self, total: NDArray[np.int64]) -> Reals:
        return np.asarray(self.n * self.low + total * ((self.high - self.low) / self.steps))


def shares_needed(*, sigma: float, modulus: int, honest: int) -> int:
    """Messages per user for statistical security 2^-sigma."""
    return math.ceil(2 + (2 * sigma + math.log2(modulus)) / (math.log2(honest) - math.log2(math.e)))


class SplitAndMixes(Family[SumQuestion]):
    """IKOS."""

    name, trust, accounted_by = "IKOS split and mix", "the shuffler", "quoted (see its docs)"
    question_type = SumQuestion

    def propose(self, question: SumQuestion) -> SplitAndMix:
        """On a grid so fine that rounding costs next to nothing."""
        low, high = question.domain.low, question.domain.high
        return SplitAndMix(
            n=question.n, epsilon=question.epsilon, delta=question.delta, steps=fine_steps(question.n), low=low, high=high,
            total=question.total,
        )  # fmt: skip


@lru_cache(maxsize=8)
def _shares(scale: float, honest: int) -> PolyaShare:
    return PolyaShare(scale, honest)
