"""What is read off counts that have noise of a shuffler, whatever else they have."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.estimate import Estimate
from shuffledp.protocols.noised_estimate import NoisedEstimate
from shuffledp.protocols.statistics import BinStatistics

Reals = NDArray[np.float64]


class _Noised(Protocol):
    """What knows the noise of its estimates."""

    def noised(self, estimate: Estimate, bins: Any = 1, *, scale: float = 1.0) -> NoisedEstimate: ...


@dataclass(frozen=True, slots=True)
class NoisedBins(BinStatistics):
    """Frequencies and sums of bins, with the limits of their noise."""

    protocol: _Noised
    counts: Estimate

    @property
    def law(self) -> None:
        """A message may be a user's or a dummy."""
        return

    def frequencies(self) -> Estimate:
        return self.protocol.noised(BinStatistics.frequencies(self), scale=float(max(1, self.counts.n)))

    def of_bins(self, value: Reals, bins: NDArray[np.integer] | int) -> Estimate:
        """All bins together have no noise: how many users there are is public."""
        terms = np.where(np.asarray(bins) == self.size, 0, bins)
        return self.protocol.noised(BinStatistics.of_bins(self, value, bins), terms)
