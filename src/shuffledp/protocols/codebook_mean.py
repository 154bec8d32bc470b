"""Means of what rows of numbers are scaled to, a point of the unit ball each, from codebook response."""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.arithmetic.largest_product import largest_product
from shuffledp.core.attacker_view import AttackerView
from shuffledp.core.cores import cores
from shuffledp.core.counts import Counts
from shuffledp.core.estimate import Estimate
from shuffledp.core.guarantee import Guarantee
from shuffledp.core.population import Population
from shuffledp.core.ragged import Ragged
from shuffledp.core.randomness import RandomSource
from shuffledp.errors import InvalidInput
from shuffledp.protocols.decoded_sums import DecodedSums
from shuffledp.protocols.deployable import Deployable
from shuffledp.protocols.estimator import Reals
from shuffledp.protocols.nearest_codewords import simulated_sums
from shuffledp.protocols.row_means import RowMeans
from shuffledp.randomizers.codebook_response import CodebookResponse, on_sphere
from shuffledp.randomizers.codewords import nearest

_MANY: Final = 1 << 10
"""Messages about one row, from which on their sum is simulated by a normal law."""
_NEITHER: Final = 2
"""What a message tells that names the codeword of neither row, or of both."""
_OPPOSITE: Final = 1e-6
"""Points of the sphere this near to opposite ones share no codeword."""


class Law(NamedTuple):
    """How a decoded codeword relates to the point whose message it is, where K = (1 - g) m.

    Formula: its mean is K u; the mean of the products of its entries is (1 - g) (q - r) u u' + ((1 - g) r + g / (d + 1)) I,
    r = (1 - q) / d: what is not along u is spread evenly over d directions.
    Legend: u = point of the sphere of d + 1 dimensions, m and q = first two moments of the largest inner product, g = gamma.
    """

    gain: float
    along: float
    across: float

    @classmethod
    def of(cls, randomizer: CodebookResponse) -> "Law":
        """The law of one message of a randomizer, as it runs."""
        d, g = randomizer.dimension, randomizer.gamma_as_run
        m, q = largest_product(d + 1, randomizer.size)
        aside = (1 - q) / d
        return cls((1 - g) * m, (1 - g) * (q - aside), (1 - g) * aside + g / (d + 1))

    def variance(self, squares: Reals) -> Reals:
        """The variance of a decoded entry of one message, divided by the gain, for these squares of the point's entry."""
        return np.asarray((self.along * squares + self.across) / self.gain**2 - squares)


