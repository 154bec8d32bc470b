"""How an audit goes: learn, say what it will be able to show, choose an event, and only then test it on fresh trials."""

import math
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from shuffledp.auditing.event import Atoms, Expected, best_event, expected_of, shown
from shuffledp.auditing.finding import Finding
from shuffledp.auditing.subject import Subject
from shuffledp.core import checks
from shuffledp.core.digits import counted
from shuffledp.core.document import Document
from shuffledp.errors import InvalidInput

Reals = NDArray[np.float64]
T = TypeVar("T")
CONFIDENCE: Final = 0.999
FEWEST: Final = 20
"""Trials below which nothing is shown of anything."""
_PILOT: Final = 0.2
_LONG_PILOT: Final = 0.6
"""Trials that choose the event, as a share of those that test it; more where they alone say what to expect."""
_FEWEST_PILOT: Final = 60
_LEARNING: Final = 0.1
"""Trials, or seconds, that go into learning."""
_SUREST: Final = 1 - 1e-12
_TASTE: Final = 0.08
"""The share of the seconds that goes into finding out how long a trial takes."""
_MOST_PILOT: Final = 2_000_000
"""Scores that are kept."""
_MOST_TRIALS: Final = 10**12
"""Above any that will ever be made."""
Watch = Callable[[float], None]
"""Hears which share is done."""


def conduct(
    subject: Subject, *, trials: int | None = None, seconds: float | None = None, confidence: float = CONFIDENCE,
    enough: float = 0.5, watch: Watch | None = None,
) -> Finding:  # fmt: skip
    """Audit a subject with so many trials of each world, or with as many as take about so many seconds.

    The number of trials is settled, and the event chosen, before the first trial that counts.
    """
    trials, seconds, confidence = checked_budget(trials, seconds, confidence)
    enough = checks.real(enough, "enough")
    if not 0 <= enough <= 1:
        raise InvalidInput(f"enough is a share of the claim, from 0 to 1; got {enough}. A usual choice is 0.5.")
    run = _Run(subject, watch)
    started = time.perf_counter()
    if trials is None:
        run.done = subject.learn(0, seconds=_LEARNING * (seconds or 0.0))
    else:
        run.done = subject.learn(max(FEWEST, int(_LEARNING * trials)))
    delta, law = subject.claimed.delta, subject.foreseen()
    piloting = _LONG_PILOT if law is None else _PILOT
    if trials is None:
        trials = run.affordable(seconds or 0.0, started, piloting)
    foreseen = law or subject.claimed.using_it_up()
    reach = best_event(foreseen, trials, delta=delta, confidence=confidence)
    target = enough * subject.claimed.epsilon
    needed = None if reach.epsilon >= target else _needed(foreseen, trials, target, delta, confidence)
    alone = subject.singled_out()
    size = min(max(_FEWEST_PILOT, int(piloting * trials)), _MOST_PILOT)
    pilot = run.sample(size, share=size / (size + trials))
    chosen, rest = _chosen(pilot, trials, delta, confidence)
    if law is not None:
        foretold = expected_of(reach.event, rest, trials, delta=delta, confidence=confidence)
        if any(one.epsilon - one.margin > reach.epsilon for one in (chosen, foretold)):
            # what runs is something else, so that the pilot becomes as long as where no law is known
            more = run.sample(min(int(_LONG_PILOT * trials), _MOST_PILOT), share=0.0)
            pilot = np.concatenate([pilot[0], more[0]]), np.concatenate([pilot[1], more[1]])
            chosen, _ = _chosen(pilot, trials, delta, confidence)
        else:
            chosen = reach
    event = chosen.event
    counted = run.counted(lambda scores: int(np.count_nonzero(event.holds(scores))), trials)
    hits = counted[::-1] if event.reversed else counted
    return Finding(
        name=subject.name, worlds=subject.worlds, view=subject.view, n=subject.n, claimed=subject.claimed,
        confidence=confidence, trials=trials, event=event, hits=hits, reach=reach.epsilon, expected=chosen.epsilon,
        margin=chosen.margin, piloted=chosen is not reach, learned=subject.learned,
        epsilon=shown(*hits, trials, delta=delta, confidence=confidence),
        singled_out=None if alone is None else best_event(alone, trials, delta=delta, confidence=confidence).epsilon,
        enough=enough, needed=needed, picture=_picture(pilot),
    )  # fmt: skip


def _needed(atoms: Atoms, trials: int, target: float, delta: float, confidence: float) -> int | None:
    """How many trials would show that much: at most twice as many as needed; None if more than any audit has."""
    while trials < _MOST_TRIALS:
        trials *= 2
        if best_event(atoms, trials, delta=delta, confidence=confidence).epsilon >= target:
            return trials
    return None


