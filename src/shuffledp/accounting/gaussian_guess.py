"""What a Gaussian would need: a first guess for searches, never a claim."""

import math
from statistics import NormalDist

from shuffledp.arithmetic.inversion import last_double

_NORMAL = NormalDist()


def gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest mu for which a shift of a normal variable by mu standard deviations is (epsilon, delta)-DP."""

    def private(mu: float) -> bool:
        reached = _NORMAL.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * _NORMAL.cdf(-mu / 2 - epsilon / mu)
        return reached <= delta

    return last_double(private, 1e-9, 100.0)