class CodebookMean(RowMeans, Deployable):
    """The means of the entries of rows, each row being a point of the unit ball.

    Formula: (mean of the first d entries of the messages' codewords) / ((1 - g) m) is unbiased for the mean of the points of the
    unit ball. With t messages each, the variance of entry k is 1 / (n t) times the users' mean of
    ((1 - g) ((q - r) x_k^2 + r) + g / (d + 1)) / ((1 - g) m)^2 - x_k^2, r = (1 - q) / d.
    Legend: m, q = E[T], E[T^2] of `largest_product`; g = gamma of one message; x = a user's point of the unit ball.
    Reference: docs/maths/vectors.md.
    """

    __slots__ = ()
    randomizer: CodebookResponse  # type: ignore[assignment]  # its inputs are points, not symbols

    def check_fit(self) -> None:
        """Refuse a codebook for other rows, and messages that say nothing."""
        if self.randomizer.dimension != self.domain.dimension:
            raise InvalidInput(
                "the codebook and the rows have different dimensions. Make the plan with shuffledp plan."
            )
        if not self.randomizer.gamma_as_run < 1:
            raise InvalidInput("gamma is 1: the messages say nothing about the values. Use a smaller gamma.")

    @property
    def law(self) -> Law:
        """How one decoded message relates to its point."""
        return Law.of(self.randomizer)

    @property
    def sums(self) -> DecodedSums:
        """What messages are added up to."""
        return DecodedSums(self.randomizer)

    @property
    def repeats(self) -> int:
        """Messages of each user."""
        return self.randomizer.repeats

    def sentence(self) -> str:
        return f"each user scales the row into the unit ball, then {self.randomizer.sentence()}"

    # What a user sends

    @property
    def messages_per_user(self) -> float:
        return self.repeats

    @property
    def most_messages(self) -> int:
        return self.repeats

    def fewest_messages(self, users: int) -> int:
        return users * self.repeats

    @property
    def bits(self) -> int:
        return self.repeats * (self.alphabet - 1).bit_length()

    def randomize(self, values: NDArray[Any], randomness: RandomSource, *, first_row: int) -> Any:
        """The messages of each user, a row of numbers each."""
        return self.randomizer.randomize(self.domain.into_ball(values), randomness, first_row=first_row)

    def attacker_view(self) -> AttackerView:
        """Seeds are random, so what a message tells of two rows that are far apart is whose codeword it names, if one's alone.

        How likely that is depends on the codewords, unless the rows are opposite and share none.
        """
        chance = self.randomizer.gamma_as_run / self.randomizer.size
        own = 1 - self.randomizer.gamma_as_run + chance
        ends = self._apart()
        opposite = np.abs(ends.sum(axis=0)).max() < _OPPOSITE and abs(np.linalg.norm(ends[0]) - 1) < _OPPOSITE

        def law(value: NDArray[Any]) -> Reals:
            point = self.domain.into_ball(value)
            for way, likely in ((ends[:1], [own, chance]), (ends[1:], [chance, own])):
                if np.allclose(point, way, rtol=0, atol=1e-6):
                    return np.tile([*likely, 1 - own - chance], self.repeats)
            raise InvalidInput("what tells other rows apart depends on the codewords. Look at opposite ones.")

        return AttackerView(
            messages=3 * self.repeats,
            law=law if opposite else None,
            releases=(3,) * self.repeats if self.repeats > 1 else (),
            told=self._told,
        )

    def _apart(self) -> Reals:
        """Two rows that are far apart, as points of the unit ball: opposite ones, where there are such, share no codeword."""
        return self.domain.into_ball(self.domain.landmarks()[:2])

    def _told(self, messages: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Which of the two rows' codewords each message names, 2 for neither or both; those of several messages one by one."""
        seeds, numbers = self.randomizer.split(messages)
        targets = on_sphere(self._apart(), self.randomizer.dimension)[:, None, :]
        theirs = [nearest(np.repeat(target, len(seeds), axis=0), seeds, self.randomizer.size) for target in targets]
        named = [numbers == of_row for of_row in theirs]
        found = np.where(named[0] == named[1], _NEITHER, np.where(named[0], 0, 1))
        return np.asarray(found + 3 * (np.arange(len(found)) % self.repeats))

    def of_user(self, messages: Any) -> list[int]:
        """Their order says nothing: each has a seed of its own."""
        own = messages.of_row(0) if isinstance(messages, Ragged) else messages[:1]
        return [int(message) for message in own]

    # What they add up to

    @property
    def counters(self) -> int:
        return self.sums.counters

    @property
    def decoding_memory(self) -> int:
        return self.sums.memory

    def count(self, messages: Any) -> Counts:
        """The sums of all messages' codewords and of the products of their entries, and how many users there are."""
        values = messages.values if isinstance(messages, Ragged) else messages
        return Counts(self.sums.of(values, users=len(messages)))

    @property
    def counted_by_message(self) -> bool:
        return False

    @property
    def batch_counters(self) -> int:
        return self.counters

    def add_batch(self, totals: NDArray[np.int64], messages: NDArray[np.uint64], often: NDArray[np.int64]) -> None:
        """Decoded on all cores, a block of rows at a time in each."""
        totals += self.sums.of(np.repeat(messages, often), users=0, threads=cores())

    def tallied(self, often: NDArray[np.int64], users: int) -> Counts:
        counts = Counts(often)
        if counts.size != self.counters or self.sums.messages(often) < users:
            raise InvalidInput("so many users cannot have sent these messages. They belong to another protocol.")
        return Counts(self.sums.with_users(often, users))

    def reports(self, counts: NDArray[np.int64]) -> int:
        return self.sums.users(counts)

    def debias(self, counts: NDArray[np.int64], n: int) -> Reals:  # noqa: ARG002
        """By the number of messages, which liars may make other than n times what a user sends."""
        return np.asarray(self.domain.middle + self.domain.radii * self.sums.mean(counts) / self.law.gain)

    def estimate(self, counts: Counts, *, guarantee: Guarantee | None = None) -> "VectorEstimate":
        """With the covariance of its entries, from the products of the codewords' entries."""
        plain = Deployable.estimate(self, counts, guarantee=guarantee)
        products, messages = self.sums.products(counts.values), self.sums.messages(counts.values)
        law, radii = self.law, np.broadcast_to(self.domain.radii, (self.domain.dimension,))
        even = law.across if products.ndim == 1 else law.across * np.eye(len(products))
        # the users' mean of the products of their entries is (products - even) / along: less its noise, nothing is assumed
        own = products / law.gain**2 - (products - even) / law.along
        spread = radii**2 if products.ndim == 1 else np.outer(radii, radii)
        covariance = own * spread / messages
        variances = covariance if products.ndim == 1 else np.diagonal(covariance)
        least = self._variances(np.zeros(1), messages) * 1e-3  # what no noise in them may hide
        return VectorEstimate(
            value=plain.value, standard_error=np.sqrt(np.maximum(variances, least)), n=plain.n, guarantee=guarantee,
            names=plain.names, covariance=None if products.ndim == 1 else covariance,
        )  # fmt: skip

    def standard_error(self, value: Reals, n: int) -> Reals:
        """At the worst data with these means: only counts say how far rows are from the middle (`estimate`)."""
        points = np.clip((value - self.domain.middle) / self.domain.radii, -1, 1)
        ends = [self._variances(squares, n * self.repeats) for squares in (np.square(points), self.domain.most_squares)]
        return np.sqrt(np.maximum(*ends))

    def _variances(self, squares: Reals, messages: int) -> Reals:
        """The variance of each entry's estimate, in the units of the rows, for these mean squares of the users."""
        return np.asarray(np.square(self.domain.radii) * self.law.variance(squares) / messages)

    # How far off they are

    def expected_error(self, population: Population) -> float:
        points = self.domain.into_ball(population.values)
        squares = population.users @ np.square(points) / population.n
        return float(self._variances(squares, population.n * self.repeats).sum())

    def worst(self, n: int) -> Population:
        """Everybody in the middle, or everybody as far from it as possible."""
        edge, middle = 0, 2
        which = edge if self.law.along > self.law.gain**2 else middle
        return Population(values=self.domain.landmarks()[which : which + 1], users=np.array([n]))

    def mean_squared_error(self, n: int) -> float:
        """At the worst data, in closed form: rows may be long."""
        return self.most(n, drawn=0.0)

    def most(self, n: int, *, drawn: float) -> float:
        """Over all distances from the middle, in whose squares the error is linear; `drawn` counts the spread of users too."""
        law, noise = self.law, float(np.broadcast_to(np.square(self.domain.radii), (self.domain.dimension,)).sum())
        ends = (((law.across * noise + law.along * s) / law.gain**2 - s, s) for s in self.domain.squares)
        return max(most / self.repeats + drawn * s for most, s in ends) / n

    def entry_errors(self, n: int) -> Reals:
        """The largest standard error of each entry, at the worst data for it."""
        ends = [self._variances(squares, n * self.repeats) for squares in (np.zeros(1), self.domain.most_squares)]
        return np.sqrt(np.maximum(*ends))

    def max_shift(self, n: int) -> float:
        """From one codeword to the opposite one; a liar sends as many messages as anybody."""
        return 2 * float(self.domain.radii.max()) / (n * self.law.gain)

    def simulate(self, population: Population, generator: np.random.Generator, runs: int) -> Reals:
        """From the law of codewords that are nearest of many uniform points; above 1,024 messages about a row by a normal law.

        That has the very mean and covariance, and the sum of so many bounded rows is as good as normal.
        """
        points = self.domain.into_ball(population.values)
        total = np.zeros((runs, self.domain.dimension))
        for point, users in zip(points, population.users.tolist(), strict=True):
            total += simulated_sums(self.randomizer, point, users * self.repeats, generator, runs, many=_MANY)
        mean = total / (population.n * self.repeats * self.law.gain)
        return np.asarray(self.domain.middle + self.domain.radii * mean)

    @property
    def cells_per_run(self) -> int:
        """A row of numbers for each of many users."""
        return _MANY * self.domain.dimension


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class VectorEstimate(Estimate):
    """Estimated means of columns.

    Attributes:
        covariance: of the errors of the entries; None where there are too many of them.
    """

    covariance: Reals | None = None