def _chosen(pilot: tuple[Reals, Reals], trials: int, delta: float, confidence: float) -> tuple[Expected, Atoms]:
    """The event that a third of the pilot chooses, what the rest says of it, and the rest: what chose would flatter it."""
    third = len(pilot[0]) // 3
    choosing, rest = (Atoms.of_samples(*(one[part] for one in pilot)) for part in (slice(third), slice(third, None)))
    event = best_event(choosing, trials, delta=delta, confidence=confidence).event
    return expected_of(event, rest, trials, delta=delta, confidence=confidence), rest


def checked_budget(
    trials: int | None, seconds: float | None, confidence: float
) -> tuple[int | None, float | None, float]:
    """The three as plain numbers; what no audit can be conducted with is refused before any work."""
    if (trials is None) == (seconds is None):
        raise InvalidInput("an audit has a number of trials or of seconds. Give exactly one of them.")
    trials = None if trials is None else checks.whole(trials, "trials", "Give e.g. 10000.")
    seconds = None if seconds is None else checks.real(seconds, "seconds")
    confidence = checks.real(confidence, "confidence", "up")
    if not 0.5 <= confidence <= _SUREST:
        raise InvalidInput(
            f"confidence must be at least 0.5 and at most 1 - 1e-12; got {confidence}. A usual choice is 0.999."
        )
    if trials is not None and trials < FEWEST:
        raise InvalidInput(
            f"{counted(trials, 'trial')} {'shows' if trials == 1 else 'show'} nothing. Use at least {FEWEST}, usually thousands."
        )
    if seconds is not None and not 0 < seconds < math.inf:
        raise InvalidInput(f"an audit takes a positive number of seconds; got {seconds}. Use e.g. 60.")
    return trials, seconds, confidence


class _Run:
    """Trials of one audit, numbered so that none is used twice."""

    def __init__(self, subject: Subject, watch: Watch | None) -> None:
        self._subject, self._watch, self.done = subject, watch, 0
        self._share = 0.0

    def affordable(self, seconds: float, started: float, piloting: float) -> int:
        """How many trials fit beside their pilot, by the time that has passed and a few trials take."""
        some, before, spent = FEWEST, (0, 0.0), 0.0
        while True:
            begun = time.perf_counter()
            self.sample(some, share=0.0)
            spent = time.perf_counter() - begun
            if spent > _TASTE * seconds:
                break
            some, before = 4 * some, (some, spent)
        # what each trial adds, not what every block costs once
        each = max((spent - before[1]) / (some - before[0]), spent / some / 10)
        left = max(0.0, seconds - (time.perf_counter() - started))
        return max(FEWEST, int(left / (1 + piloting) / each))

    def sample(self, trials: int, *, share: float) -> tuple[Reals, Reals]:
        """The scores of both worlds."""
        parts = list(self._each(trials, lambda scores: scores, share))
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])

    def counted(self, count: Callable[[Reals], int], trials: int) -> tuple[int, int]:
        """What is counted of each world."""
        first = second = 0
        for one, other in self._each(trials, count, 1 - self._share):
            first, second = first + one, second + other
        return first, second

    def _each(self, trials: int, take: Callable[[Reals], T], share: float) -> Iterator[tuple[T, T]]:
        """What is taken of the scores, block by block; several blocks at once where the subject allows it."""
        block, begin = max(1, self._subject.block), self.done
        self.done += trials
        before = self._share
        self._share += share
        starts = range(begin, begin + trials, block)

        def drawn(start: int) -> tuple[T, T]:
            first, second = self._subject.scores(start, min(block, begin + trials - start))
            return take(first), take(second)

        workers = (os.cpu_count() or 1) if self._subject.concurrent and len(starts) > 1 else 1
        if workers == 1:
            for number, start in enumerate(starts, start=1):
                yield drawn(start)
                self._report(before + share * number / len(starts))
            return
        with ThreadPoolExecutor(workers) as pool:
            for number, found in enumerate(pool.map(drawn, starts), start=1):
                yield found
                self._report(before + share * number / len(starts))

    def _report(self, share: float) -> None:
        if self._watch is not None:
            self._watch(min(1.0, share))


def _picture(worlds: tuple[Reals, Reals], bins: int = 60) -> Document:
    """A histogram of the scores in both worlds, with what is far out in the outermost bins."""
    low, high = (float(edge) for edge in np.quantile(np.concatenate(worlds), (0.001, 0.999)))
    edges = np.linspace(low, high if high > low else low + 1, bins + 1)
    often = [np.histogram(np.clip(scores, edges[0], edges[-1]), edges)[0] / len(scores) for scores in worlds]
    return {"edges": edges.tolist(), "first": often[0].tolist(), "second": often[1].tolist()}
