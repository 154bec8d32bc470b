"""Exact confidence limits for a probability, from how often something happened."""

import math
from statistics import NormalDist
from typing import Final

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

Reals = NDArray[np.float64]
_STEPS: Final = 200
"""Of the bisection, in the logarithm of the odds: until neighbouring doubles."""
_SLACK: Final = 1e-9
"""Relative; more than all rounding errors of a tail together, and always on the safe side."""
_NEGLIGIBLE: Final = 1e-18
_BITS: Final = 128


def lower_limit(hits: int, trials: int, error: float) -> float:
    """The Clopper-Pearson lower limit: whatever the probability is, the limit is above it with a chance of at most `error`.

    Formula: the p at which P(Binomial(trials, p) >= hits) = error; 0 without hits.
    Reference: Clopper, Pearson 1934. Rounding: down.

    >>> round(lower_limit(5, 10, 0.05), 4)
    0.2224
    """
    if hits <= 0:
        return 0.0
    if hits >= trials:
        return math.exp(math.log(error) / trials) * (1 - _SLACK)
    low, high = 0.0, hits / trials
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if upper_tail(hits, trials, middle) * (1 + _SLACK) <= error:
            low = middle
        else:
            high = middle
    return low


def upper_limit(hits: int, trials: int, error: float) -> float:
    """The upper limit: below the probability with a chance of at most `error`. Rounding: up.

    >>> round(upper_limit(0, 1000, 0.001), 6)
    0.006884
    """
    if 2 * hits > trials:
        return min(1.0, math.nextafter(1 - lower_limit(trials - hits, trials, error), 2.0))
    return _upper_limit(hits, trials, error)


def _upper_limit(hits: int, trials: int, error: float) -> float:
    """Found directly where it is small, so that no digits are lost."""
    if hits == 0:
        return -math.expm1(math.log(error) / trials) * (1 + _SLACK)
    low, high = hits / trials, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if upper_tail(trials - hits, trials, 1 - middle, complement=middle) * (1 + _SLACK) <= error:
            high = middle
        else:
            low = middle
    return high


def upper_tail(hits: int, trials: int, chance: float, *, complement: float | None = None) -> float:
    """P(Binomial(trials, chance) >= hits), for hits of at least the mean; to ten digits.

    The first term from logarithms of 128 bits, the others by their ratios, which fall.
    """
    rest = 1 - chance if complement is None else complement
    with ctx.workprec(_BITS):
        log_first = (
            arb(trials + 1).lgamma() - arb(hits + 1).lgamma() - arb(trials - hits + 1).lgamma()
            + hits * arb(chance).log() + (trials - hits) * arb(rest).log()
        )  # fmt: skip
        first = float(log_first.exp())
    odds, total, term, done = chance / rest, 1.0, 1.0, hits
    while done < trials and term > _NEGLIGIBLE * total:
        numbers = np.arange(done, min(trials, done + 4096), dtype=np.float64)
        terms = term * np.cumprod((trials - numbers) / (numbers + 1) * odds)
        total += float(terms.sum())
        term, done = float(terms[-1]), done + len(numbers)
    return first * total


def expected_limits(first: Reals, second: Reals, trials: int, error: float) -> tuple[Reals, Reals]:
    """About the lower limit of one probability and the upper limit of another, if all goes as expected: for searches only.

    Reference: Wilson 1927.
    """
    z = NormalDist().inv_cdf(1 - error)
    return _wilson(first, trials, -z), _wilson(second, trials, z)


def _wilson(chance: Reals, trials: int, z: float) -> Reals:
    middle, spread = chance + z * z / (2 * trials), chance * (1 - chance) / trials + (z / (2 * trials)) ** 2
    return np.asarray(np.clip((middle + z * np.sqrt(np.maximum(spread, 0.0))) / (1 + z * z / trials), 0.0, 1.0))
