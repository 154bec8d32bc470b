"""Audits at full size: randomized response among 1,000 users at epsilon 1, the n - 1 attack, planted errors, whatever is shipped.

python benchmarks/bench_audit.py [DELTA]   a quarter of an hour on two cores; CPU seconds are printed because machines are shared
"""

import sys
import time
from itertools import product
from typing import Any

from shuffledp import RandomizedResponse, audit, calibrate
from shuffledp.auditing.crowd import Crowd
from shuffledp.auditing.event import best_event
from shuffledp.auditing.finding import Finding
from shuffledp.auditing.inputs import of_randomizer
from shuffledp.baselines.registry import protocols
from shuffledp.errors import ShuffledpError
from shuffledp.randomizers.registry import RANDOMIZERS

DELTA = float(sys.argv[1]) if len(sys.argv) > 1 else 1e-6
TRIALS = {2: 8_000_000, 10: 4_000_000, 100: 2_000_000}
"""By the number of values: at delta = 1e-6 enough for 60 % of epsilon = 1."""
SHIPPED = ((30, 1e-2, 400_000), (200, 1e-3, 50_000))
"""Users, delta and trials, for whatever is shipped."""


def line(name: str, found: Finding, started: tuple[float, float]) -> str:
    """What was found and what it took."""
    cpu, wall = time.process_time() - started[0], time.perf_counter() - started[1]
    share = found.epsilon / found.claimed.epsilon
    return (
        f"{name:34} claimed {found.claimed.epsilon:7.4f}  in reach {found.reach:7.4f}  shown {found.epsilon:7.4f} "
        f"({100 * share:3.0f} %)  {found.verdict:13} {found.trials:9,} trials  {cpu:6.1f} s CPU  {wall:6.1f} s"
    )


class TooThin:
    """Claims what one randomizer does, and samples by another."""

    def __init__(self, stated: RandomizedResponse, real: RandomizedResponse) -> None:
        self._stated, self._real = stated.as_run(), real.as_run()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stated, name)

    def randomize(self, *given: Any, **more: Any) -> Any:
        """By the other."""
        return self._real.randomize(*given, **more)


def planted(n: int, delta: float, share: float, trials: int = 500_000) -> tuple[Finding, float]:
    """An audit of a randomizer that answers at random only this share as often as claimed, and what it is foreseen to show."""
    epsilon0 = calibrate(RandomizedResponse.family(size=4), n=n, epsilon=1.0, delta=delta)
    stated = RandomizedResponse(size=4, epsilon0=epsilon0)
    real = RandomizedResponse(size=4, gamma=share * stated.gamma)
    thin: Any = TooThin(stated, real)
    found = audit(thin, n=n, delta=delta, epsilon=1.0, trials=trials)
    law = Crowd(of_randomizer(real.as_run()), n=n, claimed=found.claimed, trials=trials).foreseen()
    advance = best_event(law, trials, delta=delta, confidence=found.confidence).epsilon if law is not None else 0.0
    return found, advance


def main() -> None:
    """Print a line for each audit."""
    print(f"99.9 % confidence; randomized response, n = 1,000, delta = {DELTA:g}")
    for size, trials in TRIALS.items():
        epsilon0 = calibrate(RandomizedResponse.family(size=size), n=1000, epsilon=1.0, delta=DELTA)
        randomizer = RandomizedResponse(size=size, epsilon0=epsilon0)
        started = time.process_time(), time.perf_counter()
        found = audit(randomizer, n=1000, delta=DELTA, trials=trials)
        print(line(f"{size} values", found, started), flush=True)
        started = time.process_time(), time.perf_counter()
        found = audit(randomizer, n=1000, delta=DELTA, known=999, trials=100_000)
        print(line(f"{size} values, the attacker knows 999", found, started), f"epsilon0 {epsilon0:.4f}", flush=True)
    print(
        "a blanket that is too thin, 4 values, epsilon = 1; what 500,000 trials show of it is foreseen from its own law"
    )
    for n, delta, share in (
        (60, 1e-2, 0.9),
        (200, 1e-3, 0.9),
        (200, 1e-3, 0.75),
        (1000, DELTA, 0.9),
        (1000, DELTA, 0.4),
    ):
        started = time.process_time(), time.perf_counter()
        found, advance = planted(n, delta, share)
        print(line(f"n = {n:,}, {100 * share:.0f} % of gamma", found, started), f"foreseen {advance:.4f}", flush=True)
    print("whatever is shipped")
    worst, differences = 0.0, list[tuple[float, float]]()
    for (kind, one), (n, delta, trials) in product((dict(RANDOMIZERS) | protocols()).items(), SHIPPED):
        for example in one.examples():
            started = time.process_time(), time.perf_counter()
            try:
                found = audit(example, n=getattr(example, "n", n), delta=delta, trials=trials)
            except ShuffledpError as refused:
                print(f"{kind:34} {str(refused).split('.')[0]}", flush=True)
                continue
            worst = max(worst, found.epsilon / found.claimed.epsilon)
            if found.expected > 0:
                differences.append((found.margin / found.expected, abs(found.epsilon / found.expected - 1)))
            said = f"expected {found.expected:.4f} +- {found.margin:.4f}"
            print(line(f"{kind}, n = {found.n}", found, started), said, flush=True)
    print(f"the most of a claim that was shown: {100 * worst:.1f} %")
    kept = sum(differs <= margin for margin, differs in differences)
    exact = [differs for margin, differs in differences if margin <= 0.1]
    print(f"what was expected, give or take what was said, was shown by {kept} of {len(differences)}")
    print(
        f"of {len(exact)} that said a tenth or less, {sum(differs > 0.1 for differs in exact)} differ by more than a tenth"
    )
    print(f"and the furthest by {100 * max(exact, default=0.0):.1f} %")


if __name__ == "__main__":
    main()
