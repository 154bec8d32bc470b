"""What a Gaussian would need: a first guess for searches, never a claim."""

import math
from statistics import NormalDist

from shuffledp.arithmetic.inversion import first_real, last_double

_NORMAL = NormalDist()
_FARTHEST = 37.0
"""Standard deviations beyond which a double has no tail left."""


def gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest mu for which a shift of a normal variable by mu standard deviations is (epsilon, delta)-DP."""

    def private(mu: float) -> bool:
        reached = _NORMAL.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * _NORMAL.cdf(-mu / 2 - epsilon / mu)
        return reached <= delta

    return last_double(private, 1e-9, 100.0)


def deviations(delta: float, *, spread: float | None = None, mean: float | None = None) -> float:
    """How many standard deviations below 0 the mean of a normal variable is whose positive part is delta on average.

    Given is its standard deviation, or how far below 0 its mean is: the other follows.
    Formula: s (phi(z) - z Q(z)) = delta, with s = spread or mean / z.
    """

    def small(z: float) -> bool:
        scale = spread if spread is not None else (mean or 0.0) / z
        return scale * _positive_part(z) <= delta

    return first_real(small, 1e-9, _FARTHEST, precision=1e-4)


def steepness(z: float) -> float:
    """How much log delta falls with the logarithm of the mean, z standard deviations below 0."""
    return z * _tail(z) / _positive_part(z)


def _positive_part(z: float) -> float:
    return _NORMAL.pdf(z) - z * _tail(z)


def _tail(z: float) -> float:
    return 0.5 * math.erfc(z / math.sqrt(2))


def gaussian_gamma(share: float, overlap: float, n: int, mu: float) -> float:
    """The gamma of a design response whose shuffled messages are about mu-Gaussian private.

    Formula: 2 (s - o) (1 - g)^2 / (n g s^2) = mu^2. Legend: s = share, o = overlap of two values' messages, g = gamma.
    """
    a = 2 * (share - overlap) / (share**2 * n * mu**2)
    return 2 * a / (2 * a + 1 + math.sqrt(4 * a + 1))


def share_of_budget(epsilon: float, delta: float, releases: int) -> float:
    """About the epsilon of one of so many equal releases that together are (epsilon, delta)-DP: their mu^2 add up."""
    mu = gaussian_mu(epsilon, delta) / math.sqrt(releases)
    return first_real(lambda share: gaussian_mu(share, delta) >= mu, 1e-9, epsilon, precision=1e-3)
