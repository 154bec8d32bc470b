"""Proving (epsilon, delta) for one release: whichever of the methods is enough."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from flint import arb

from shuffledp.certificates.binary import covered
from shuffledp.certificates.composition import composed_delta, releases
from shuffledp.certificates.cushion import cushioned_delta
from shuffledp.certificates.effort import Effort
from shuffledp.certificates.law import Law, Pair
from shuffledp.certificates.positive_part import Crowd, chernoff, contour_bound, enumerable, enumerated, thinned

_FINENESS: Final = (0.02, 0.005, 0.00125, 0.0003)
"""Of the contour: coarse ones are quick and often enough."""
METHODS: Final = {
    "alone": "what one user sends is that private on its own",
    "outcomes": "all that can be seen of one user, summed up",
    "coins": "a cover of all datasets of two messages",
    "blanket": "the privacy blanket, summed up on a contour",
    "cushion": "mixed crowds with a cushion, block by block, summed up on contours",
    "releases": "the curve of each release, composed on a contour",
}
_UNCOVERED: Final = 1e-5
"""The part of delta that messages outside a measure may cost, where there is a choice."""
_LOSS, _ROUGH_LOSS = 1e-5, 1e-3
"""By how much delta may grow, relatively, so that there are fewer values: in a proof, and in looking for a good measure."""
_ROUGHLY, _OUTCOMES = 20, 100_000
"""What Chernoff's bound, and listing all outcomes, take in terms of a sum."""


@dataclass(frozen=True, slots=True)
class Proof:
    """By which method, or how far the last one got.

    Attributes:
        method: a key of METHODS; None if the claim was not reached.
        reached: then a delta that is proved, rounded up; None if there is none below 1.
    """

    method: str | None
    reached: float | None = None


def prove(law: Law, n: int, epsilon: float, delta: float, effort: Effort | None = None) -> Proof:
    """Whether n users are (epsilon, delta)-private."""
    effort = effort or Effort()
    growth = arb(epsilon).exp()
    shortfall = law.shortfall(n, growth)
    target = arb(delta) - shortfall
    if law.epsilon0 is not None and arb(epsilon) >= law.epsilon0:
        return Proof("alone")
    if law.crowd_free:
        reached = max((_alone(options, growth) for options in law.pairs), key=float)
        return Proof("outcomes") if reached <= target else Proof(None, _up(reached))
    if law.dummies is None and all(_alone(options, growth) <= target for options in law.pairs):
        return Proof("alone")
    if law.coins is not None and covered(law.coins, n - 1, growth, target, effort):
        return Proof("coins")
    crowd, reached = law.crowd(n), arb(0)
    for measures, ceiling in _hardest_first(law.pairs, crowd, growth, target, effort):
        enough = target.max(reached)
        if ceiling <= enough:
            continue
        delta_of_pair = arb(1)
        for pair in measures:
            delta_of_pair = delta_of_pair.min(_delta(pair, crowd, growth, enough, effort))
            if delta_of_pair <= enough:
                break
        reached = reached.max(delta_of_pair)
    if reached <= target:
        return Proof("blanket")
    return _by_mixed_crowds(law, n, epsilon, target, reached + shortfall, effort)


def _by_mixed_crowds(law: Law, n: int, epsilon: float, target: arb, reached: arb, effort: Effort) -> Proof:
    """Where the blanket is not enough: by what others than the blanket hide, for channels of few inputs."""
    cushioned = cushioned_delta(law.rows, n, epsilon, target, effort) if law.rows else arb(1)
    if cushioned <= target:
        return Proof("cushion")
    worst = _up(cushioned.min(reached))
    return Proof(None, worst if worst < 1 else None)


def prove_composed(law: Law, n: int, rounds: int, epsilon: float, delta: float, effort: Effort | None = None) -> Proof:
    """Whether n users are (epsilon, delta)-private who send several messages that are shuffled apart, or in several rounds."""
    composed = composed_delta(releases(law, rounds), n, epsilon, arb(delta), effort or Effort())
    if composed <= arb(delta):
        return Proof("releases")
    worst = _up(composed)
    return Proof(None, worst if worst < 1 else None)


