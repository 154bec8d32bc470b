"""Estimates from counts with noise of a shuffler, whose limits are those of the noise."""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.estimate import Estimate
from shuffledp.randomizers.geometric_noise import GeometricNoise

Reals = NDArray[np.float64]
_NORMAL: Final = NormalDist()
_LEAST_MISS: Final = 1e-300


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class NoisedEstimate(Estimate):
    """Sums of counts, less others, whose limits are those of the noise: its tails are longer than a normal law's.

    Attributes:
        noise: in one count.
        bins: how many counts each entry is the sum of; 0 where there is no noise.
        subtracted: how many others are subtracted from it.
        users: the variance of the sum that other chances add, such as that of reports that are dropped.
        scale: what the sum is divided by.
    """

    noise: GeometricNoise
    bins: NDArray[np.int64]
    subtracted: NDArray[np.int64]
    users: Reals
    scale: Reals

    def limits(self, z: float) -> tuple[Reals, Reals]:
        """Limits that hold at least as often as z standard errors of a normal law."""
        miss = max(_LEAST_MISS, math.erfc(z / math.sqrt(2)))
        if not self.users.any():
            far = self._reach(miss) / self.noise.share_kept
        else:  # half of the misses for the dummies, half for the others
            others = -_NORMAL.inv_cdf(max(_LEAST_MISS, miss / 4)) * np.sqrt(self.users)
            far = self._reach(miss / 2) / self.noise.share_kept + others
        return self.value - far / self.scale, self.value + far / self.scale

    def _reach(self, miss: float) -> Reals:
        shape = self.value.shape
        pairs = [np.broadcast_to(count, shape).ravel().tolist() for count in (self.bins, self.subtracted)]
        terms = list(zip(*pairs, strict=True))
        found = {one: self.noise.reach_of_sum(miss, *one) if any(one) else 0.0 for one in set(terms)}
        return np.array([found[one] for one in terms], dtype=np.float64).reshape(shape)


def noised_estimate(
    estimate: Estimate, noise: GeometricNoise, bins: Any, subtracted: Any = 0, *, users: Reals, scale: Any = 1.0
) -> NoisedEstimate:
    """An estimate that has the limits of its noise."""
    return NoisedEstimate(
        value=estimate.value, standard_error=estimate.standard_error, n=estimate.n, guarantee=estimate.guarantee,
        names=estimate.names, threshold=estimate.threshold, noise=noise, bins=np.asarray(bins),
        subtracted=np.asarray(subtracted), users=users, scale=np.asarray(scale),
    )  # fmt: skip
