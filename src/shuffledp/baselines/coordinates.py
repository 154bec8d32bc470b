"""Means of rows, entry by entry: one bit about a single entry of each user's row, or one about every entry."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.account import bound_named, calibrate
from shuffledp.accounting.releases import composition, excess
from shuffledp.arithmetic.inversion import Search, search
from shuffledp.core.counts import Counts
from shuffledp.core.document import Document, fields, word
from shuffledp.core.population import Population
from shuffledp.core.randomness import CHOICE_DRAW, WORD, RandomSource, randomness_of, rows_from
from shuffledp.domains.registry import from_document as domain_of
from shuffledp.domains.vectors import Ball, Box, Vectors
from shuffledp.errors import InvalidInput
from shuffledp.planning.families.vector import VectorQuestion
from shuffledp.planning.family import Family, says_nothing
from shuffledp.protocols.rounding import to_grid
from shuffledp.protocols.row_means import RowMeans
from shuffledp.randomizers.codebook_response import CodebookResponse
from shuffledp.randomizers.mixing import threshold_of, with_blanket
from shuffledp.randomizers.response import RandomizedResponse
from shuffledp.references import cite

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinateMeans(RowMeans):
    """A bit about an entry is rounded at random to one end of the entry's range, then is a random bit with probability gamma.

    Formula: with D = d if each user sends a bit about a random entry, and 1 if one about every entry, the variance of entry k is
    (1/n) (D / (1 - g)^2 - mean of y_k^2), y_k the entry in units of half its range: the most is at the middle.
    Legend: d = entries, g = gamma, n = users.
    Privacy: a random entry's number says nothing, and for each number one of two messages is a user's, so that this is a design
    of share 1/2 like a codebook of two codewords. Bits about all entries, each shuffled apart, are d releases of randomized
    response, which compose.
    """

    domain: Vectors
    threshold: int
    kind = "coordinate-means"
    reference: ClassVar[str] = cite("DKY17")

    def __post_init__(self) -> None:
        if not 1 <= self.threshold < WORD:
            raise InvalidInput("`threshold` is from 1 to 2^64 - 1. Give another one.")

    @property
    def _gamma(self) -> float:
        return self.threshold / WORD

    @property
    def _asked(self) -> int:
        """About how many entries a user sends a bit."""
        return 1

    @property
    def _thinned(self) -> int:
        """How many times as many users there are as bits about an entry."""
        return self.domain.dimension // self._asked

    @property
    def _reach(self) -> Reals:
        """Half the range of each entry."""
        ball = isinstance(self.domain, Ball)
        return np.broadcast_to(self.domain.radii, (self.domain.dimension,)) / (
            1.0 if ball else math.sqrt(self.domain.dimension)
        )

    def sentence(self) -> str:
        """What a user does with the row."""
        which = "one random entry" if self._asked == 1 else "every entry"
        return f"each user sends a bit about {which}, which is random with probability {self._gamma:.6g}"

    @property
    def messages_per_user(self) -> int:
        return self._asked

    @property
    def epsilon0(self) -> float:
        one = CodebookResponse(dimension=1, size=2, threshold=self.threshold).epsilon0
        return one if self._asked == 1 else math.nextafter(self._asked * one, math.inf)

    @property
    def bits(self) -> int:
        return (2 * self._thinned - 1).bit_length() * self._asked

    def randomize(self, values: NDArray[Any], randomness: RandomSource, *, first_row: int) -> NDArray[Any]:
        """For each user the number of an entry times two, plus the bit; one column for each bit."""
        shares = ((self.domain.rows(values) - self.domain.middle) / self._reach + 1) / 2
        shares = np.clip(shares, 0.0, 1.0)
        chosen = self._chosen(len(shares), randomness, first_row)
        found = np.empty(chosen.shape, dtype=np.uint64)
        for j in range(self._asked):
            words, entry = randomness_of(j, randomness), chosen[:, j]
            share = shares[np.arange(len(shares)), entry.astype(np.int64)]
            bits = to_grid(share, words, low=0.0, high=1.0, steps=1, first_row=first_row).astype(np.uint32)
            found[:, j] = 2 * entry + with_blanket(bits, self.threshold, 2, words, first_row)
        return found

    def _chosen(self, users: int, randomness: RandomSource, first_row: int) -> NDArray[np.uint64]:
        """The entry that each user's bit is about: its remainder is uneven by less than 2^-44."""
        drawn = randomness.blocks(rows_from(first_row, users), CHOICE_DRAW)[:, :1]
        return np.asarray(drawn % np.uint64(self.domain.dimension))

    @property
    def counters(self) -> int:
        """How many zeros and ones there are about each entry."""
        return 2 * self.domain.dimension

    def count(self, messages: NDArray[np.uint64]) -> Counts:
        return Counts(np.bincount(messages.ravel().astype(np.int64), minlength=self.counters))

    def reports(self, counts: NDArray[np.int64]) -> int:
        return int(counts.sum()) // self._asked

    def debias(self, counts: NDArray[np.int64], n: int) -> Reals:
        pairs = counts.reshape(*counts.shape[:-1], self.domain.dimension, 2)
        mean = (pairs[..., 1] - pairs[..., 0]) * self._thinned / (n * (1 - self._gamma))
        return np.asarray(self.domain.middle + self._reach * mean)

    def standard_error(self, value: Reals, n: int) -> Reals:
        """At data that all equal these means."""
        return np.sqrt(self._variances((value - self.domain.middle) / self._reach) / n)

    def _variances(self, points: Reals) -> Reals:
        """What one user adds, in the units of the rows."""
        return np.asarray(np.square(self._reach) * (self._thinned / (1 - self._gamma) ** 2 - np.square(points)))

    def worst(self, n: int) -> Population:
        """Everybody in the middle."""
        return Population(values=self.domain.landmarks()[2:3], users=np.array([n]))

    def expected_error(self, population: Population) -> float:
        each = self._variances(self._points(population)).sum(axis=1)
        return float(population.users @ each) / population.n**2

    def _points(self, population: Population) -> Reals:
        return np.asarray((self.domain.rows(population.values) - self.domain.middle) / self._reach)

    def max_shift(self, n: int) -> float:
        """From one end to the other, of the widest entry."""
        return 2 * float(self._reach.max()) * self._thinned / (n * (1 - self._gamma))

    def simulate(self, population: Population, generator: np.random.Generator, runs: int) -> Reals:
        d, counts = self.domain.dimension, np.zeros((runs, self.domain.dimension, 2), dtype=np.int64)
        for point, users in zip(self._points(population), population.users.tolist(), strict=True):
            asked = (
                generator.multinomial(users, np.full(d, 1 / d), runs)
                if self._thinned > 1
                else np.full((runs, d), users)
            )
            ones = generator.binomial(asked, (1 + (1 - self._gamma) * np.clip(point, -1, 1)) / 2)
            counts += np.stack([asked - ones, ones], axis=-1)
        return self.debias(counts.reshape(runs, -1), population.n)

    @property
    def cells_per_run(self) -> int:
        return 2 * self.domain.dimension

    def document(self) -> Document:
        return {"kind": self.kind, "domain": self.domain.document(), "threshold": str(self.threshold)}

    @classmethod
    def from_document(cls, document: object) -> Self:
        found = fields(document, cls.kind, domain=domain_of, threshold=word)
        if not isinstance(found["domain"], Vectors):
            raise InvalidInput("a mean of rows is of rows of numbers. Give a ball or a box.")
        return cls(**found)

    @classmethod
    def examples(cls) -> list[Self]:
        return [
            cls(domain=Ball(3, 2.0), threshold=WORD // 5),
            cls(domain=Box((0.0, 1.0), (2.0, 9.0)), threshold=WORD // 3),
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class AllCoordinateMeans(CoordinateMeans):
    """Means of rows, when each user sends one bit about every entry."""

    kind = "all-coordinate-means"

    @property
    def _asked(self) -> int:
        return self.domain.dimension

    def _chosen(self, users: int, randomness: RandomSource, first_row: int) -> NDArray[np.uint64]:  # noqa: ARG002
        return np.broadcast_to(np.arange(self.domain.dimension, dtype=np.uint64), (users, self.domain.dimension))


class OneCoordinate(Family[VectorQuestion]):
    """A bit about one entry of each row."""

    name, trust, accounted_by = "one bit of one entry", "the shuffler", "its blanket"
    question_type = VectorQuestion

    def propose(self, question: VectorQuestion) -> CoordinateMeans:
        """The least blanket of a design of share 1/2."""
        gamma = calibrate(CodebookResponse.family(2), n=question.honest, epsilon=question.epsilon, delta=question.delta)
        return CoordinateMeans(domain=question.domain, threshold=_below_one(gamma))


class AllCoordinates(Family[VectorQuestion]):
    """A bit about every entry."""

    name, trust, accounted_by = "one bit of every entry", "the shuffler", "composition"
    question_type = VectorQuestion

    def propose(self, question: VectorQuestion) -> AllCoordinateMeans:
        """The least blanket of each bit with which all of them compose to the epsilon allowed."""
        family, bound = RandomizedResponse.family(size=2, parameter="gamma"), bound_named("best")

        def too_much(gamma: float) -> float:
            together = composition(family.blanket(gamma), question.honest, bound, question.domain.dimension)
            return excess(together, question.delta, question.epsilon)

        gamma = search(too_much, Search(low=1e-15, high=1.0, towards="larger"), start=0.1, precision=1e-4)
        if gamma is None:
            raise says_nothing()
        return AllCoordinateMeans(domain=question.domain, threshold=_below_one(gamma))


def _below_one(gamma: float) -> int:
    if not gamma < 1 or threshold_of(gamma) >= WORD:
        raise says_nothing()
    return threshold_of(gamma)
