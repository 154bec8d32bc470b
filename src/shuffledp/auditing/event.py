"""Events by which two worlds are told apart, and the one with which so many trials show most."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.auditing.confidence_limits import expected_limits, lower_limit, upper_limit

Reals = NDArray[np.float64]
_THRESHOLDS: Final = 4000
"""That are looked at."""
_LUCK: Final = 2.0
"""Standard deviations in which nineteen audits of twenty are."""
_ALWAYS: Final = 1e-12
"""What happens in all trials but so many says nothing."""


@dataclass(frozen=True, slots=True)
class Event:
    """The score is at least the threshold: likelier in the first world. Reversed: at most, and likelier in the second.

    >>> Event(0.5).holds(np.array([0.0, 0.5, 1.0])).tolist()
    [False, True, True]
    """

    threshold: float
    reversed: bool = False

    def holds(self, scores: Reals) -> NDArray[np.bool_]:
        """In which outcomes it happened."""
        return np.asarray(scores <= self.threshold if self.reversed else scores >= self.threshold)


@dataclass(frozen=True, slots=True)
class Atoms:
    """Scores and how likely each is in the first and in the second world: a law, or a sample of both."""

    scores: Reals = field(repr=False)
    first: Reals = field(repr=False)
    second: Reals = field(repr=False)
    sampled: int | None = None
    """How many outcomes of each world, if it is a sample of both."""

    @classmethod
    def of_samples(cls, first: Reals, second: Reals) -> Self:
        """Of outcomes in both worlds."""
        none, some = np.zeros, np.full
        return cls(
            np.concatenate([first, second]),
            np.concatenate([some(len(first), 1 / len(first)), none(len(second))]),
            np.concatenate([none(len(first)), some(len(second), 1 / len(second))]),
            min(len(first), len(second)),
        )


class Expected(NamedTuple):
    """An event, and the epsilon that so many trials will show with it, give or take a margin, if nothing unlikely happens."""

    event: Event
    epsilon: float
    margin: float


def shown(first: int, second: int, trials: int, *, delta: float, confidence: float) -> float:
    """The epsilon below which no mechanism can be, at this confidence: (epsilon, delta)-DP says P(E) <= e^epsilon Q(E) + delta.

    Formula: log((p - delta) / q), with p the lower limit of P(E), q the upper limit of Q(E), each wrong with half of the risk.
    The two need not be independent.
    Legend: first, second = how often E happened in each world in `trials` trials of each.
    Rounding: down; 0 if nothing is shown.
    """
    error = (1 - confidence) / 2
    gap = lower_limit(first, trials, error) - delta
    if not gap > 0:
        return 0.0
    return max(0.0, math.log(gap / upper_limit(second, trials, error)) * (1 - 1e-12) - 1e-12)


def best_event(atoms: Atoms, trials: int, *, delta: float, confidence: float) -> Expected:
    """The event, in either direction, with which that many trials of each world will show the most even with a little bad luck.

    So it is not chosen by the luck of a sample, and what it will show can be told in advance: a rarer one may show
    a little more on average, and now and then much less.
    """
    best = _best(atoms, trials, delta, confidence)
    return _expected(best.event, *best.rates, trials, atoms.sampled, delta, confidence)


def most_telling(samples: Sequence[Atoms], trials: int, *, delta: float, confidence: float) -> int:
    """Which of several scores shows the most, even with a little bad luck; the first of equals."""
    return int(np.argmax([_best(atoms, trials, delta, confidence).promise for atoms in samples]))


def expected_of(event: Event, atoms: Atoms, trials: int, *, delta: float, confidence: float) -> Expected:
    """What so many trials will show with an event, by these atoms."""
    inside = event.holds(atoms.scores)
    rates = [min(1.0, float(law[inside].sum())) for law in (atoms.first, atoms.second)]
    first, second = rates[::-1] if event.reversed else rates
    return _expected(event, first, second, trials, atoms.sampled, delta, confidence)


def _expected(
    event: Event, first: float, second: float, trials: int, sampled: int | None, delta: float, confidence: float
) -> Expected:
    """By the rates of the event in the world where it is likelier, and in the other; the margin is of trials and sample."""
    often = [round(rate * trials) for rate in (first, second)]
    luck = [round(_LUCK * trials * math.sqrt(_variance(rate, trials, sampled))) for rate in (first, second)]

    def with_luck(world: int, sign: int) -> float:
        hits = [often[j] + sign * luck[j] * (j == world) for j in range(2)]
        one, other = (min(max(0, here), trials) for here in hits)
        return shown(one, other, trials, delta=delta, confidence=confidence)

    epsilon = with_luck(0, 0)
    good, bad = (math.hypot(with_luck(0, sign) - epsilon, with_luck(1, -sign) - epsilon) for sign in (1, -1))
    return Expected(event, epsilon, max(good, bad))


def _variance(rate: Any, trials: int, sampled: int | None) -> Any:
    """Of how far the rate in the trials is from the one that is known, or known from a sample."""
    if sampled is None:
        return rate * (1 - rate) / trials
    return (rate * (1 - rate) + 1 / sampled) * (1 / trials + 1 / sampled)


class _Choice(NamedTuple):
    """An event, what it promises, and how likely it is in the world where it is likelier, and in the other."""

    promise: float
    event: Event
    rates: tuple[float, float]


def _best(atoms: Atoms, trials: int, delta: float, confidence: float) -> _Choice:
    both = [_best_one_way(atoms, trials, delta, confidence, reverse=reverse) for reverse in (False, True)]
    return max(both, key=lambda one: one.promise)


def _best_one_way(atoms: Atoms, trials: int, delta: float, confidence: float, *, reverse: bool) -> _Choice:
    sign = 1.0 if reverse else -1.0
    order = np.argsort(sign * atoms.scores, kind="stable")
    scores = atoms.scores[order]
    more, less = (atoms.second, atoms.first) if reverse else (atoms.first, atoms.second)
    p, q = np.cumsum(more[order]), np.cumsum(less[order])
    last = np.flatnonzero(np.append(scores[1:] != scores[:-1], True))  # equal scores are in the event together
    if len(last) > _THRESHOLDS:  # close together where events are rare
        places = np.geomspace(1, len(last), _THRESHOLDS).astype(np.int64) - 1
        last = last[np.unique(places)]
    p, q = np.clip(p[last], 0.0, 1.0), np.clip(q[last], 0.0, 1.0)

    def shows(p: Reals, q: Reals) -> Reals:
        low, high = expected_limits(p, q, trials, (1 - confidence) / 2)
        return np.asarray(np.log(np.maximum(low - delta, 0.0) / high))

    unlucky = [np.sqrt(_variance(rate, trials, atoms.sampled)) for rate in (p, q)]
    with np.errstate(divide="ignore", invalid="ignore"):
        reached = np.where((p > 1 - _ALWAYS) & (q > 1 - _ALWAYS), -math.inf, shows(p, q))
        losses = (
            reached - shows(np.maximum(p - unlucky[0], 0.0), q),
            reached - shows(p, np.minimum(q + unlucky[1], 1.0)),
        )
        promises = np.nan_to_num(reached - np.hypot(*losses), nan=-math.inf)
    best = int(np.argmax(promises))
    return _Choice(float(promises[best]), Event(float(scores[last[best]]), reverse), (float(p[best]), float(q[best])))
