"""Epsilon after shuffling, and CPU seconds: the paper's bounds, the clones as others publish them, and ours.

No package on PyPI accounts for a shuffler, so the clones (Feldman, McMillan and Talwar, 2021 and 2023) are written down here as
their papers have them: the closed form, and the numbers as a sum in plain floating point, which certifies nothing.
"""

import math
import time
from collections.abc import Callable

import numpy as np
from scipy.stats import binom

from shuffledp import Generic, NoClaim, RandomizedResponse, account
from shuffledp.accounting.account import bound_named
from shuffledp.accounting.solve import Problem, solve
from shuffledp.core.blanket import HasBlanket
from shuffledp.core.digits import rounded_down, rounded_up

DELTA = 1e-6
EPSILON0 = 2.0
USERS = (10**3, 10**6, 10**8)


def clones_formula(n: int) -> float:
    """Theorem 3.1 of "Hiding among the clones" (2021), for any epsilon0-LDP randomizer."""
    e = math.exp(EPSILON0)
    if math.log(n / (16 * math.log(2 / DELTA))) < EPSILON0:
        return math.nan
    spread = 8 * math.sqrt(e * math.log(4 / DELTA) / n) + 8 * e / n
    return math.log1p((e - 1) / (e + 1) * spread)


def clones_numerically(n: int) -> float:
    """The clones of 2023, for any epsilon0-LDP randomizer: a sum over how many clones there are, and a search for epsilon."""
    p = math.exp(EPSILON0)
    share = 2 / (p + 1)
    middle, width = (n - 1) * share, 12 * math.sqrt((n - 1) * share * (1 - share)) + 20
    clones = np.arange(max(0, int(middle - width)), min(n - 1, int(middle + width)) + 1)
    mass = binom.pmf(clones, n - 1, share)

    def delta(epsilon: float) -> float:
        e = math.exp(epsilon)
        odds = (p * e - 1) / (p - e)
        least = np.floor((clones + 1) * odds / (1 + odds)) + 1  # of the first kind, for which the first law is likelier
        mine, others = binom.sf(least - 2, clones, 0.5), binom.sf(least - 1, clones, 0.5)
        return float(np.sum(mass * ((p * mine + others) - e * (mine + p * others)) / (p + 1)))

    low, high = 0.0, EPSILON0
    while high - low > 1e-5 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if delta(middle) > DELTA else (low, middle)
    return high


def bound(name: str, randomizer: HasBlanket) -> Callable[[int], float]:
    """One of ours, by name."""

    def epsilon(n: int) -> float:
        try:
            return account(randomizer, n=n, delta=DELTA, bound=name).epsilon
        except NoClaim:
            return math.nan

    return epsilon


def lower(randomizer: HasBlanket) -> Callable[[int], float]:
    """What no proof can be below."""
    return lambda n: solve(bound_named("best"), Problem(randomizer=randomizer.blanket(), n=n, delta=DELTA)).lower or 0.0


ANY, RESPONSE = Generic(epsilon0=EPSILON0), RandomizedResponse(size=10, epsilon0=EPSILON0)
ROWS: dict[str, Callable[[int], float]] = {
    "any randomizer: the paper, Hoeffding": bound("hoeffding", ANY),
    "any randomizer: clones, closed form": clones_formula,
    "any randomizer: clones, in plain floats": clones_numerically,
    "any randomizer: shuffledp": bound("best", ANY),
    "any randomizer: no proof can be below": lower(ANY),
    "10 values: the paper, Bennett": bound("bennett", RESPONSE),
    "10 values: shuffledp": bound("best", RESPONSE),
    "10 values: no proof can be below": lower(RESPONSE),
}

if __name__ == "__main__":
    for warm in ROWS.values():
        warm(1000)  # imports
    print(f"epsilon (CPU seconds); epsilon0 = {EPSILON0:g}, delta = {DELTA:g}")
    print(f"{'':42}" + "".join(f"{f'n = {n:,}':>26}" for n in USERS))
    for name, epsilon in ROWS.items():
        line = f"{name:42}"
        for n in USERS:
            start = time.process_time()
            found = epsilon(n)
            shown = rounded_down(found, 4) if name.endswith("below") else rounded_up(found, 4)
            line += f"{f'{shown} ({time.process_time() - start:.2f})':>26}"
        print(line)
