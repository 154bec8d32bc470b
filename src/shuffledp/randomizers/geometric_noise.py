"""Numbers of dummies that a shuffler adds, as laws in whole numbers: what is proved of them is what is drawn.

docs/maths/shuffler-noise.md has the proofs. Ratios are whole numbers of 2^-64, so every probability is rational, and a number is
drawn by comparing fair words with them: nothing is rounded.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import ClassVar, Final, Self

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from shuffledp.arithmetic.balls import evaluate
from shuffledp.arithmetic.inversion import first_integer
from shuffledp.core.counts import Counts
from shuffledp.core.document import Document, fields, whole, word
from shuffledp.core.randomness import KEPT_DRAW, NOISE_DRAW, WORD, RandomSource, Words, coins, rows_from
from shuffledp.errors import InvalidInput

Wholes = NDArray[np.int64]
Reals = NDArray[np.float64]
Outcome = tuple[arb, arb]
"""How likely something is that everybody sees, with one value of a user and with another."""
MOST_AT_PEAK: Final = 1 << 20
"""Dummies of one symbol that are within reason."""
_AT_ONCE: Final = 1 << 19
"""Words that are looked at together."""
_LEAST_SUMMED: Final = 1e-9
_SUMMING_ERROR: Final = 1e-12
"""Far above what is lost where chances are added up in doubles; below the other number tails of one are used instead."""
_MOST_SUMMED: Final = 64
_LONGEST: Final = 1 << 18
_STEEPER: Final = 6.0
"""The excess kurtosis of one number is hardly larger."""
_NORMAL: Final = NormalDist()
_MOST_ATTEMPTS: Final = 1 << 32
"""Words of one symbol: an address has 32 bits for them. Fair ones never are so many."""


class GeometricNoise(ABC):
    """What a shuffler does to the number of reports of each symbol."""

    __slots__ = ()
    kind: ClassVar[str]
    ratio: int

    @property
    @abstractmethod
    def kept(self) -> int:
        """The probability of keeping a report, in units of 2^-64."""

    @property
    def share_kept(self) -> float:
        """The probability of keeping a report, to the nearest double."""
        return self.kept / WORD

    @abstractmethod
    def outcomes(self) -> list[Outcome]:
        """All that two counts can say about one user, who holds the first value or the second, at the caller's precision.

        Outcomes of the same ratio are one; where both are equally likely, they are the same ball.
        """

    @property
    @abstractmethod
    def mean(self) -> float:
        """Dummies of a symbol, on average."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """Variance of the number of dummies of a symbol."""

    @abstractmethod
    def reach(self, miss: float) -> float:
        """How far from its mean the number is at most, but for a chance of at most `miss`."""

    def reach_of_sum(self, miss: float, terms: int, subtracted: int = 0) -> float:
        """About the same for the sum of so many such numbers, less that of others; of one, exactly.

        Few are added up as laws. The sum of many is almost normal, with tails that are a little longer (Cornish and Fisher).
        """
        numbers = terms + subtracted
        if numbers == 1:
            return self.reach(miss)
        if numbers > _MOST_SUMMED or numbers * self.reach(1e-17) > _LONGEST or miss < _LEAST_SUMMED:
            z = -_NORMAL.inv_cdf(miss / 2)
            return (z + (z**3 - 3 * z) * _STEEPER / (24 * numbers)) * math.sqrt(numbers * self.variance)
        deviations, chances = _sum_tail(self, terms, subtracted)
        return float(deviations[np.argmax(chances <= miss - _SUMMING_ERROR)])

    @abstractmethod
    def chances(self) -> Reals:
        """How likely 0, 1, 2, ... dummies of a symbol are, as far as that matters; to the nearest double or so."""

    def fewest(self, terms: int, chance: float) -> int:
        """The sum of so many numbers is less with a probability of at most `chance`, by Chernoff's bound."""
        return max(0, math.floor(_chernoff(self, terms, chance, -1)))

    def most(self, terms: int, chance: float) -> int:
        """It is more with at most that probability."""
        return math.ceil(_chernoff(self, terms, chance, 1))

    @abstractmethod
    def simulated(self, generator: np.random.Generator, shape: tuple[int, ...]) -> Wholes:
        """Numbers of this law, for simulations."""

    @abstractmethod
    def at_least(self, number: int) -> float:
        """How likely there are so many dummies of a symbol or more, rounded up."""

    @abstractmethod
    def draw(self, size: int, randomness: RandomSource) -> Wholes:
        """How many dummies of each of so many symbols there are: a pure function of the words."""

    @abstractmethod
    def sentence(self) -> str:
        """What the shuffler does."""

    @abstractmethod
    def document(self) -> Document:
        """As JSON data."""

    def noised(self, often: Wholes, randomness: RandomSource) -> Wholes:
        """How many records of each symbol leave the shuffler, of so many reports."""
        return self.keep(often, randomness) + self.draw(len(often), randomness)

    def kept_of(self, reports: int, randomness: RandomSource) -> NDArray[np.bool_]:
        """Which of so many reports are kept, whatever they say."""
        return coins(self.kept, 1, rows_from(0, reports), randomness, KEPT_DRAW)[:, 0]

    def keep(self, often: Wholes, randomness: RandomSource) -> Wholes:
        """How many of the reports of each symbol are kept."""
        if self.kept == WORD:
            return Counts(often).values
        found = np.zeros(len(often), dtype=np.int64)
        for symbol, reports in enumerate(often.tolist()):
            for start in range(0, reports, _AT_ONCE):
                rows = rows_from(start, min(_AT_ONCE, reports - start))
                found[symbol] += int(coins(self.kept, 1, rows, randomness, KEPT_DRAW + symbol).sum())
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoSidedGeometric(GeometricNoise):
    """A number with a peak, from which its chances fall geometrically to both sides; never below 0.

    Formula: P(k) = q^|k - nu| (1 - q) / (1 + q - q^(nu + 1)) for k = 0, 1, 2, ...; delta(epsilon) = P(0) where q^2 >= e^-epsilon.
    Legend: q = ratio / 2^64, nu = peak.
    Reference: MSE25, SAGeo; docs/maths/shuffler-noise.md for its privacy.
    """

    ratio: int
    peak: int
    kind = "two-sided-geometric"

    def __post_init__(self) -> None:
        if not 1 <= self.ratio < WORD:
            raise InvalidInput("a ratio is between 0 and 2^64. Make the plan again with shuffledp plan.")
        if (WORD - self.ratio) * MOST_AT_PEAK < WORD:
            raise InvalidInput("noise for so small an epsilon is too much for a shuffler. Use one of at least 1e-5.")
        if not 0 <= self.peak <= MOST_AT_PEAK:
            raise InvalidInput(
                f"a shuffler cannot be asked for {self.peak:,} dummies of every value. Use a larger epsilon or delta."
            )

    @classmethod
    def least(cls, epsilon: float, delta: float) -> Self:
        """The fewest dummies that are (epsilon, delta)-private.

        >>> TwoSidedGeometric.least(1.0, 1e-6).peak
        25
        """
        ratio = _word_up(lambda: (-arb(epsilon) / 2).exp())
        if ratio >= WORD:
            raise InvalidInput("noise for so small an epsilon cannot be drawn. Use a larger one.")

        def enough(peak: int) -> bool:
            return evaluate(lambda: _at_zero(ratio, peak)).upper <= delta

        if not enough(MOST_AT_PEAK):
            raise InvalidInput(
                f"more than {MOST_AT_PEAK:,} dummies of every value would be needed. Use a larger epsilon or delta."
            )
        return cls(ratio=ratio, peak=first_integer(enough, -1, MOST_AT_PEAK))

    @property
    def kept(self) -> int:
        return WORD

    def outcomes(self) -> list[Outcome]:
        """By the likelihood ratio: infinite, 1/q^2, 1, q^2 and 0."""
        q, p = _ball(self.ratio), _at_zero(self.ratio, self.peak)
        power = q**self.peak
        middle = (1 - power) / (1 + q - q * power)
        beyond = q / (1 + q - q * power)
        lower, upper = q * middle, beyond / q
        alike = lower * middle + upper * beyond
        return [
            (p, arb(0)),
            (upper * middle, beyond * lower),
            (alike, alike),
            (lower * beyond, middle * upper),
            (arb(0), p),
        ]

    @property
    def mean(self) -> float:
        return self.peak + _two_sided(self.ratio, self.peak)[0]

    @property
    def variance(self) -> float:
        return _two_sided(self.ratio, self.peak)[1]

    def reach(self, miss: float) -> float:
        """P(|K - nu| > k) <= 2 q^(k + 1) / (1 + q - q^(nu + 1))."""
        rest = _fall(self.ratio, self.peak)
        return first_integer(lambda k: 2 * rest(k + 1) <= miss, 0, 1 << 62) + self.mean - self.peak

    def at_least(self, number: int) -> float:
        """Q^(k - nu) / (1 + q - q^(nu + 1)) for k above nu."""
        return min(1.0, _fall(self.ratio, self.peak)(number - self.peak)) if number > self.peak else 1.0

    def chances(self) -> Reals:
        top = 2 * self.peak + math.ceil(self.reach(1e-18))
        weights = np.exp(np.abs(np.arange(top + 1) - self.peak) * math.log(self.ratio / WORD))
        return np.asarray(weights / weights.sum())

    def simulated(self, generator: np.random.Generator, shape: tuple[int, ...]) -> Wholes:
        """Differences of geometric numbers, again where they are too small."""
        rest = 1 - self.ratio / WORD
        found = np.asarray(self.peak + generator.geometric(rest, shape) - generator.geometric(rest, shape))
        while (low := found < 0).any():
            many = int(low.sum())
            found[low] = self.peak + generator.geometric(rest, many) - generator.geometric(rest, many)
        return found

    def draw(self, size: int, randomness: RandomSource) -> Wholes:
        """The peak and the difference of two geometric numbers, drawn again where it is below 0."""
        found = np.empty(size, dtype=np.int64)
        waiting, place = np.arange(size), np.zeros(size, dtype=np.int64)
        while len(waiting):
            more, fewer = _runs(self.ratio, waiting, place, randomness)
            drawn = self.peak + more - fewer
            good = drawn >= 0
            found[waiting[good]] = drawn[good]
            place = (place + np.maximum(more, fewer) + 1)[~good]
            waiting = waiting[~good]
        return found

    def sentence(self) -> str:
        return f"the shuffler adds about {self.mean:.6g} dummies of every value"

    def document(self) -> Document:
        return {"kind": self.kind, "ratio": str(self.ratio), "peak": self.peak}


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinnedGeometric(GeometricNoise):
    """Reports are kept with one probability, and a geometric number of dummies is added: there is no chance of failure.

    Formula: P(k) = (1 - q) q^k; delta(epsilon) = 0 where 1 - b >= e^(-epsilon/2) and 1 - b + b/q <= e^(epsilon/2).
    Legend: q = ratio / 2^64, b = kept / 2^64.
    Reference: MSE25, S1Geo; docs/maths/shuffler-noise.md for its privacy.
    """

    kept: int
    ratio: int
    kind = "thinned-geometric"

    def __post_init__(self) -> None:
        if not (1 <= self.kept < WORD and 1 <= self.ratio < WORD):
            raise InvalidInput(
                "probabilities of this noise are between 0 and 1. Make the plan again with shuffledp plan."
            )

    @classmethod
    def least(cls, epsilon: float) -> Self:
        """The most reports kept, and the fewest dummies, that are epsilon-private."""
        kept = WORD - _word_up(lambda: (-arb(epsilon) / 2).exp())
        if not 1 <= kept < WORD:
            raise InvalidInput("noise for this epsilon cannot be drawn. Use one between 1e-9 and 80.")

        def ratio() -> arb:
            return _ball(kept) / ((arb(epsilon) / 2).expm1() + _ball(kept))

        return cls(kept=kept, ratio=_word_up(ratio))

    def outcomes(self) -> list[Outcome]:
        """By which of the two counts are above 0, if nobody else holds either value: one of them, or both or neither."""
        q, b = _ball(self.ratio), _ball(self.kept)
        none, none_with = 1 - q, (1 - q) * (1 - b)
        some, some_with = q, b + q - b * q
        alike = none_with * none + some_with * some
        return [(some_with * none, some * none_with), (alike, alike), (none_with * some, none * some_with)]

    @property
    def mean(self) -> float:
        return self.ratio / (WORD - self.ratio)

    @property
    def variance(self) -> float:
        return self.ratio * WORD / (WORD - self.ratio) ** 2

    def reach(self, miss: float) -> float:
        """P(K >= k) = q^k, and 0 is as far below the mean as it goes."""
        log_q = math.log(self.ratio / WORD)
        return max(self.mean, math.ceil(math.log(miss) / log_q + 1e-9) - 1 - self.mean)

    def at_least(self, number: int) -> float:
        return evaluate(lambda: _ball(self.ratio) ** max(0, number)).upper

    def chances(self) -> Reals:
        top = math.ceil(self.reach(1e-18) + self.mean)
        return np.asarray((1 - self.ratio / WORD) * (self.ratio / WORD) ** np.arange(top + 1))

    def simulated(self, generator: np.random.Generator, shape: tuple[int, ...]) -> Wholes:
        return np.asarray(generator.geometric(1 - self.ratio / WORD, shape) - 1)

    def draw(self, size: int, randomness: RandomSource) -> Wholes:
        """How many words are below the ratio before the first that is not."""
        return _runs(self.ratio, np.arange(size), np.zeros(size, dtype=np.int64), randomness)[0]

    def sentence(self) -> str:
        return (
            f"the shuffler keeps each report with probability {self.share_kept:.6g} and adds about {self.mean:.6g} dummies of "
            "every value, so that the guarantee never fails"
        )

    def document(self) -> Document:
        return {"kind": self.kind, "kept": str(self.kept), "ratio": str(self.ratio)}


