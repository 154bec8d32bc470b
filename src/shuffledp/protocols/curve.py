"""What people read off the estimated distribution of a number: quantiles, ranges, a curve that never falls."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.core.estimate import Estimate
from shuffledp.errors import InvalidInput
from shuffledp.protocols.statistics import Ranking, like

if TYPE_CHECKING:
    from shuffledp.protocols.distribution import Distribution

Reals = NDArray[np.float64]


class Quantile(NamedTuple):
    """The interval of the grid where a share of the users is reached, a number in it, and the limits of that number."""

    bin: int
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Curve(Ranking):
    """An estimated distribution: counts are users below each inner edge."""

    protocol: "Distribution"
    counts: Estimate

    @property
    def law(self) -> None:
        """A message belongs to several edges."""
        return

    @property
    def curve(self) -> "Curve":
        """Quantiles and ranges."""
        return self

    def top(self, count: int) -> NDArray[np.intp]:  # noqa: ARG002
        """Refused: counts below an edge have no largest."""
        raise InvalidInput("a distribution has no largest bins. Plan a histogram, or ask for quantiles or ranges.")

    def projected(self) -> Reals:
        """The nearest curve that never falls, from 0 to n: closer to the truth, but no longer unbiased."""
        return np.clip(monotone(self.counts.value), 0.0, float(self.counts.n))

    def histogram(self) -> Reals:
        """The steps of that curve: users in each interval, none negative."""
        return np.diff(self._whole(self.projected()))

    def in_range(self, first: int, last: int) -> Estimate:
        """The number of users in intervals first ... last, both included: the difference of two entries.

        Its standard error is the exact one if the users are where `histogram` has them.
        """
        size = self.protocol.grid.size
        if not 0 <= first <= last < size:
            raise InvalidInput(
                f"a range goes from one of the bins 0 to {size - 1} to the same or a later one. Check its ends."
            )
        below = self._whole(self.counts.value)
        variance = float(self.histogram() @ self.protocol.range_variances(first, last))
        return like(self.counts, np.array([below[last + 1] - below[first]]), np.array([np.sqrt(variance)]))

    def quantile(self, share: float, confidence: float = 0.95, *, simultaneous: bool = False) -> Quantile:
        """Where the nearest curve that never falls reaches `share` of the users, and the limits that the confidence allows.

        An interval of the grid is within the limits unless the curve's own limits rule it out at one of its two edges
        (Woodruff 1952); simultaneous ones hold for all quantiles.
        """
        wanted = checks.probability(share, "the share of a quantile", "0.5") * self.counts.n
        low, high = self.counts.interval(confidence, simultaneous=simultaneous)
        edges, never_falling = self.protocol.grid.edges, self._whole(self.projected())
        at = int(np.searchsorted(never_falling[1:-1], wanted))
        step = never_falling[at + 1] - never_falling[at]
        part = (wanted - never_falling[at]) / step if step > 0 else 0.5
        first = int(np.argmax(np.append(high, np.inf) >= wanted))
        last = len(low) - int(np.argmax(np.append(low[::-1], -np.inf) < wanted))
        return Quantile(
            at,
            float(edges[at] + min(max(part, 0.0), 1.0) * (edges[at + 1] - edges[at])),
            float(edges[min(first, at)]),
            float(edges[max(last, at) + 1]),
        )

    def _whole(self, inner: Reals) -> Reals:
        """With both ends, where nobody and everybody is below."""
        return np.concatenate([[0.0], inner, [float(self.counts.n)]])


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
