"""Several collections on the same users: certified curves, composed as privacy loss distributions.

A mechanism's curve delta(epsilon) over all real epsilon determines a privacy loss distribution that dominates it. Replace-one
neighbours are symmetric, so delta(-epsilon) = 1 - e^-epsilon (1 - delta(epsilon)), and one symmetric distribution does for both
directions. Composition is Google's dp_accounting, whose FFT round-off is not certified: deltas below 1e-12 are refused.
docs/maths/composition.md has the argument.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from shuffledp.accounting.bound import Bound
from shuffledp.arithmetic.balls import exp_up
from shuffledp.arithmetic.inversion import first_real
from shuffledp.arithmetic.law import Reals
from shuffledp.core import checks
from shuffledp.core.blanket import Blanket
from shuffledp.errors import InvalidInput, NoClaim

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

SMALLEST_DELTA: Final = 1e-12
_NEGLIGIBLE: Final = 1e-17
"""Where a curve is cut off; what is left is charged as outright failure in every round."""
_MOST_LEFT: Final = 1e-3
"""If delta never becomes negligible: the most that may be left where it stops falling. More would leave nothing to claim."""
_FALLING: Final = 0.9
"""Delta still falls if twice the epsilon makes it smaller by this factor."""
_FFT_ERROR: Final = 2e-13
_FFT_ERROR_PER_ROUND: Final = 1e-16
"""Absolute error of a composed delta: measured against exact convolution at 1e3 ... 3e4 rounds, times two or more."""
_REACH_PRECISION: Final = 0.065
"""Relative precision of where a curve is cut off."""
_NODES: Final = 100
"""Points of a curve."""
_MOST_POINTS: Final = 200_000
"""Points of a distribution on the common grid."""


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
        if isinstance(self.rounds, bool) or not isinstance(self.rounds, int) or not 1 <= self.rounds <= 10**6:
            raise InvalidInput(f"rounds must be a whole number from 1 to 1e6; got {self.rounds!r}.")

    def delta_up(self, epsilon: float) -> float:
        """An upper bound on one round's delta; 1 where nothing is known."""
        claim = self.bound.claim(self.blanket, n=self.n, epsilon=epsilon, side="upper")
        return 1.0 if claim.regime is not None else min(1.0, exp_up(claim.log_delta.upper))

    def reach(self) -> float:
        """An epsilon at which one round's delta is negligible, or falls no further; not much larger than the least such."""
        high, least, at = 1e-6, 1.0, 0.0
        while (delta := self.delta_up(high)) > _NEGLIGIBLE:
            if delta < _FALLING * least:
                least, at = delta, high
            high *= 2
            if high > 300:
                if least > _MOST_LEFT:
                    raise NoClaim("no epsilon up to 300 makes one round's delta negligible. Add users or local noise.")
                return at
        return first_real(lambda e: self.delta_up(e) <= _NEGLIGIBLE, high / 2, high, precision=_REACH_PRECISION)


def compose(collections: Sequence[Collection]) -> "Composition":
    """The joint guarantee of all rounds of all collections."""
    if not collections:
        raise InvalidInput("there is nothing to compose. Give at least one collection.")
    reaches = [collection.reach() for collection in collections]
    step = max(min(reaches) / _NODES, max(reaches) / _MOST_POINTS)
    total: PrivacyLossDistribution | None = None
    slack = 0.0
    for collection, reach in zip(collections, reaches, strict=True):
        one = to_pld(collection, step=step, reach=reach)
        # delta at -infinity is the total mass: what rounding lost of it may have been loss
        slack += collection.rounds * max(0.0, 1.0 - float(one.get_delta_for_epsilon(-700.0)))
        rounds = one.self_compose(collection.rounds, tail_mass_truncation=0) if collection.rounds > 1 else one
        total = rounds if total is None else total.compose(rounds, tail_mass_truncation=0)
    rounds_in_all = sum(collection.rounds for collection in collections)
    return Composition(distribution=total, slack=slack + _FFT_ERROR + _FFT_ERROR_PER_ROUND * rounds_in_all)


def to_pld(
    collection: Collection, *, step: float | None = None, reach: float | None = None
) -> "PrivacyLossDistribution":
    """One round as a pessimistic privacy loss distribution of dp_accounting."""
    try:
        from dp_accounting.pld import pld_pmf, privacy_loss_distribution
    except ImportError:
        raise InvalidInput(
            "composition needs dp_accounting, which is not installed. Install shuffledp[composition]."
        ) from None
    reach = collection.reach() if reach is None else reach
    step = reach / _NODES if step is None else step
    last = math.ceil(reach / step)
    above = np.unique(np.round(np.linspace(0, last, min(_NODES, last) + 1)).astype(np.int64))
    deltas = np.array([collection.delta_up(float(k * step)) for k in above])
    deltas = np.minimum.accumulate(deltas)
    mirrored = -np.expm1(-above[1:] * step) + np.exp(-above[1:] * step) * deltas[1:]
    points = np.concatenate([-above[:0:-1], above])
    values = np.concatenate([mirrored[::-1], deltas])
    keep = _lower_hull(np.exp(points * step), values)
    pmf = pld_pmf.create_pmf_pessimistic_connect_dots(
        discretization=step, rounded_epsilons=points[keep], deltas=np.clip(values[keep], 0.0, 1.0)
    )
    return privacy_loss_distribution.PrivacyLossDistribution(pmf)


def _lower_hull(x: Reals, y: Reals) -> list[int]:
    """Indices of the lower convex hull of the points, (0, 1) among them; the true curve is convex, so it stays below."""
    hull: list[tuple[float, float, int]] = [(0.0, 1.0, -1)]
    for i, (px, py) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
        while len(hull) > 1 and _turns_down(hull[-2], hull[-1], px, py):
            hull.pop()
        hull.append((px, py, i))
    return [index for *_, index in hull[1:]]


def _turns_down(first: tuple[float, float, int], second: tuple[float, float, int], x: float, y: float) -> bool:
    """Whether the second point is on or above the chord from the first to (x, y)."""
    return (second[1] - first[1]) * (x - first[0]) >= (y - first[1]) * (second[0] - first[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Composition:
    """The privacy of everything together.

    Attributes:
        distribution: the composed privacy loss.
        slack: what floating point may have lost of delta: mass of the single rounds, and the FFT's error.
    """

    distribution: "PrivacyLossDistribution"
    slack: float

    def epsilon(self, delta: float) -> float:
        """An upper bound on epsilon at this delta."""
        floor = max(SMALLEST_DELTA, 2 * self.slack)
        if checks.probability(delta, "delta") < floor:
            raise NoClaim(
                f"composed deltas below {floor:.2g} are not certified: dp_accounting's FFT works in double precision. "
                "Use a larger delta or fewer rounds."
            )
        found = float(self.distribution.get_epsilon_for_delta(delta - self.slack))
        if not math.isfinite(found):
            raise NoClaim(
                "no epsilon is finite at this delta after so many rounds. Use a larger delta or fewer rounds."
            )
        return max(0.0, found) * (1 + 1e-9)

    def delta(self, epsilon: float) -> float:
        """An upper bound on delta at this epsilon."""
        found = float(self.distribution.get_delta_for_epsilon(checks.epsilon(epsilon))) * (1 + 1e-9)
        return min(1.0, max(found + self.slack, SMALLEST_DELTA))