def noise_of(document: object) -> GeometricNoise:
    """The law that a document describes."""
    if isinstance(document, dict) and document.get("kind") == ThinnedGeometric.kind:
        found = fields(document, ThinnedGeometric.kind, kept=word, ratio=word)
        return ThinnedGeometric(**found)
    return TwoSidedGeometric(**fields(document, TwoSidedGeometric.kind, ratio=word, peak=whole))


def _ball(word: int) -> arb:
    """A probability that is a whole number of 2^-64."""
    return arb(fmpq(word, WORD))


def _word_up(formula: Callable[[], arb]) -> int:
    """The least whole number of 2^-64 that is certainly not below a formula's value."""
    with ctx.workprec(512):
        return int((formula() * WORD).upper().ceil().unique_fmpz() or WORD)  # an end of a ball is thin


def _at_zero(ratio: int, peak: int) -> arb:
    """P(0), at the caller's precision."""
    q = _ball(ratio)
    power = q**peak
    return power * (1 - q) / (1 + q - q * power)


def _fall(ratio: int, peak: int) -> Callable[[int], float]:
    """Q^k / (1 + q - q^(nu + 1)) as a function of k, rounded up."""
    return lambda k: evaluate(lambda: _ball(ratio) ** k / (1 + _ball(ratio) - _ball(ratio) ** (peak + 1))).upper


