"""Several messages per person, each shuffled apart, or several rounds: as many releases, composed."""

import math
from collections import Counter
from functools import lru_cache

from shuffledp.accounting.bound import Bound, Claim, outside
from shuffledp.accounting.composition import ROUNDING, Collection, Composition, compose
from shuffledp.accounting.loss_grid import NODES
from shuffledp.arithmetic.balls import log_up
from shuffledp.arithmetic.enclosure import Enclosure
from shuffledp.arithmetic.loss import FINE
from shuffledp.core.blanket import Blanket
from shuffledp.errors import NoClaim


def composed_claim(blanket: Blanket, bound: Bound, *, n: int, epsilon: float) -> Claim:
    """An upper bound on the delta of all releases of a blanket together; there is no lower one."""
    try:
        delta = composition(blanket, n, bound).delta(epsilon)
    except NoClaim as error:
        return outside(str(error))
    if delta >= 1:
        return outside("the bound exceeds delta = 1 here and so says nothing. Use more users or a larger epsilon.")
    return Claim(log_delta=Enclosure(-math.inf, log_up(delta)), upper_by="composition")


def excess(together: Composition, delta: float, epsilon: float) -> float:
    """How far the epsilon of all releases at this delta is above the one allowed, in logarithms; infinite if there is none."""
    try:
        composed = together.epsilon(delta)
    except NoClaim:
        return math.inf
    if composed <= 0:
        return -math.inf
    return 0.0 if composed == epsilon else math.log(composed / epsilon) + ROUNDING


@lru_cache(maxsize=32)
def composition(blanket: Blanket, n: int, bound: Bound, rounds: int = 1) -> Composition:
    """So many rounds with the same people."""
    return compose(releases(blanket, n, bound, rounds))


def releases(blanket: Blanket, n: int, bound: Bound, rounds: int) -> list[Collection]:
    """What so many rounds are composed of, each by this bound; parts of one law are rounds of one collection."""
    apart = blanket.releases()
    if not apart:
        return [Collection(blanket=blanket, n=n, rounds=rounds, bound=bound)]
    fine = 4 * FINE if rounds == 1 else FINE  # few releases forgive less than many rounds
    return [
        Collection(blanket=part, n=n, rounds=rounds * times, bound=bound, nodes=2 * NODES, fine=fine)
        for part, times in Counter(apart).items()
    ]
