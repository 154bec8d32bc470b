"""Certified accounting: seconds and epsilon for each randomizer and n, growth with n, memory, and composition.

Goals, one thread: a solve <= 0.2 s for rr (size >= 3), laplace, generic and <= 1 s for gaussian, RR-2 and 16 x 16 channels;
time at n = 1e9 <= 4 times that at 1e4; memory < 300 MB above imports; 1,000 rounds in 5 s.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import math
import resource
import time

import numpy as np
from dp_accounting.pld import common, privacy_loss_distribution

from shuffledp import Channel, Gaussian, Generic, Laplace, RandomizedResponse
from shuffledp.accounting.account import bound_named
from shuffledp.accounting.composition import Collection, compose
from shuffledp.accounting.solve import Problem, solve
from shuffledp.core.blanket import HasBlanket

DELTA = 1e-6
USERS = (10**3, 10**4, 10**5, 10**6, 10**7, 10**8, 10**9, 10**10)


def random_channel(size: int) -> Channel:
    """A 16 x 16 channel of no particular symmetry."""
    rows = np.random.default_rng(3).uniform(1, math.e**2, (size, size))
    return Channel(rows / rows.sum(axis=1, keepdims=True))


RANDOMIZERS: dict[str, tuple[HasBlanket, float]] = {
    "rr-3": (RandomizedResponse(size=3, epsilon0=2.0), 0.2),
    "rr-10": (RandomizedResponse(size=10, epsilon0=2.0), 0.2),
    "rr-1000": (RandomizedResponse(size=1000, epsilon0=4.0), 0.2),
    "laplace": (Laplace(epsilon0=2.0), 0.2),
    "generic": (Generic(epsilon0=2.0), 0.2),
    "rr-2": (RandomizedResponse(size=2, epsilon0=2.0), 1.0),
    "gaussian 0.5": (Gaussian(sigma=0.5), 1.0),
    "gaussian 1": (Gaussian(sigma=1.0), 1.0),
    "gaussian 5": (Gaussian(sigma=5.0), 1.0),
    "channel 16x16": (random_channel(16), 1.0),
}


def _number(end: float | int | None) -> float:
    return 0.0 if end is None else float(end)


def megabytes() -> float:
    """Peak resident memory of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


solve(bound_named("best"), Problem(randomizer=Generic(epsilon0=1.0).blanket(), n=100, delta=DELTA))  # imports
start_memory = megabytes()
print(
    f"{'randomizer':14} {'n':>14} {'epsilon':>14} {'at least':>14} {'width':>8} {'seconds':>8} {'cpu':>8} {'goal':>5}"
)
seconds: dict[tuple[str, int], float] = {}
for name, (randomizer, goal) in RANDOMIZERS.items():
    for n in USERS:
        wall, cpu = time.perf_counter(), time.process_time()
        found = solve(bound_named("best"), Problem(randomizer=randomizer.blanket(), n=n, delta=DELTA))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        seconds[name, n] = cpu
        upper, lower = _number(found.upper), _number(found.lower)
        late = " late" if cpu > goal and n <= 10**9 else ""
        ends = f"{upper:>14.8g} {lower:>14.8g} {1 - lower / upper if upper else 0:>8.2%}"
        print(f"{name:14} {n:>14,} {ends} {wall:>8.3f} {cpu:>8.3f} {goal:>5}{late}")
print()
for name in RANDOMIZERS:
    print(f"{name:14} time at 1e9 / time at 1e4: {seconds[name, 10**9] / seconds[name, 10**4]:.2f} (goal 4)")
print(f"peak memory above imports: {megabytes() - start_memory:.0f} MB (goal 300)\n")

print(f"{'composition':14} {'rounds':>9} {'ours':>10} {'at least':>10} {'(eps, delta) pair':>18} {'seconds':>8}")
for name in ("rr-10", "rr-2", "laplace", "gaussian 1"):
    randomizer = RANDOMIZERS[name][0]
    for rounds in (30, 1000, 10**6):
        wall = time.perf_counter()
        together = compose(
            [Collection(blanket=randomizer.blanket(), n=10**5, rounds=rounds, bound=bound_named("best"))]
        )
        epsilon = together.epsilon(DELTA)
        wall = time.perf_counter() - wall
        least = _number(together.least_epsilon(DELTA))
        if rounds > 10**4:  # more than the other tool has memory for
            print(f"{name:14} {rounds:>9,} {epsilon:>10.5g} {least:>10.5g} {'':>18} {wall:>8.2f}")
            continue
        # what one gets from dp_accounting knowing only one (epsilon, delta) of a round, half of delta spent on it
        one = solve(
            bound_named("best"), Problem(randomizer=randomizer.blanket(), n=10**5, delta=DELTA / 2 / rounds)
        ).value
        pair = privacy_loss_distribution.from_privacy_parameters(
            common.DifferentialPrivacyParameters(float(one or 0), DELTA / 2 / rounds),
            value_discretization_interval=1e-4,
        )
        naive = pair.self_compose(rounds).get_epsilon_for_delta(DELTA)
        print(f"{name:14} {rounds:>9,} {epsilon:>10.5g} {least:>10.5g} {naive:>18.5g} {wall:>8.2f}")