@lru_cache(maxsize=256)
def _two_sided(ratio: int, peak: int) -> tuple[float, float]:
    """The mean of K - nu, and the variance: to the nearest double or so."""
    with ctx.workprec(512):
        q, nu = _ball(ratio), arb(peak)
        power, r = q**peak, 1 - q
        whole = 1 + q - q * power
        mean = q * power * ((nu + 1) - nu * q) / (r * whole)
        square = q * (2 * (1 + q) - power * ((nu * r) ** 2 + 2 * nu * r + 1 + q)) / (r**2 * whole)
        return float(mean.mid()), float((square - mean**2).mid())


def _chernoff(noise: GeometricNoise, terms: int, chance: float, side: int) -> float:
    """P(side * S > side * m) <= E[e^(side s S)] e^(-side s m) for every s > 0: the best m of several s."""
    law, logs = noise.chances(), []
    for step in np.geomspace(1e-6, 0.98, 200) * (-math.log(noise.ratio / WORD)):
        moment = float(np.log(law @ np.exp(side * step * np.arange(len(law)))))
        logs.append((terms * moment - math.log(chance)) / step)
    return float(side * min(logs))


@lru_cache(maxsize=64)
def _sum_tail(noise: GeometricNoise, terms: int, subtracted: int) -> tuple[Reals, Reals]:
    """How far the sum of so many numbers, less others, may be from its mean, increasing, and how likely it is farther."""
    one = noise.chances()
    lowest = -subtracted * (len(one) - 1)
    size = terms * (len(one) - 1) - lowest + 1
    length = 1 << (size - 1).bit_length()
    transformed = np.fft.rfft(one, length) ** terms
    if subtracted:  # from the other end
        transformed = transformed * np.fft.rfft(one[::-1], length) ** subtracted
    law = np.maximum(np.fft.irfft(transformed)[:size], 0.0)
    deviations = np.abs(np.arange(size) + lowest - (terms - subtracted) * noise.mean)
    order = np.argsort(deviations)
    farther = np.append(np.cumsum(law[order][::-1])[::-1][1:], 0.0)
    return deviations[order], farther


