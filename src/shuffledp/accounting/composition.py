"""Several collections on the same users: certified curves, composed as laws of the privacy loss in whole numbers.

A mechanism's curve delta(epsilon) over all real epsilon is below that of a law of the privacy loss (`arithmetic/dots.py`), and so
is whatever is composed of it below what is composed of the law (`arithmetic/loss.py`), also if rounds are chosen adaptively.
Replace-one neighbours are symmetric, so delta(-epsilon) = 1 - e^-epsilon (1 - delta(epsilon)), and one law does for both
directions. Convolutions are exact and everything else rounds up. docs/maths/composition.md has the proofs.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from shuffledp.accounting.bound import Bound
from shuffledp.accounting.solve import Problem, first_guess
from shuffledp.arithmetic.balls import exp_up, round_up
from shuffledp.arithmetic.dots import dominating
from shuffledp.arithmetic.inversion import first_real
from shuffledp.arithmetic.loss import LossLaw
from shuffledp.core import checks
from shuffledp.core.blanket import Blanket
from shuffledp.errors import InvalidInput, NoClaim

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

MOST_ROUNDS: Final = 10**9
_NEGLIGIBLE_BITS: Final = 56
"""A curve is cut off where it is below 2^-56; what is left is charged as outright failure in every round."""
_DEEPEST: Final = 4
"""Each depth doubles these bits, for deltas that are smaller still: down to 2^-896."""
_BITS_BEYOND: Final = 72
"""Of masses, beyond those of the cut."""
_SPARE_BITS: Final = 16
"""What a convolution may cut off is so many bits below the cut."""
_MOST_CHARGED: Final = 1e-3
"""Share of delta that may be charged as outright failure before a deeper cut is tried."""
_MOST_LEFT: Final = 1e-3
"""If delta never becomes negligible: the most that may be left where it stops falling. More would leave nothing to claim."""
_FALLING: Final = 0.9
"""Delta still falls if twice the epsilon makes it smaller by this factor."""
_REACH_PRECISION: Final = 0.065
"""Relative precision of where a curve is cut off."""
_NODES: Final = 120
"""Points of a curve up to where it is cut off at first, and again beyond it for deeper cuts."""
_STEPS_PER_NODE: Final = 4
"""At least so many: nodes are on a grid of a power of two, so that all grids fit together, and still almost evenly spaced."""
_NEAREST, _FARTHEST = 1e-12, 300.0
"""Where a curve may be cut off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """The same n users report once in each of several rounds.

    Attributes:
        blanket: of the randomizer.
        n: honest reports in each round.
        rounds: how often the same users report with fresh randomness.
        bound: the certified bound whose curve is used.
    """

    blanket: Blanket
    n: int
    rounds: int
    bound: Bound

    def __post_init__(self) -> None:
        if isinstance(self.rounds, bool) or not isinstance(self.rounds, int) or not 1 <= self.rounds <= MOST_ROUNDS:
            raise InvalidInput(f"rounds must be a whole number from 1 to 1e9; got {self.rounds!r}.")

    def law(self, depth: int = 0) -> LossLaw:
        """One round: a law of the privacy loss whose curve is above the bound's."""
        return _one_round(replace(self, rounds=1), depth)

    def delta_up(self, epsilon: float) -> float:
        """An upper bound on one round's delta; 1 where nothing is known."""
        claim = self.bound.claim(self.blanket, n=self.n, epsilon=epsilon, side="upper")
        return 1.0 if claim.regime is not None else min(1.0, exp_up(claim.log_delta.upper))

    def reach(self, depth: int = 0) -> float:
        """An epsilon at which one round's delta is negligible, or falls no further; not much larger than the least such."""
        negligible = 2.0 ** -(_NEGLIGIBLE_BITS << depth)
        high = min(first_guess(Problem(randomizer=self.blanket, n=self.n, delta=negligible)), _FARTHEST) / 3
        while high > _NEAREST and self.delta_up(high) <= negligible:
            high /= 4
        least, at = 1.0, high
        while (delta := self.delta_up(high)) > negligible:
            if delta < _FALLING * least:
                least, at = delta, high
            high *= 2
            if high > _FARTHEST:
                if least > _MOST_LEFT:
                    raise NoClaim("no epsilon up to 300 makes one round's delta negligible. Add users or local noise.")
                return at
        found = first_real(lambda e: self.delta_up(e) <= negligible, high / 2, high, precision=_REACH_PRECISION)
        epsilon0 = self.blanket.epsilon0()
        return found if epsilon0 is None else min(found, round_up(epsilon0))


