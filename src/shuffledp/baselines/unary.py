"""Cheu et al.'s sum of reals by many one-bit messages."""

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.account import bound_named
from shuffledp.accounting.composition import Collection, compose
from shuffledp.accounting.first_guess import gaussian_mu
from shuffledp.baselines.document_fields import Fields
from shuffledp.core.blanket import Blanket
from shuffledp.core.counts import Counts
from shuffledp.core.population import Population
from shuffledp.core.randomness import WORD, RandomSource, words_each
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.planning.families.summation import SumQuestion
from shuffledp.planning.family import Family
from shuffledp.protocols.rounding import grid_counts, to_grid
from shuffledp.protocols.summing import Summing, Total
from shuffledp.randomizers.response import RandomizedResponse
from shuffledp.randomizers.together import Together
from shuffledp.references import cite

Reals = NDArray[np.float64]
_TRIES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class UnaryBits(Summing, Fields):
    """A value of [low, high] as r bits, the first floor(x r) + Bernoulli of them 1, each sent by randomized response on its own.

    Formula: sum of x = (sum y / r - n g / 2) / (1 - g), with squared error n (g/2)(1 - g/2) / (r (1 - g)^2) + sum f (1 - f)
    / r^2, f = frac(x r). r = 1 is the one-bit protocol.
    Legend: r = messages, g = gamma of the law that is sampled (threshold / 2^64).
    Privacy: at most that of r shuffled one-bit collections composed: separate shuffles show more than a joint one.
    """

    messages: int
    threshold: int
    low: float = 0.0
    high: float = 1.0
    total: Total = "sum"
    kind = "unary-bits"
    reference: ClassVar[str] = cite("CSUZZ19")

    def __post_init__(self) -> None:
        self.check_total()
        if type(self.messages) is not int or self.messages < 1 or not 0 < self.threshold < WORD:
            raise InvalidInput("a user sends at least one bit, and its blanket is between 0 and 1. Check both.")

    @property
    def randomizer(self) -> RandomizedResponse:
        """Of one bit."""
        return RandomizedResponse.of_threshold(size=2, threshold=self.threshold)

    @property
    def gamma(self) -> float:
        """The blanket probability of a bit."""
        return self.threshold / WORD

    def sentence(self) -> str:
        """What one user does."""
        return f"each user sends {self.messages:,} bits, each of them random with probability {self.gamma:.6g}"

    @property
    def messages_per_user(self) -> int:
        return self.messages

    @property
    def epsilon0(self) -> float:
        """The local privacy parameter of all bits together, rounded up: in the worst case all of them change."""
        return math.nextafter(self.messages * self.randomizer.epsilon0, math.inf)

    def message_blanket(self) -> Blanket:
        """The blanket of all bits, each shuffled apart, which shows more than all of them in one shuffle."""
        return Together(parts=(self.randomizer,) * self.messages).blanket()

    @property
    def bits(self) -> int:
        return self.messages

    def randomize(self, values: Reals, randomness: RandomSource, *, first_row: int) -> NDArray[np.unsignedinteger]:
        """The bits of each user, one row per user; bit j of user i has the words of row i r + j."""
        points = to_grid(values, randomness, low=self.low, high=self.high, steps=self.messages, first_row=first_row)
        bits = (np.arange(self.messages) < points[:, None]).astype(np.uint8)
        mine = words_each(randomness, self.messages)
        sent = self.randomizer.randomize(bits.ravel(), mine, first_row=first_row * self.messages)
        return sent.reshape(bits.shape)

    @property
    def counters(self) -> int:
        """Ones, and of how many users."""
        return 2

    def count(self, messages: NDArray[np.unsignedinteger]) -> Counts:
        return Counts(np.array([messages.sum(dtype=np.int64), len(messages)], dtype=np.int64))

    def reports(self, counts: NDArray[np.int64]) -> int:
        return int(counts[-1])

    def debias_sum(self, counts: NDArray[np.int64], n: int) -> Reals:
        return self._unbiased(counts[..., 0], n)

    def user_error(self, value: Reals | float) -> Reals:
        """What one user with this value adds to the mean squared error."""
        r, g = self.messages, self.gamma
        scaled = self.domain.share(value) * r
        f = scaled - np.floor(scaled)
        noise = (g / 2) * (1 - g / 2) / (r * (1 - g) ** 2)
        return np.asarray((self.high - self.low) ** 2 * (noise + f * (1 - f) / r**2))

    @property
    def worst_value(self) -> float:
        """Between two grid points."""
        return self.low + (self.high - self.low) / (2 * self.messages)

    def max_shift(self, n: int) -> float:
        """All bits of a user."""
        return (self.high - self.low) / (1 - self.gamma) / self.scale(n)

    def sums(self, population: Population, generator: np.random.Generator, runs: int) -> Reals:
        n, g = population.n, self.gamma
        ones = grid_counts(
            population.values, population.users, generator, low=self.low, high=self.high, steps=self.messages, runs=runs
        )
        total = generator.binomial(ones, 1 - g / 2) + generator.binomial(n * self.messages - ones, g / 2)
        return self._unbiased(total, n)

    @classmethod
    def examples(cls) -> list[Self]:
        """One bit and several."""
        return [cls(messages=5, threshold=WORD // 7), cls(messages=1, threshold=WORD // 3, low=-1.0, high=2.0)]

    def _unbiased(self, total: NDArray[np.int64], n: int) -> Reals:
        g = self.gamma
        return np.asarray(n * self.low + (self.high - self.low) * (total / self.messages - n * g / 2) / (1 - g))


class ManyMessages(Family[SumQuestion]):
    """Cheu et al.'s bits, certified by composition."""

    name, trust, accounted_by = "Cheu et al., many messages", "the shuffler", "composition"
    question_type = SumQuestion

    def propose(self, question: SumQuestion) -> UnaryBits:
        """The fewest messages within 5 % of the least error, and the least gamma for them that composition certifies (to 2 %).

        A first guess takes the shuffled bits for Gaussian; it is then proved, with a little more blanket as long as it is not.
        """
        n, epsilon, delta = question.n, question.epsilon, question.delta
        if not delta < 0.1:
            raise NoClaim("the search for a blanket needs a delta below 0.1. Use a smaller delta.")
        mu = gaussian_mu(epsilon, delta)
        guesses = [guess for guess in (_guess(question, 2 ** (j / 2), mu) for j in range(60)) if guess is not None]
        if not guesses:
            raise NoClaim("no blanket makes such messages private enough. Use more users or a larger epsilon.")
        least = min(guess.mean_squared_error(n) for guess in guesses)
        best = next(guess for guess in guesses if guess.mean_squared_error(n) <= 1.05**2 * least)
        for _ in range(_TRIES):
            collection = Collection(
                blanket=best.randomizer.blanket(), n=n, rounds=best.messages, bound=bound_named("best")
            )
            if compose([collection]).delta(epsilon) <= delta:
                return best
            more = math.ceil(best.threshold * 1.02)
            if more >= WORD:
                break
            best = _bits(question, best.messages, more)
        raise NoClaim(
            f"composition did not certify a blanket near the Gaussian one in {_TRIES} attempts. Use a larger epsilon."
        )


def _bits(question: SumQuestion, messages: int, threshold: int) -> UnaryBits:
    low, high = question.domain.low, question.domain.high
    return UnaryBits(messages=messages, threshold=threshold, low=low, high=high, total=question.total)


def _guess(question: SumQuestion, messages: float, mu: float) -> UnaryBits | None:
    """The gamma with r (1-g)^2 = mu^2 n (g/2)(1 - g/2): with u = (1-g)^2, r u = mu^2 n (1 - u) / 4."""
    r, n = round(messages), question.n
    if r > 2 * math.sqrt(n) + 1:
        return None
    u = mu**2 * n / (4 * r + mu**2 * n)
    threshold = math.ceil((1 - math.sqrt(u)) * WORD)
    return _bits(question, r, threshold) if 0 < threshold < WORD else None
