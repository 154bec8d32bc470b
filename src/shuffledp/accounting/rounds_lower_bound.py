"""What several rounds cost at least: one explicit pair of neighbouring datasets, the same in every round.

All other users hold x'', one holds x or x', and nothing changes from round to round. The curve of that one pair is enclosed at
many epsilons, in both directions; a law of the privacy loss whose curve is nowhere above it is composed as upper ones are, but
rounded down. docs/maths/composition.md has the proof.
"""

import math
from functools import lru_cache
from typing import Final

import numpy as np

from shuffledp.accounting.bound import TOLERANCE
from shuffledp.accounting.loss_grid import local_end, loss_grid, reach
from shuffledp.accounting.numeric import LARGEST_RATIO
from shuffledp.arithmetic.balls import exp_down, exp_up
from shuffledp.arithmetic.loss import LossLaw
from shuffledp.arithmetic.loss_points import Ends, dominated
from shuffledp.arithmetic.positive_part import log_expected_positive_part
from shuffledp.arithmetic.summand_law import ULP, Law, Summands
from shuffledp.core.blanket import Blanket
from shuffledp.core.pair import Pair

_MOST_COMPARED: Final = 4
"""Pairs of datasets that are compared before one is taken."""


@lru_cache(maxsize=64)
def pair_law(blanket: Blanket, n: int, depth: int, guess: float) -> LossLaw | None:
    """One round with one pair of datasets; None where no pair is known."""
    terms = blanket.summands(n)
    pair = _chosen(blanket, terms, guess)
    if pair is None or not isinstance(terms, int):
        return None

    def delta_up(epsilon: float) -> float:
        return max(_ends(pair.law(epsilon), terms)[1], _ends(_reverse(pair, epsilon), terms)[1])

    grid = loss_grid(delta_up, depth, guess=guess, end=local_end(blanket))
    points = sorted(
        {*grid.points, grid.points[-1] - 1}
    )  # the last at which the curve is above 0 must be close to the end
    epsilons = [k * grid.step for k in points]
    ahead = [_ends(pair.law(epsilon), terms) for epsilon in epsilons]
    behind = [_ends(_reverse(pair, epsilon), terms) for epsilon in epsilons]
    return dominated(points, ahead, behind, step=grid.step, bits=grid.bits, spare=grid.spare)


def _chosen(blanket: Blanket, n: Summands, guess: float) -> Pair | None:
    """The pair that is farthest apart at a delta of about 1e-6, of those whose messages vary most. Any would do."""
    if blanket.releases() or not isinstance(n, int):
        return None
    pairs = [pair for pair in blanket.witnesses() if pair.largest_ratio <= LARGEST_RATIO and not len(pair.bare_first)]
    some = sorted(pairs, key=lambda pair: -pair.spread)[:_MOST_COMPARED]
    if len(some) < 2:
        return some[0] if some else None
    middle = reach(lambda epsilon: _ends(some[0].law(epsilon), n)[1], 0, guess) / 2
    return max(some, key=lambda pair: _ends(pair.law(middle), n)[0])


def _reverse(pair: Pair, epsilon: float) -> Law:
    """The law of (e^-epsilon mu_x' - mu_x) / mu_x'': e^-epsilon times that of the reverse pair."""
    gain = pair.second * math.expm1(-epsilon)
    return Law(gain - pair.difference, pair.masses, np.abs(pair.difference) - gain, pair.ulps + 4)


def _ends(law: Law, n: int) -> Ends:
    """Both ends of E[(l_1 + ... + l_n)_+] / n."""
    enclosure, log_n = log_expected_positive_part(law, n, tolerance=TOLERANCE).log, math.log(n)
    low, high = (
        (end - log_n, 4 * ULP * (abs(end) + abs(log_n)) if math.isfinite(end) else 0.0)
        for end in (enclosure.lower, enclosure.upper)
    )
    return exp_down(low[0] - low[1]), min(1.0, exp_up(high[0] + high[1]))