@lru_cache(maxsize=256)
def _one_round(collection: Collection, depth: int) -> LossLaw:
    near = collection.reach()
    far = near if depth == 0 else max(near, collection.reach(depth))
    step = 2.0 ** math.floor(math.log2(near / (_NODES * _STEPS_PER_NODE)))
    points = nodes(near, step)
    if far > near:
        points = [*points, *(points[-1] + k for k in nodes(far - near, step)[1:])]
    deltas = np.minimum.accumulate([collection.delta_up(k * step) for k in points]).tolist()
    cut = _NEGLIGIBLE_BITS << depth
    bits = cut + _BITS_BEYOND
    return dominating(points, deltas, step=step, bits=bits, spare=1 << (bits - cut - _SPARE_BITS))


def nodes(reach: float, step: float) -> list[int]:
    """Multiples of a step, 0 first, almost evenly spaced, the last one at or beyond the reach."""
    last = math.ceil(reach / step)
    return [int(k) for k in np.unique(np.round(np.linspace(0, last, min(_NODES, last) + 1)))]


def compose(collections: Sequence[Collection]) -> "Composition":
    """The joint guarantee of all rounds of all collections."""
    if not collections:
        raise InvalidInput("there is nothing to compose. Give at least one collection.")
    together = Composition(collections=tuple(collections))
    together.law(0)
    return together


def to_pld(collection: Collection) -> "PrivacyLossDistribution":
    """One round as a pessimistic privacy loss distribution of Google's dp_accounting, to be composed with others there."""
    try:
        from dp_accounting.pld import pld_pmf, privacy_loss_distribution
    except ImportError:
        raise InvalidInput("dp_accounting is not installed. Install the package dp-accounting.") from None
    law = collection.law()
    unit = 2.0**-law.bits
    masses = np.array([float(int(mass)) * unit for mass in law.masses])
    pmf = pld_pmf.DensePLDPmf(law.step, law.first, masses, law.infinite * unit, pessimistic_estimate=True)
    return privacy_loss_distribution.PrivacyLossDistribution(pmf)


@dataclass(frozen=True, slots=True, kw_only=True)
class Composition:
    """The privacy of everything together.

    Attributes:
        collections: what is composed.
    """

    collections: tuple[Collection, ...]
    _laws: dict[int, LossLaw] = field(default_factory=dict, repr=False, compare=False)

    def law(self, depth: int) -> LossLaw:
        """The law of the whole loss, of curves that are cut off at this depth."""
        if depth not in self._laws:
            each = (part.law(depth).power(part.rounds) for part in self.collections)
            total = next(each)
            for law in each:
                total = total.times(law)
            self._laws[depth] = total
        return self._laws[depth]

    @property
    def rounds(self) -> int:
        """Of all collections."""
        return sum(part.rounds for part in self.collections)

    def epsilon(self, delta: float) -> float:
        """An upper bound on epsilon at this delta."""
        checks.probability(delta, "delta")
        found = self._deep_enough(lambda _: delta).epsilon(delta)
        if found is None:
            raise NoClaim(
                "no epsilon is finite at this delta after so many rounds. Use a larger delta or fewer rounds."
            )
        return found

    def delta(self, epsilon: float) -> float:
        """An upper bound on delta at this epsilon."""
        checks.epsilon(epsilon)
        return self._deep_enough(lambda law: law.delta(epsilon)).delta(epsilon)

    def _deep_enough(self, delta: Callable[[LossLaw], float]) -> LossLaw:
        """The law of the first depth at which little of delta is charged for the cut; the last one tried if none is."""
        for depth in range(_DEEPEST + 1):
            law = self.law(depth)
            charged, cut = law.infinite * 2.0**-law.bits, 2.0 ** -(_NEGLIGIBLE_BITS << depth)
            falls_no_further = charged > 2 * self.rounds * cut
            if charged <= _MOST_CHARGED * delta(law) or falls_no_further:
                break
        return law
