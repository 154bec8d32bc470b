"""The truth at small sizes: every dataset, every shuffled view, no formula of the package."""

import math
from collections.abc import Iterator, Sequence
from itertools import permutations

from oracles import truth
from oracles.laws import normalised

Rows = Sequence[Sequence[float]]


def view(rows: Rows, inputs: Sequence[int]) -> dict[tuple[int, ...], float]:
    """The law of the histogram of messages when these users hold these inputs."""
    messages = len(rows[0])
    law = {(0,) * messages: 1.0}
    for symbol in inputs:
        following: dict[tuple[int, ...], float] = {}
        for counts, mass in law.items():
            for y, probability in enumerate(rows[symbol]):
                seen = (*counts[:y], counts[y] + 1, *counts[y + 1 :])
                following[seen] = following.get(seen, 0.0) + mass * probability
        law = following
    return law


def divergence(first: dict[tuple[int, ...], float], second: dict[tuple[int, ...], float], epsilon: float) -> float:
    """The hockey-stick divergence of order e^epsilon."""
    a = math.exp(epsilon)
    return math.fsum(max(0.0, mass - a * second.get(seen, 0.0)) for seen, mass in first.items())


def true_delta(rows: Rows, n: int, epsilon: float, changed: int = 1) -> float:
    """The largest divergence over all datasets of n users that differ in `changed` of them; of rows divided by their sums."""
    found = truth.true_delta([truth.law_of_row(row) for row in normalised(rows)], n, epsilon, changed)
    return float(found.lower + found.upper) / 2


def compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """All ways to write total as an ordered sum of that many non-negative integers."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in compositions(total - first, parts - 1):
            yield (first, *rest)


def expected_positive_part(values: Sequence[float], masses: Sequence[float], m: int) -> float:
    """E[(X_1 + ... + X_m)_+] for i.i.d. X with these atoms, by summing over all counts."""
    total = 0.0
    for counts in compositions(m, len(values)):
        amount = math.fsum(c * v for c, v in zip(counts, values, strict=True))
        if amount > 0 and all(mass > 0 or c == 0 for c, mass in zip(counts, masses, strict=True)):
            log_mass = math.lgamma(m + 1) + sum(
                c * math.log(mass) - math.lgamma(c + 1) for c, mass in zip(counts, masses, strict=True) if c
            )
            total += amount * math.exp(log_mass)
    return total


def blanket_bound(rows: Rows, n: int, epsilon: float) -> float:
    """Lemma 5.3 itself: (1 / (gamma n)) E[(G_1 + ... + G_n)_+], maximised over pairs."""
    floor = [min(column) for column in zip(*rows, strict=True)]
    gamma, a = math.fsum(floor), math.exp(epsilon)
    worst = 0.0
    for x, z in permutations(range(len(rows)), 2):
        values = [gamma * (u - a * v) / low if low else 0.0 for u, v, low in zip(rows[x], rows[z], floor, strict=True)]
        worst = max(worst, expected_positive_part([*values, 0.0], [*floor, max(0.0, 1 - gamma)], n) / (gamma * n))
    return worst


def response_rows(size: int, epsilon0: float) -> list[list[float]]:
    """The matrix of k-ary randomized response."""
    p = math.exp(epsilon0)
    return [[(p if x == y else 1.0) / (p + size - 1) for y in range(size)] for x in range(size)]
