"""How accurate any private one-message protocol for a sum can be."""

import math

from flint import arb

from shuffledp.arithmetic.balls import evaluate
from shuffledp.arithmetic.inversion import first_integer
from shuffledp.core import checks
from shuffledp.errors import InvalidInput


def summation_error_floor(*, n: int, epsilon: float, delta: float, tightened: bool = False) -> float:
    """A lower bound on the worst-case mean squared error of estimating a sum of n values in [0, 1].

    Formula: MSE >= n K min(e^-epsilon / (8 K^3), (1 - 1/K^2) (1/2 - delta) / (48 n)) with K = ceil(n^(1/3)).
    The display holds for every integer K >= 1, and `tightened` takes the best of them.
    Regime: every (epsilon, delta)-DP protocol with one message per user in the shuffle model; delta < 1/2.
    Reference: BBGN19, Theorem 4.2.
    Rounding: down.

    >>> round(summation_error_floor(n=1_000_000, epsilon=1.0, delta=1e-6), 4)
    1.0416
    """
    n, epsilon, delta = checks.users(n), checks.epsilon(epsilon, side="up"), checks.real(delta, "delta", "up")
    if not 0 <= delta < 0.5:
        raise InvalidInput(f"delta must be at least 0 and below 1/2 for Theorem 4.2; got {delta}. Use a smaller delta.")

    def at(intervals: int) -> float:
        def formula() -> arb:
            k = arb(intervals)
            local = (-arb(epsilon)).exp() / (8 * k**3)
            spread = (1 - 1 / k**2) * (arb(0.5) - arb(delta)) / (48 * n)
            return n * k * local.min(spread)

        return max(0.0, evaluate(formula).lower)

    cube_root = round(n ** (1 / 3))
    paper = next(k for k in range(max(1, cube_root - 2), cube_root + 4) if k**3 >= n)
    if not tightened:
        return at(paper)
    # The first term falls and the second grows with K: the best K is next to where they meet.
    most = 2 + math.ceil((6 * n / (0.5 - delta)) ** (1 / 3))
    falling = first_integer(lambda k: at(k + 1) <= at(k), 1, most)
    return max(at(k) for k in {paper, falling - 1, falling, falling + 1})
