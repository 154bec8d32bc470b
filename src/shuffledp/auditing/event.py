"""Events by which two worlds are told apart, and the one with which so many trials show most."""

import math
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.auditing.intervals import expected_limits, lower_limit, upper_limit

Reals = NDArray[np.float64]
_THRESHOLDS: Final = 4000
"""That are looked at."""
_CAUTION: Final = 2.0
"""Standard deviations by which rates of a sample are taken to be worse than they look, so that no event is chosen by chance."""


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
    """An event, and the epsilon that so many trials will show with it, if nothing unlikely happens."""

    event: Event
    epsilon: float


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
    """The event, in either direction, with which that many trials of each world are expected to show the most."""
    found = [_best(atoms, trials, delta, confidence, reverse=reverse) for reverse in (False, True)]
    return max(found, key=lambda one: one.epsilon)


def expected_of(event: Event, atoms: Atoms, trials: int, *, delta: float, confidence: float) -> Expected:
    """What so many trials will show with an event, by these atoms."""
    inside = event.holds(atoms.scores)
    rates = [float(law[inside].sum()) for law in (atoms.first, atoms.second)]
    first, second = rates[::-1] if event.reversed else rates
    hits = round(first * trials), round(second * trials)
    return Expected(event, shown(*hits, trials, delta=delta, confidence=confidence))


def _best(atoms: Atoms, trials: int, delta: float, confidence: float, *, reverse: bool) -> Expected:
    sign = 1.0 if reverse else -1.0
    order = np.argsort(sign * atoms.scores, kind="stable")
    scores = atoms.scores[order]
    more, less = (atoms.second, atoms.first) if reverse else (atoms.first, atoms.second)
    p, q = np.cumsum(more[order]), np.cumsum(less[order])
    last = np.flatnonzero(np.append(scores[1:] != scores[:-1], True))  # equal scores are in the event together
    if atoms.sampled is not None:
        p, q = p - _CAUTION * np.sqrt(p / atoms.sampled), q + _CAUTION * np.sqrt(q / atoms.sampled) + 1 / atoms.sampled
    if len(last) > _THRESHOLDS:  # close together where events are rare
        places = np.geomspace(1, len(last), _THRESHOLDS).astype(np.int64) - 1
        last = last[np.unique(places)]
    if not len(last):
        return Expected(Event(scores[0] if len(scores) else 0.0, reverse), 0.0)
    p, q = np.clip(p[last], 0.0, 1.0), np.clip(q[last], 0.0, 1.0)
    low, high = expected_limits(p, q, trials, (1 - confidence) / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        reached = np.where(low > delta, np.log((low - delta) / high), -math.inf)
    best = int(np.argmax(reached))
    event = Event(float(scores[last[best]]), reverse)
    first, second = (round(float(one[best]) * trials) for one in (p, q))
    return Expected(event, shown(first, second, trials, delta=delta, confidence=confidence))
