"""Parameters of Cheu et al.'s sum by many one-bit messages, certified by composition."""

import math
from statistics import NormalDist

from shuffledp.accounting.account import bound_named
from shuffledp.accounting.composition import SMALLEST_DELTA, Collection, compose
from shuffledp.core import checks
from shuffledp.errors import NoClaim
from shuffledp.protocols.baselines.unary import UnaryBits

_NORMAL = NormalDist()
_TRIES = 12


def unary_bits(*, n: int, epsilon: float, delta: float, low: float = 0.0, high: float = 1.0) -> UnaryBits:
    """The fewest messages within 5 % of the least error, and the least gamma for them that composition certifies (to 2 %).

    A first guess takes the shuffled bits for Gaussian; it is then proved, with a little more blanket as long as it is not.
    """
    checks.users(n)
    wanted = _gaussian_mu(checks.epsilon(epsilon, positive=True), checks.probability(delta, "delta"))
    if not SMALLEST_DELTA < delta < 0.1:
        raise NoClaim("composition is certified for deltas from 1e-12 to 0.1 only. Use one of these.")
    guesses = [guess for guess in (_guess(n, 2 ** (j / 2), wanted, low, high) for j in range(60)) if guess is not None]
    if not guesses:
        raise NoClaim("no blanket makes such messages private enough. Use more users or a larger epsilon.")
    least = min(guess.mean_squared_error(n) for guess in guesses)
    best = next(guess for guess in guesses if guess.mean_squared_error(n) <= 1.05**2 * least)
    for _ in range(_TRIES):
        collection = Collection(blanket=best.randomizer.blanket(), n=n, rounds=best.messages, bound=bound_named("best"))
        if compose([collection]).delta(epsilon) <= delta:
            return best
        more = math.ceil(best.threshold * 1.02)
        if more >= 2**64:
            break
        best = UnaryBits(messages=best.messages, threshold=more, low=low, high=high)
    raise NoClaim(
        f"composition did not certify a blanket near the Gaussian one in {_TRIES} attempts. Use a larger epsilon."
    )


def _guess(n: int, messages: float, mu: float, low: float, high: float) -> UnaryBits | None:
    """The gamma with r (1-g)^2 = mu^2 n (g/2)(1 - g/2): with u = (1-g)^2, r u = mu^2 n (1 - u) / 4."""
    r = round(messages)
    if r > 2 * math.sqrt(n) + 1:
        return None
    u = mu**2 * n / (4 * r + mu**2 * n)
    threshold = math.ceil((1 - math.sqrt(u)) * 2**64)
    return UnaryBits(messages=r, threshold=threshold, low=low, high=high) if 0 < threshold < 2**64 else None


def _gaussian_mu(epsilon: float, delta: float) -> float:
    """The mu for which a shift of a normal variable by mu standard deviations is (epsilon, delta)-DP."""
    low, high = 1e-9, 100.0
    for _ in range(200):
        mu = math.sqrt(low * high)
        reached = _NORMAL.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * _NORMAL.cdf(-mu / 2 - epsilon / mu)
        low, high = (mu, high) if reached <= delta else (low, mu)
    return low
