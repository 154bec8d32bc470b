"""Means of reals by group: one shuffled message for the pair of a group and a point of a grid."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.arithmetic.exact import exact_sum
from shuffledp.core.digits import at_most, counted
from shuffledp.core.document import Document, fields, text
from shuffledp.core.estimate import Estimate
from shuffledp.core.population import Population
from shuffledp.core.randomness import RandomSource
from shuffledp.core.ratio import SURE, Ratios
from shuffledp.domains.grouped_reals import GroupedReals
from shuffledp.domains.labels import Labels
from shuffledp.domains.reals import RealRange
from shuffledp.errors import InvalidInput
from shuffledp.protocols.description import Description
from shuffledp.protocols.forecast import Forecast
from shuffledp.protocols.histogram import Histogram
from shuffledp.protocols.one_message import OneMessage, Symbols
from shuffledp.protocols.reading import Reading
from shuffledp.protocols.rounding import to_grid
from shuffledp.protocols.summing import MEASURES, Total
from shuffledp.randomizers.response import RandomizedResponse
from shuffledp.references import cite

Reals = NDArray[np.float64]
_SHARES: Final = (0.001, 0.01, 0.1)
"""Of the users in a group, for which errors are forecast."""


class Moments(NamedTuple):
    """What the variance of a group's estimates depends on: sums over its users, x being a value between 0 and 1.

    Attributes:
        users: how many there are.
        sum: of x.
        squares: of x^2.
        rounding: of f (1 - f) / r^2, what rounding adds to the variance of x; f = frac(x r).
    """

    users: Reals
    sum: Reals
    squares: Reals
    rounding: Reals


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedSummation(OneMessage):
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
        if self.total not in MEASURES:
            raise InvalidInput(f"values are added up to a sum, a mean or a query; got {self.total!r}. Choose one.")
        if self.total == "query" and (self.domain.value.low, self.domain.value.high) != (0.0, 1.0):
            raise InvalidInput("a query is answered in [0, 1]. Leave low and high out, or plan a mean.")
        if self.randomizer.size % self.groups or self.precision < 1:
            raise InvalidInput(
                f"{self.randomizer.size:,} symbols are not a grid for each of {self.groups:,} groups. Make the plan again."
            )
        if not self.gamma < 1:
            raise InvalidInput("gamma is 1: the messages say nothing about the values. Use a smaller gamma.")

    @property
    def groups(self) -> int:
        """How many there are."""
        return self.domain.groups

    @property
    def precision(self) -> int:
        """Number of steps of the grid."""
        return self.randomizer.size // self.groups - 1

    @property
    def gamma(self) -> float:
        """The blanket probability that is actually sampled."""
        return self.randomizer.gamma_as_run

    @property
    def description(self) -> Description:
        """What is summed, its range, and by what. Errors are those at the most rounding."""
        range_, groups = self.domain.value, " and ".join(self.domain.beside)
        return Description(
            question=self.total, measure=f"{MEASURES[self.total]} by {groups}, each from {range_.low:g} to {range_.high:g}",
            asked=self.total == "query", errors_are_bounds=True,
        )  # fmt: skip

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
        """Of two estimates about a group: a N + b X for two pairs (a, b)."""
        g, r, groups = self.gamma, self.precision, self.groups
        (a, b), (c, d) = one, other
        users, total, squares, rounding = moments
        mean, other_mean = (a + b / 2) / groups, (c + d / 2) / groups
        both = (a * c + (a * d + b * c) / 2 + b * d * (2 * r + 1) / (6 * r)) / groups
        blanket = n * (g * both - g * g * mean * other_mean)
        held = a * c * users + (a * d + b * c) * total + b * d * squares
        crossed = mean * (c * users + d * total) + other_mean * (a * users + b * total)
        return np.asarray((blanket + (1 - g) * (b * d * rounding + g * held - g * crossed)) / (1 - g) ** 2)

    def at_worst(self, users: Reals, total: Reals, rounded: Reals) -> Moments:
        """With the most rounding that is possible: the squares of rounded values, which are known, are those of x and that."""
        rounding = users / (4 * self.precision**2)
        return Moments(users, total, rounded - rounding, rounding)

    def sums(self, value: Reals) -> tuple[Reals, Reals, Reals]:
        """Users, sums of x and sums of squares of rounded values, group by group, of a histogram of pairs."""
        points = np.arange(self.precision + 1) / self.precision
        joint = value.reshape(*value.shape[:-1], self.groups, self.precision + 1)
        return joint.sum(axis=-1), joint @ points, joint @ points**2

    def variances(self, value: Reals, n: int) -> tuple[Reals, Reals, Reals]:
        """Of the sums, of sums and users, of the users: at the most rounding, from the estimates. One run per row."""
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

    def moments_of(self, population: Population) -> Moments:
        """Of every group, exactly."""
        x, r = self.domain.value.share(population.values["value"]), self.precision
        f = x * r - np.floor(x * r)
        found = np.zeros((4, self.groups))
        for sums, weight in zip(found, (np.ones(len(x)), x, x * x, f * (1 - f) / r**2), strict=True):
            np.add.at(sums, population.values["group"], weight * population.users)
        return Moments(*found)

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

    # What is read off them

    @property
    def reading(self) -> "GroupMeans":
        """The mean or the sum of each group."""
        return GroupMeans(self)

    def group_variance(self, share: float, n: int) -> float:
        """The largest variance of the mean of a group that a share of the n users are in, or of its sum.

        It is quadratic in the mean and symmetric about the middle of the range, so it is largest in the middle or at the ends.
        """
        users, low, span = np.array(share * n), self.domain.value.low, self.domain.value.span
        if not self.reading.averages:
            ends = (self.at_worst(users, x * users, x * users) for x in (0.0, 1.0))
            weights = (low, span)
            return max(float(self.covariance(weights, weights, moments, n)) for moments in ends)
        found = [
            self.covariance((-m, 1.0), (-m, 1.0), self.at_worst(users, m * users, m * users), n) for m in (0.0, 0.5)
        ]
        return span**2 * float(max(found)) / (share * n) ** 2

    def smallest(self, n: int) -> float:
        """About how many users a group needs for its mean to have a number."""
        nobody = Moments(*np.zeros(4))
        return SURE * math.sqrt(float(self.covariance((1.0, 0.0), (1.0, 0.0), nobody, n)))

    def forecast(self, n: int) -> Forecast:
        """How far off the groups are, by how large they are, and how small one may be."""
        errors = {share: math.sqrt(self.group_variance(share, n)) for share in _SHARES if share * n >= 1}
        smallest = self.smallest(n) if self.reading.averages else 0.0
        lines = [
            f"standard error of the {self.total} of a group with {100 * share:g} % of the users: at most {at_most(error)}"
            for share, error in errors.items()
            if share * n >= smallest
        ]
        if not self.reading.averages:
            return Forecast(lines=tuple(lines), by_share=errors)
        lines.append(f"a group of fewer than about {smallest:,.0f} users gets no number")
        return Forecast(lines=tuple(lines), by_share=errors, others={"smallest_group": smallest})

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
        """Randomizer, groups and range, and what is made of the sums."""
        return {
            "kind": self.kind, "total": self.total, "domain": self.domain.document(),
            "randomizer": self.randomizer.document(),
        }  # fmt: skip

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


class GroupMeans(Reading[GroupedSummation]):
    """The mean or the sum of each group, read off a histogram of pairs of a group and a point of a grid."""

    __slots__ = ()

    @property
    def averages(self) -> bool:
        """A mean and a query do."""
        return self.protocol.total != "sum"

    def of(self, estimate: Estimate) -> Estimate:
        """The mean of each group, or no number where it has too few users; or its sum."""
        names, range_ = self.protocol.domain.group_names, self.protocol.domain.value
        users, sums, _ = self.protocol.sums(estimate.value)
        variances = self.protocol.variances(estimate.value, estimate.n)
        if self.averages:
            return Ratios.between(
                estimate, top=sums, bottom=users, variances=variances, names=names, start=range_.low, span=range_.span
            )
        above, across, below = variances
        variance = range_.low**2 * below + 2 * range_.low * range_.span * across + range_.span**2 * above
        return Estimate(
            value=range_.low * users + range_.span * sums, standard_error=np.sqrt(np.maximum(variance, 0.0)), n=estimate.n,
            guarantee=estimate.guarantee, names=names,
        )  # fmt: skip

    def exactly(self, entries: Reals) -> Reals:
        (users, sums, _), range_ = self.protocol.sums(entries), self.protocol.domain.value
        if not self.averages:
            return range_.low * users + range_.span * sums
        return np.where(users > 0, range_.low + range_.span * sums / np.where(users > 0, users, 1.0), np.nan)

    def error(self, population: Population) -> Reals:
        """The squared error of each mean to first order, of each sum exactly; NaN for a group without users."""
        moments, span = self.protocol.moments_of(population), self.protocol.domain.value.span
        if not self.averages:
            sums = (self.protocol.domain.value.low, span)
            return self.protocol.covariance(sums, sums, moments, population.n)
        held = moments.users > 0
        users = np.where(held, moments.users, 1.0)
        weights = (-moments.sum / users, 1.0)
        variance = self.protocol.covariance(weights, weights, moments, population.n)
        return np.where(held, span**2 * variance / users**2, np.nan)

    def shift(self, answer: Estimate, *, times: int = 1) -> float:
        most, span = times * self.protocol.max_shift(answer.n), self.protocol.domain.value.span
        if not isinstance(answer, Ratios):
            return most * max(abs(self.protocol.domain.value.low), abs(self.protocol.domain.value.high), span)
        sure = ~np.isnan(answer.value)
        left = answer.bottom[sure] - most
        if not sure.any() or left.min() <= 0:
            return span
        off = np.maximum(1.0, np.abs((answer.value[sure] - answer.start) / span - 0.5) + 0.5)
        return float((span * most * off / left).max())

    def beside(self, estimate: Estimate) -> dict[str, Estimate]:
        """How many users each group has."""
        users, _, _ = self.protocol.sums(estimate.value)
        _, _, variance = self.protocol.variances(estimate.value, estimate.n)
        names = self.protocol.domain.group_names
        found = Estimate(
            value=users, standard_error=np.sqrt(variance), n=estimate.n, guarantee=estimate.guarantee, names=names
        )
        return {"users": found}