def _runs(ratio: int, symbols: Wholes, place: Wholes, randomness: RandomSource) -> tuple[Wholes, Wholes]:
    """How many first words, and second ones, are below the ratio before one is not, from a place of each symbol on."""
    lengths = np.zeros((len(symbols), 2), dtype=np.int64)
    running = np.ones((len(symbols), 2), dtype=np.bool_)
    expected = WORD // (WORD - ratio)
    each = max(8, min(_AT_ONCE, 2 * expected))
    together = max(1, _AT_ONCE // each)
    for start in range(0, len(symbols), together):
        some = np.arange(start, min(start + together, len(symbols)))
        at = place[some]
        while len(some):
            if int(at.max()) + each > _MOST_ATTEMPTS:
                raise InvalidInput("this randomness is not random. Use KeyedRandomness.fresh().")
            rows = _addresses(symbols[some], at, each)
            ends = randomness.blocks(rows, NOISE_DRAW).reshape(len(some), each, 2) >= np.uint64(ratio)
            over = ends.any(axis=1)
            lengths[some] += np.where(running[some], np.where(over, ends.argmax(axis=1), each), 0)
            running[some] &= ~over
            going = running[some].any(axis=1)
            some, at = some[going], at[going] + each
    return lengths[:, 0], lengths[:, 1]


def _addresses(symbols: Wholes, start: Wholes, each: int) -> Words:
    """Rows of so many words of each symbol, from a place of each on."""
    places = start[:, None] + np.arange(each)
    return (symbols.astype(np.uint64)[:, None] << np.uint64(32) | places.astype(np.uint64)).ravel()
