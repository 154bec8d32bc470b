"""What people read off a histogram: frequencies, ranges, the distribution function, quantiles, the largest bins.

All of it is post-processing of the same estimate, so it costs no privacy. Counts of unions of bins are estimated as one
bin of a coarser histogram: exact variances, no covariance matrix.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.core.estimate import Estimate, Threshold
from shuffledp.errors import InvalidInput
from shuffledp.protocols.membership import Membership, rare_total

if TYPE_CHECKING:
    from shuffledp.protocols.histogram import Histogram
    from shuffledp.protocols.quantiles import Curve

Reals = NDArray[np.float64]
_NONE = np.zeros(0, dtype=np.intp)


class Ranking(ABC):
    """What any estimated counts say: shares, the largest, the nearest possible histogram."""

    __slots__ = ()
    counts: Estimate

    @property
    @abstractmethod
    def law(self) -> Membership | None:
        """Of messages to values, if it is that simple."""

    @property
    def ordered(self) -> "BinStatistics | None":
        """What else they say if the errors of several bins together are known."""
        return None

    @property
    def curve(self) -> "Curve | None":
        """What they say if each counts the users below an edge."""
        return None

    def frequencies(self) -> Estimate:
        """The share of users with each value."""
        n = max(1, self.counts.n)
        return like(self.counts, self.counts.value / n, self.counts.standard_error / n)

    def top(self, count: int) -> NDArray[np.intp]:
        """The values with the largest estimates, the largest first."""
        size, count = len(self.counts.value), checks.whole(count, "count", "Give e.g. 10.")
        if not 1 <= count <= size:
            raise InvalidInput(
                f"there are 1 to {size} largest bins to ask for; got {count}. Choose a number in that range."
            )
        return np.argsort(-self.counts.value, kind="stable")[:count]

    def threshold(self, false_positives: float) -> Threshold:
        """The estimate that on average so few values reach by chance, if nobody holds any of them."""
        if self.law is None:
            raise InvalidInput("no threshold is known for this plan. Leave out the number of false positives.")
        return self.law.threshold(self.counts.n, len(self.counts.value), false_positives)

    def projected(self) -> Reals:
        """The nearest possible histogram: no negative counts, n in all. Closer to the truth, but no longer unbiased."""
        ordered = np.sort(self.counts.value)[::-1]
        excess = (np.cumsum(ordered) - self.counts.n) / np.arange(1, len(ordered) + 1)
        shift = excess[np.flatnonzero(ordered > excess)[-1]] if self.counts.n else np.inf
        return np.maximum(self.counts.value - shift, 0.0)


@dataclass(frozen=True, slots=True)
class Ranked(Ranking):
    """Counts and nothing else."""

    counts: Estimate
    law: Membership | None = None


@dataclass(frozen=True, slots=True)
class AmongDummies(Ranked):
    """Counts where messages belong to a value by chance, too, because they are dummies.

    Attributes:
        messages: that may belong to a value that their senders do not hold.
        chance: that one of them does, at most.
        unbiased: from a total to the estimate.
    """

    messages: int = 0
    chance: float = 0.0
    unbiased: Callable[[int], float] = float

    def threshold(self, false_positives: float) -> Threshold:
        least, expected = rare_total(self.messages, self.chance, len(self.counts.value), false_positives)
        return Threshold(self.unbiased(least), expected)


@dataclass(frozen=True, slots=True)
class Selected(Ranked):
    """Counts of some values: users may hold others, and how many there are may not be known beforehand.

    Attributes:
        elsewhere: estimates at all points of the hash where no candidate is, increasing; None if that is not known.
    """

    elsewhere: Reals | None = None

    def threshold(self, false_positives: float) -> Threshold:
        """As many candidates reach it by chance as points do where none is: by noise, or because of a text not asked about."""
        false_positives = checks.real(false_positives, "false_positives")
        found = Ranked.threshold(self, false_positives)
        if self.elsewhere is None or not len(self.elsewhere):
            return found
        values, points = len(self.counts.value), len(self.elsewhere)
        passing = math.floor(false_positives * points / max(1, values))  # so many points may
        least = found.estimate
        if passing < points:
            least = max(least, math.nextafter(float(self.elsewhere[points - 1 - passing]), math.inf))
        above = points - int(np.searchsorted(self.elsewhere, least))
        return Threshold(least, max(values * above / points, found.false_positives))

    def top(self, count: int) -> NDArray[np.intp]:
        """All of them if there are fewer."""
        size = len(self.counts.value)
        return Ranked.top(self, min(count, size)) if size or count < 1 else _NONE

    def projected(self) -> Reals:
        """None: they need not add up to n."""
        raise InvalidInput("the plan's answer is about some values only, which make no histogram. Leave out `project`.")


def like(counts: Estimate, value: Reals, error: Reals) -> Estimate:
    """Other numbers from the same reports."""
    return Estimate(value=value, standard_error=error, n=counts.n, guarantee=counts.guarantee)


class BinStatistics(Ranking):
    """Counts of bins in an order, where the errors of several of them together are known."""

    __slots__ = ()

    @property
    def ordered(self) -> "BinStatistics":
        """Ranges, the distribution function, quantiles."""
        return self

    @property
    def size(self) -> int:
        """How many bins there are."""
        return len(self.counts.value)

    def in_range(self, first: int, last: int) -> Estimate:
        """The number of users in bins first ... last, both included."""
        first, last = (checks.whole(end, "the end of a range", "Give the number of a bin.") for end in (first, last))
        if not 0 <= first <= last < self.size:
            raise InvalidInput(
                f"a range goes from one of the bins 0 to {self.size - 1} to the same or a later one. Check its ends."
            )
        value = np.array([self.counts.value[first : last + 1].sum()])
        return self.of_bins(value, np.array([last - first + 1]))

    def cumulative(self) -> Estimate:
        """The number of users in each bin or one before it."""
        value = np.cumsum(self.counts.value)
        value[-1] = self.counts.n  # every user is in some bin: no error there
        return self.of_bins(value, np.arange(1, self.size + 1))

    def quantile(self, share: float, confidence: float = 0.95, *, simultaneous: bool = False) -> tuple[int, int, int]:
        """The bin where `share` of the users is reached, and the least and greatest that the confidence allows.

        The limits are those of `reached`; simultaneous ones hold for all quantiles.
        """
        wanted = checks.probability(share, "the share of a quantile", "0.5") * self.counts.n
        below = self.cumulative()
        low, high = below.interval(confidence, simultaneous=simultaneous)
        return reached(below.value[:-1], (low[:-1], high[:-1]), wanted)

    def of_bins(self, value: Reals, bins: NDArray[np.integer] | int) -> Estimate:
        """The counts of sets of so many bins, which are given, with their standard errors."""
        return like(self.counts, value, self.union_error(value, bins))

    @abstractmethod
    def union_error(self, value: Reals, bins: NDArray[np.integer] | int) -> Reals:
        """The standard error of the counts of sets of so many bins, from the counts themselves."""

    @abstractmethod
    def part_and_whole(self, part: Reals, part_bins: int, whole: Reals, whole_bins: int) -> tuple[Reals, Reals, Reals]:
        """The variances of the counts of sets of bins and of larger sets that hold them, and in the middle their covariance."""


@dataclass(frozen=True, slots=True)
class Statistics(BinStatistics):
    """Statistics of one estimated histogram.

    Formula: with s of K bins in a set S holding f of the n users, the set's count has variance
    (f q1 (1 - q1) + (n - f) q0 (1 - q0)) / (1 - g)^2, q1 = 1 - g + g s / K, q0 = g s / K.
    Legend: g = gamma of the law that is sampled.
    Reference: BBGN19, Algorithm 1.
    """

    protocol: "Histogram"
    counts: Estimate

    @property
    def law(self) -> Membership:
        return self.protocol.law

    def union_error(self, value: Reals, bins: NDArray[np.integer] | int) -> Reals:
        n, g = self.counts.n, self.protocol.gamma
        q0 = g * bins / self.protocol.size
        q1 = 1 - g + q0
        users = np.clip(value, 0, n)
        variance = (users * q1 * (1 - q1) + (n - users) * q0 * (1 - q0)) / (1 - g) ** 2
        return np.sqrt(np.maximum(variance, 0.0))

    def part_and_whole(self, part: Reals, part_bins: int, whole: Reals, whole_bins: int) -> tuple[Reals, Reals, Reals]:
        """With chances of a message instead of numbers of users.

        Formula: if a user's message is in the part with probability p and in the whole with probability q, the covariance is
        the sum over users of p (1 - q) / (1 - g)^2. Each is g s / K for s bins, and 1 - g more for users who hold one of them.
        """
        n, g = self.counts.n, self.protocol.gamma
        p, q = (g * bins / self.protocol.size for bins in (part_bins, whole_bins))
        users = np.clip(whole, 0, n)
        inside = np.clip(part, 0, users)
        both = (inside * (1 - g + p) * (g - q) + (users - inside) * p * (g - q) + (n - users) * p * (1 - q)) / (
            1 - g
        ) ** 2
        return self.union_error(part, part_bins) ** 2, np.asarray(both), self.union_error(whole, whole_bins) ** 2


def reached(below: Reals, limits: tuple[Reals, Reals], wanted: float) -> tuple[int, int, int]:
    """Between which edges so many users are reached, and the first and last place where that may be.

    The place is that of the nearest curve that never falls. Another one is possible unless the limits of the count of users below
    an edge rule it out at one of its own two edges (Woodruff 1952): limits elsewhere, which may be too high or low by chance,
    rule out nothing.
    """
    low, high = limits
    at = int(np.searchsorted(monotone(below), wanted))
    first = int(np.argmax(np.append(high, np.inf) >= wanted))
    last = len(low) - int(np.argmax(np.append(low[::-1], -np.inf) < wanted))
    return at, min(first, at), max(last, at)


def monotone(values: Reals) -> Reals:
    """The nearest sequence that never falls, by least squares: neighbours that fall become their mean.

    >>> monotone(np.array([1.0, 3.0, 2.0, 4.0])).tolist()
    [1.0, 2.5, 2.5, 4.0]
    """
    means, sizes = list[float](), list[int]()
    for value in values.tolist():
        mean, size = value, 1
        while means and means[-1] >= mean:
            before, many = means.pop(), sizes.pop()
            mean, size = (before * many + mean * size) / (many + size), many + size
        means.append(mean)
        sizes.append(size)
    return np.repeat(np.array(means), sizes)
