"""What protocols have in common that add up numbers by group: how far off each group is, and what is read off them."""

import math
from abc import abstractmethod
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.digits import at_most
from shuffledp.core.estimate import Estimate
from shuffledp.core.population import Population
from shuffledp.core.ratio import SURE, Ratios
from shuffledp.domains.grouped_reals import GroupedReals
from shuffledp.errors import InvalidInput
from shuffledp.protocols.description import Description
from shuffledp.protocols.forecast import Forecast
from shuffledp.protocols.protocol import ShuffleProtocol
from shuffledp.protocols.reading import Reading
from shuffledp.protocols.summing import MEASURES, Total

Reals = NDArray[np.float64]
_SHARES: Final = (0.001, 0.01, 0.1)
"""Shares of the users that a group may have, for which errors are forecast."""


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


class BySum(ShuffleProtocol):
    """The users of each group, and the sum of their values; the mean is the ratio of both."""

    __slots__ = ()
    domain: GroupedReals
    total: Total

    @property
    @abstractmethod
    def precision(self) -> int:
        """Number of steps of the grid."""

    @abstractmethod
    def covariance(self, one: tuple[Any, Any], other: tuple[Any, Any], moments: Moments, n: int) -> Reals:
        """The covariance of two estimates a N + b X about a group of N users whose values add up to X."""

    @abstractmethod
    def sums(self, value: Reals) -> tuple[Reals, Reals, Reals]:
        """Users, sums of x and of squares of rounded values, group by group, of the entries of an estimate."""

    @abstractmethod
    def variances(self, value: Reals, n: int) -> tuple[Reals, Reals, Reals]:
        """Variance of sums, covariance of sums and users, variance of users, at the most rounding; one run per row."""

    def check_total(self) -> None:
        """Refuse what cannot be made of a sum."""
        if self.total not in MEASURES:
            raise InvalidInput(f"values are added up to a sum, a mean or a query; got {self.total!r}. Choose one.")
        if self.total == "query" and (self.domain.value.low, self.domain.value.high) != (0.0, 1.0):
            raise InvalidInput("a query is answered in [0, 1]. Leave low and high out, or plan a mean.")

    @property
    def groups(self) -> int:
        """How many there are."""
        return self.domain.groups

    @property
    def description(self) -> Description:
        """What is summed, its range, and by what. Errors are those at the most rounding."""
        range_, groups = self.domain.value, " and ".join(self.domain.beside)
        return Description(
            question=self.total, measure=f"{MEASURES[self.total]} by {groups}, each from {range_.low:g} to {range_.high:g}",
            asked=self.total == "query", errors_are_bounds=True,
        )  # fmt: skip

    # Errors

    def at_worst(self, users: Reals, total: Reals, rounded: Reals) -> Moments:
        """With the most rounding that is possible: the squares of rounded values, which are known, are those of x and that."""
        rounding = users / (4 * self.precision**2)
        return Moments(users, total, rounded - rounding, rounding)

    def moments_of(self, population: Population) -> Moments:
        """Users and sums of every group, exactly."""
        x, r = self.domain.value.share(population.values["value"]), self.precision
        f = x * r - np.floor(x * r)
        found = np.zeros((4, self.groups))
        for sums, weight in zip(found, (np.ones(len(x)), x, x * x, f * (1 - f) / r**2), strict=True):
            np.add.at(sums, population.values["group"], weight * population.users)
        return Moments(*found)

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


class GroupMeans(Reading[BySum]):
    """The mean or the sum of each group, read off its users and sums."""

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