def _alone(options: Sequence[Pair], growth: arb) -> arb:
    """What one user's own messages give away, whatever the measure; a measure with more uncovered messages is only worse."""
    ends = [
        pair.term(growth).positive_part() + pair.uncovered(growth)
        for pair in {id(pair): pair for pair in (options[0], options[len(options) - 1])}.values()
    ]
    return ends[0].min(ends[-1])


def _hardest_first(
    pairs: Sequence[Sequence[Pair]], crowd: Crowd, growth: arb, target: arb, effort: Effort
) -> list[tuple[Iterable[Pair], arb]]:
    """The measures to try for every pair, and Chernoff's bound under the first of them; the largest of these first."""
    ranked: list[tuple[Iterable[Pair], arb]] = []
    for options in pairs:
        first = options[_first_below(options, growth, _UNCOVERED * target)]
        effort.spend(_ROUGHLY * len(first.cells))
        ceiling = chernoff(first.term(growth), crowd) / crowd.expected() + first.uncovered(growth)
        ranked.append((_measures(first, options, crowd, growth, target, effort), ceiling))
    return sorted(ranked, key=lambda item: _log(item[1]), reverse=True)


def _first_below(options: Sequence[Pair], growth: arb, most: arb) -> int:
    """The first of measures, which leave less and less uncovered, that leaves no more than so much; the last if none does."""
    low, high = 0, len(options) - 1
    while low < high:
        middle = (low + high) // 2
        if options[middle].uncovered(growth) <= most:
            high = middle
        else:
            low = middle + 1
    return low


def _measures(
    first: Pair, options: Sequence[Pair], crowd: Crowd, growth: arb, target: arb, effort: Effort
) -> Iterator[Pair]:
    """One that leaves next to nothing uncovered, and if that is not enough and there are others, the best of those."""
    yield first
    if len(options) > 1:
        yield _best_measure(options, crowd, growth, target, effort)


def _best_measure(options: Sequence[Pair], crowd: Crowd, growth: arb, target: arb, effort: Effort) -> Pair:
    """The measure with the least bound among those that leave less and less uncovered: it falls and rises again."""

    def bound(pair: Pair) -> float:
        term, rest = pair.term(growth), target - pair.uncovered(growth)
        if term.positive and rest > 0:
            term = thinned(term, crowd, rest * crowd.expected(), _ROUGH_LOSS)
        return _log(contour_bound(term, crowd, _FINENESS[1], effort) / crowd.expected() + pair.uncovered(growth))

    low, high = (_first_below(options, growth, share * target) for share in (1.0, _UNCOVERED))
    while low < high:
        middle = (low + high) // 2
        if bound(options[middle]) <= bound(options[middle + 1]):
            high = middle
        else:
            low = middle + 1
    return options[low]


def _log(value: arb) -> float:
    return float(value.log().mid()) if value > 0 else -math.inf


def _delta(pair: Pair, crowd: Crowd, growth: arb, target: arb, effort: Effort) -> arb:
    """An upper bound on delta, refined until it is at most the target, or seems not to get there."""
    term, extra = pair.term(growth), pair.uncovered(growth)
    if enumerable(term, crowd):
        effort.spend(_OUTCOMES)
        return enumerated(term, crowd) / crowd.expected() + extra
    term = (
        thinned(term, crowd, (target - extra) * crowd.expected(), _LOSS) if term.positive and target > extra else term
    )
    best, gain = arb(1), arb(1)
    for fineness in _FINENESS:
        delta = contour_bound(term, crowd, fineness, effort) / crowd.expected() + extra
        gain, best = best - delta, delta
        # smoothing costs no more than in proportion to its width, so that what is left is about a third of the gain
        if best <= target or (fineness < _FINENESS[0] and best - gain > target):
            break
    return best


def _up(value: arb) -> float:
    """The double above a ball."""
    nearest = float(value.upper())
    return nearest if arb(nearest) >= value else math.nextafter(nearest, math.inf)
