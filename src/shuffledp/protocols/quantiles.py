"""What people read off the estimated distribution of a number: quantiles, ranges, a curve that never falls."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.core.estimate import Estimate
from shuffledp.errors import InvalidInput
from shuffledp.protocols.statistics import Ranking, like, monotone, reached

if TYPE_CHECKING:
    from shuffledp.protocols.cumulative import Cumulative

Reals = NDArray[np.float64]


QUARTILES: Final = (0.25, 0.5, 0.75)
"""Which are read off a distribution if nothing else is asked for, and whose errors are forecast."""


class Quantile(NamedTuple):
    """The interval of the grid where a share of the users is reached, a number in it, and the limits of that number."""

    bin: int
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Curve(Ranking):
    """An estimated distribution: counts are users below each inner edge."""

    protocol: "Cumulative"
    counts: Estimate
    usual_quantiles: ClassVar[tuple[float, ...]] = QUARTILES

    @property
    def law(self) -> None:
        """A message belongs to several edges."""
        return

    @property
    def curve(self) -> "Curve":
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
        size = self.protocol.domain.size
        if not 0 <= first <= last < size:
            raise InvalidInput(
                f"a range goes from one of the bins 0 to {size - 1} to the same or a later one. Check its ends."
            )
        below = self._whole(self.counts.value)
        variance = self.protocol.range_variance(first, last, self.histogram())
        return like(self.counts, np.array([below[last + 1] - below[first]]), np.array([np.sqrt(variance)]))

    def quantile(self, share: float, confidence: float = 0.95, *, simultaneous: bool = False) -> Quantile:
        """Where the nearest curve that never falls reaches `share` of the users, and the limits that the confidence allows.

        The limits are those of `reached`; simultaneous ones hold for all quantiles.
        """
        wanted = checks.probability(share, "the share of a quantile", "0.5") * self.counts.n
        low, high = self.counts.interval(confidence, simultaneous=simultaneous)
        edges, never_falling = self.protocol.domain.edges, self._whole(self.projected())
        at, first, last = reached(self.counts.value, (low, high), wanted)
        step = never_falling[at + 1] - never_falling[at]
        part = (wanted - never_falling[at]) / step if step > 0 else 0.5
        return Quantile(
            at,
            float(edges[at] + min(max(part, 0.0), 1.0) * (edges[at + 1] - edges[at])),
            float(edges[first]),
            float(edges[last + 1]),
        )

    def _whole(self, inner: Reals) -> Reals:
        """With both ends, where nobody and everybody is below."""
        return np.concatenate([[0.0], inner, [float(self.counts.n)]])
