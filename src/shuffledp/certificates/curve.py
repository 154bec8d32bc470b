"""One release's delta at any epsilon, from above, in balls: a cover of two messages, or the blanket summed up on a contour."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Final

from flint import arb

from shuffledp.certificates.binary import largest
from shuffledp.certificates.binary_curve import cover
from shuffledp.certificates.effort import Effort
from shuffledp.certificates.law import Law, Pair
from shuffledp.certificates.positive_part import chernoff, contour_bound, enumerable, enumerated, thinned
from shuffledp.certificates.unverifiable import Unverifiable

_MOST_PAIRS: Final = 200
_LOSS: Final = 1e-5
"""By how much delta may grow, relatively, so that there are fewer values."""
_BELOW_CHERNOFF: Final = 30.0
"""About how far delta is below Chernoff's bound; nothing depends on it."""
_FEW_OUTCOMES: Final = 5000
_ROUGHLY: Final = 20
"""What Chernoff's bound takes, in terms of a sum."""


@dataclass(frozen=True, slots=True)
class Curve:
    """The delta of n users with one randomizer, as a function of epsilon >= 0.

    Attributes:
        law: of the randomizer.
        n: honest users.
        fineness: of the contour; a smaller one is tighter.
        effort: what it may take.
        known: points of this law and n that were evaluated before, by epsilon and fineness.
    """

    law: Law
    n: int
    fineness: float
    effort: Effort
    known: dict[tuple[float, float], arb] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.law.pairs) > _MOST_PAIRS:
            raise Unverifiable(f"the composition of randomizers with more than {_MOST_PAIRS} pairs of inputs")
        if any(len(options) > 1 for options in self.law.pairs):
            raise Unverifiable(
                "the composition of continuous Gaussian noise; what runs is a lattice, which can be verified"
            )

    def local(self) -> arb | None:
        """The epsilon of one user alone, from which on delta is 0; None if there is none."""
        if self.law.epsilon0 is not None:
            return self.law.epsilon0
        cells = [cell for pair in self._pairs for cell in pair.cells]
        if (
            self.law.dummies is not None
            or any(pair.bare for pair in self._pairs)
            or not all(v > 0 for _, v, _ in cells)
        ):
            return None
        return reduce(arb.max, [u / v for u, v, _ in cells], arb(1)).log()

    def end(self) -> float:
        """The least epsilon at which delta is 0, rounded up; infinite if there is none."""
        local = self.local()
        return math.inf if local is None else _up(local)

    def rough(self, epsilon: float) -> float:
        """Chernoff's bound, roughly: it says how far a curve must be followed."""
        growth = arb(epsilon).exp()
        worst = max(float(self._ceiling(pair, growth)) for pair in self._pairs)
        return worst + float(self.law.shortfall(self.n, growth))

    @property
    def covered(self) -> bool:
        """Whether it is one of two messages, of which all datasets are covered: that many points take little more than few."""
        return self.law.coins is not None

    def along(self, epsilons: Sequence[float]) -> list[arb]:
        """Upper bounds on delta at increasing epsilons."""
        new = [epsilon for epsilon in epsilons if epsilon < self.end() and (epsilon, 0.0) not in self.known]
        if self.law.coins is not None and new:
            growths = [arb(epsilon).exp() for epsilon in new]
            found = cover(self.law.coins, self.n - 1, growths, self.effort)
            for epsilon, delta in zip(new, found or (), strict=found is not None):
                self.known[epsilon, 0.0] = delta.min(arb(1)).upper()
        return [self.at(epsilon) for epsilon in epsilons]

    def at(self, epsilon: float) -> arb:
        """An upper bound on delta; two messages have one of their own, however fine the contour is."""
        if epsilon >= self.end():
            return arb(0)
        if (epsilon, 0.0) in self.known:
            return self.known[epsilon, 0.0]
        if (epsilon, self.fineness) not in self.known:
            covered, growth = None, arb(epsilon).exp()
            if self.law.coins is not None:
                covered = largest(self.law.coins, self.n - 1, growth, self.effort)
            if covered is not None:
                self.known[epsilon, 0.0] = covered.min(arb(1)).upper()
                return self.known[epsilon, 0.0]
            self.known[epsilon, self.fineness] = self._by_the_blanket(growth)
        return self.known[epsilon, self.fineness]

    def _by_the_blanket(self, growth: arb) -> arb:
        worst = arb(0)
        ranked = [(self._ceiling(pair, growth), pair) for pair in self._pairs]
        for ceiling, pair in sorted(ranked, key=lambda item: float(item[0]), reverse=True):
            if ceiling <= worst:
                continue
            worst = worst.max(ceiling.min(self._of(pair, growth, ceiling)))
        return (worst + self.law.shortfall(self.n, growth)).min(arb(1)).upper()

    @property
    def _pairs(self) -> list[Pair]:
        return [options[0] for options in self.law.pairs]

    def _ceiling(self, pair: Pair, growth: arb) -> arb:
        """What Chernoff's bound gives, or one user alone."""
        self.effort.spend(_ROUGHLY * len(pair.cells))
        term, crowd, bare = pair.term(growth), self.law.crowd(self.n), pair.uncovered(growth)
        ceiling = chernoff(term, crowd) / crowd.expected() + bare
        return ceiling.min(term.positive_part() + bare) if self.law.dummies is None else ceiling.min(arb(1))

    def _of(self, pair: Pair, growth: arb, ceiling: arb) -> arb:
        term, crowd = pair.term(growth), self.law.crowd(self.n)
        if enumerable(term, crowd, _FEW_OUTCOMES):
            self.effort.spend(_FEW_OUTCOMES)
            return enumerated(term, crowd) / crowd.expected() + pair.uncovered(growth)
        if term.positive and ceiling > 0:
            term = thinned(term, crowd, ceiling * crowd.expected() / _BELOW_CHERNOFF, _LOSS)
        return contour_bound(term, crowd, self.fineness, self.effort) / crowd.expected() + pair.uncovered(growth)


def _up(value: arb) -> float:
    """The double above a ball."""
    nearest = float(value.upper())
    return nearest if arb(nearest) >= value else math.nextafter(nearest, math.inf)
