"""Means of reals by group: one shuffled message for the pair of a group and a point of a grid."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.arithmetic.exact import exact_sum
from shuffledp.core.digits import counted
from shuffledp.core.document import Document, fields, text
from shuffledp.core.population import Population
from shuffledp.core.randomness import RandomSource
from shuffledp.domains.grouped_reals import GroupedReals
from shuffledp.domains.labels import Labels
from shuffledp.domains.reals import RealRange
from shuffledp.errors import InvalidInput
from shuffledp.protocols.by_group import BySum, Moments
from shuffledp.protocols.histogram import Histogram
from shuffledp.protocols.one_message import OneMessage, Symbols
from shuffledp.protocols.rounding import to_grid
from shuffledp.protocols.summing import Total, document_of_sums
from shuffledp.randomizers.response import RandomizedResponse
from shuffledp.references import cite

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedSummation(OneMessage, BySum):
    """A histogram of pairs of a group and a grid point, read as the mean or the sum of each group.

    Formula: a user of group u at x = (value - low) / (high - low) in [0, 1] holds the symbol (u, J), J = floor(x r) +
    Bernoulli(frac(x r)), and sends it by randomized response on G (r + 1) symbols. For weights w = a + b j / r on the symbols
    of one group, the histogram's estimate of the sum of w is unbiased for a N + b X. Its covariance with that of w' is
    (n (g e11 - g^2 e1 e1') + (1 - g) (b b' R + g (a a' N + (a b' + a' b) X + b b' S) - g (e1 (a' N + b' X) + e1' (a N + b X))))
    / (1 - g)^2, with e1 = (a + b / 2) / G and e11 = (a a' + (a b' + a' b) / 2 + b b' (2 r + 1) / (6 r)) / G.
    Legend: g = gamma of the law that is sampled, r = precision, G = groups, N = users of the group, X = sum of x, S = sum of x^2,
    R = sum of f (1 - f) / r^2 with f = frac(x r).
    Reference: BBGN19, Algorithm 3, on pairs; docs/maths/groups.md.
    """

    randomizer: RandomizedResponse
    domain: GroupedReals
    total: Total = "mean"
    kind = "grouped-summation"
    reference: ClassVar[str] = cite("BBGN19", "Algorithm 3")

    def __post_init__(self) -> None:
        self.check_total()
        if self.randomizer.size % self.groups or self.precision < 1:
            raise InvalidInput(
                f"{self.randomizer.size:,} symbols are not a grid for each of {self.groups:,} groups. Make the plan again."
            )
        if not self.gamma < 1:
            raise InvalidInput("gamma is 1: the messages say nothing about the values. Use a smaller gamma.")

    @property
    def precision(self) -> int:
        """Number of steps of the grid."""
        return self.randomizer.size // self.groups - 1

    @property
    def gamma(self) -> float:
        """The blanket probability that is actually sampled."""
        return self.randomizer.gamma_as_run

    @property
    def names(self) -> tuple[str, ...]:
        """Groups and points of the grid."""
        points = np.linspace(self.domain.value.low, self.domain.value.high, self.precision + 1).tolist()
        return tuple(f"{name}, {point!r}" for name in self.domain.group_names for point in points)

    def sentence(self) -> str:
        """Rounding and randomized response in words."""
        grid = counted(self.precision, "step")
        return (
            f"each user rounds the value at random to a grid of {grid} and pairs it with the group, one of {self.groups:,}, "
            f"then {self.randomizer.sentence()}"
        )

    # Messages

    def encode(self, values: NDArray[Any], randomness: RandomSource, *, first_row: int) -> Symbols:
        """Pairs of a group and a grid point, rounded at random so that the mean stays."""
        if values.dtype.names != ("group", "value") or (len(values) and values["group"].max() >= self.groups):
            raise InvalidInput("a value is not a group and a number. Clean values first.")
        range_ = self.domain.value
        points = to_grid(
            values["value"], randomness, low=range_.low, high=range_.high, steps=self.precision, first_row=first_row
        )
        symbols: Symbols = values["group"].astype(np.min_scalar_type(self.randomizer.size - 1)) * (self.precision + 1)
        symbols += points.astype(symbols.dtype)
        return symbols

    def debias(self, counts: NDArray[np.int64], n: int) -> Reals:
        """The unbiased histogram of pairs, of which a rounded value counts in two by parts."""
        return Histogram(self.randomizer).debias(counts, n)

    # Errors

    def covariance(self, one: tuple[Any, Any], other: tuple[Any, Any], moments: Moments, n: int) -> Reals:
        g, r, groups = self.gamma, self.precision, self.groups
        (a, b), (c, d) = one, other
        users, total, squares, rounding = moments
        mean, other_mean = (a + b / 2) / groups, (c + d / 2) / groups
        both = (a * c + (a * d + b * c) / 2 + b * d * (2 * r + 1) / (6 * r)) / groups
        blanket = n * (g * both - g * g * mean * other_mean)
        held = a * c * users + (a * d + b * c) * total + b * d * squares
        crossed = mean * (c * users + d * total) + other_mean * (a * users + b * total)
        return np.asarray((blanket + (1 - g) * (b * d * rounding + g * held - g * crossed)) / (1 - g) ** 2)

    def sums(self, value: Reals) -> tuple[Reals, Reals, Reals]:
        """Users, sums of x and sums of squares of rounded values, group by group, of a histogram of pairs."""
        points = np.arange(self.precision + 1) / self.precision
        joint = value.reshape(*value.shape[:-1], self.groups, self.precision + 1)
        return joint.sum(axis=-1), joint @ points, joint @ points**2

    def variances(self, value: Reals, n: int) -> tuple[Reals, Reals, Reals]:
        users, total, rounded = self.sums(value)
        users = np.clip(users, 0, n)
        total = np.clip(total, 0, users)
        moments = self.at_worst(users, total, np.clip(rounded, total**2 / np.maximum(users, 1e-300), total))
        sums, counts = (0.0, 1.0), (1.0, 0.0)
        return (
            self.covariance(sums, sums, moments, n),
            self.covariance(sums, counts, moments, n),
            self.covariance(counts, counts, moments, n),
        )

    def standard_error(self, value: Reals, n: int) -> Reals:
        """As if every value were rounded at random to all points that it is ever rounded to."""
        chance = (1 - self.gamma) * np.clip(value, 0, n) / n + self.gamma / self.randomizer.size
        return np.asarray(np.sqrt(n * chance * (1 - chance)) / (1 - self.gamma))

    def expected_error(self, population: Population) -> float:
        g, scaled = self.gamma, self.domain.value.share(population.values["value"]) * self.precision
        f = scaled - np.floor(scaled)
        alike = (1 - g) ** 2 * (1 - 2 * f * (1 - f)) + g * (2 - g) / self.randomizer.size
        return float((1 - alike) @ population.users / (1 - g) ** 2)

    def worst(self, n: int) -> Population:
        """Everybody between two points of the grid."""
        middle = self.domain.value.low + self.domain.value.span / (2 * self.precision)
        return Population(values=np.array([(0, middle)], dtype=self.domain.dtype), users=np.array([n]))

    def max_shift(self, n: int) -> float:  # noqa: ARG002
        """1 / (1 - gamma): one message more or less."""
        return 1 / (1 - self.gamma)

    # Simulation and truth

    def simulate(self, population: Population, generator: np.random.Generator, runs: int) -> Reals:
        """From how many users hold each pair."""
        r, values = self.precision, population.values
        scaled, users = self.domain.value.share(values["value"]) * r, population.users
        floor = np.minimum(np.floor(scaled), r - 1)
        up = generator.binomial(users, scaled - floor, size=(runs, len(users)))
        at = self._steps(values) + values["group"]
        rounded = np.zeros((self.randomizer.size, runs), dtype=np.int64)
        np.add.at(rounded, at, (users - up).T)  # several values may share a grid point
        np.add.at(rounded, at + 1, up.T)
        return self.debias(Histogram(self.randomizer).simulated_counts(rounded.T, generator), population.n)

    def truth(self, values: NDArray[Any]) -> NDArray[Any]:
        """Users and exact sums of their values, step by step of the grid of each group."""
        steps = self.groups * self.precision
        found = np.array([Fraction(0)] * (2 * steps), dtype=object)
        if len(values):
            at = self._steps(values)
            order = np.argsort(at, kind="stable")
            places, starts = np.unique(at[order], return_index=True)
            for place, part in zip(places.tolist(), np.split(values["value"][order], starts[1:]), strict=True):
                found[place], found[steps + place] = Fraction(len(part)), exact_sum(part)
        return found

    def truth_of(self, population: Population) -> NDArray[Any]:
        """Users and exact sums of their values, step by step of the grid of each group."""
        steps = self.groups * self.precision
        found = np.array([Fraction(0)] * (2 * steps), dtype=object)
        values = zip(self._steps(population.values).tolist(), population.values["value"].tolist(), strict=True)
        for (place, value), often in zip(values, population.users.tolist(), strict=True):
            found[place] += often
            found[steps + place] += Fraction(value) * often
        return found

    def true_answer(self, truth: NDArray[Any]) -> Reals:
        """The histogram that rounding gives on average."""
        r, low, span = self.precision, Fraction(self.domain.value.low), self.domain.value.span
        users, sums = truth.reshape(2, self.groups, r)
        up = (sums - low * users) * r / Fraction(span) - users * np.arange(r)
        found = np.zeros((self.groups, r + 1), dtype=object)
        found[:, :-1] += users - up
        found[:, 1:] += up
        return found.ravel().astype(np.float64)

    def _steps(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """The steps of all grids, counted through, that values are in."""
        scaled = self.domain.value.share(values["value"]) * self.precision
        floor = np.minimum(np.floor(scaled), self.precision - 1).astype(np.int64)
        return np.asarray(values["group"].astype(np.int64) * self.precision + floor)

    # As data

    def document(self) -> Document:
        return document_of_sums(self, self.total)

    @classmethod
    def from_document(cls, document: object) -> Self:
        return cls(
            **fields(
                document, cls.kind, total=text, domain=GroupedReals.from_document,
                randomizer=RandomizedResponse.from_document,
            )
        )  # fmt: skip

    @classmethod
    def examples(cls) -> list[Self]:
        """A coarse and a fine grid, one column of groups and two."""
        carriers = ("carrier", Labels(("AA", "B6", "DL")))
        return [
            cls(
                randomizer=RandomizedResponse(size=6, gamma=0.3),
                domain=GroupedReals((carriers,), RealRange(0.0, 1.0)), total="query",
            ),
            cls(
                randomizer=RandomizedResponse(size=12, gamma=0.05),
                domain=GroupedReals((("sex", Labels(("f", "m"))), ("old", Labels(("no", "yes")))), RealRange(-2.0, 3.0)),
            ),
            cls(
                randomizer=RandomizedResponse(size=15, gamma=0.1),
                domain=GroupedReals((carriers,), RealRange(0.0, 10.0)), total="sum",
            ),
        ]  # fmt: skip
