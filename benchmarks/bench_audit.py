"""Audits at full size: randomized response among 1,000 users at epsilon 1, the n - 1 attack, whatever is shipped.

python benchmarks/bench_audit.py [DELTA]     about five minutes on two cores; CPU seconds are printed because machines are shared
"""

import sys
import time

from shuffledp import RandomizedResponse, audit, calibrate
from shuffledp.auditing.finding import Finding
from shuffledp.errors import ShuffledpError
from shuffledp.protocols.registry import PROTOCOLS
from shuffledp.randomizers.registry import RANDOMIZERS

DELTA = float(sys.argv[1]) if len(sys.argv) > 1 else 1e-6
TRIALS = {2: 5_000_000, 10: 2_500_000, 100: 1_200_000}
"""By the number of values: at delta = 1e-6 enough for 60 % of epsilon = 1."""


def line(name: str, found: Finding, started: tuple[float, float]) -> str:
    """What was found and what it took."""
    cpu, wall = time.process_time() - started[0], time.perf_counter() - started[1]
    share = found.epsilon / found.claimed.epsilon
    return (
        f"{name:34} claimed {found.claimed.epsilon:7.4f}  in reach {found.reach:7.4f}  shown {found.epsilon:7.4f} "
        f"({100 * share:3.0f} %)  {found.verdict:13} {found.trials:9,} trials  {cpu:6.1f} s CPU  {wall:6.1f} s"
    )


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
    worst = 0.0
    for kind, one in (RANDOMIZERS | PROTOCOLS).items():
        for example in one.examples():
            started = time.process_time(), time.perf_counter()
            try:
                found = audit(example, n=200, delta=1e-3, trials=50_000)
            except ShuffledpError as refused:
                print(f"{kind:34} {str(refused).split('.')[0]}", flush=True)
                continue
            worst = max(worst, found.epsilon / found.claimed.epsilon)
            print(line(f"{kind}, n = 200", found, started), flush=True)
    print(f"the most of a claim that was shown: {100 * worst:.1f} %")


if __name__ == "__main__":
    main()
