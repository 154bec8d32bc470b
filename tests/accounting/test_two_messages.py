"""Randomizers with two messages: whatever the inputs are, both ends of the claim meet."""

import math

import numpy as np
import pytest

from oracles.enumeration import true_delta
from oracles.scale import full
from shuffledp import Channel, RandomizedResponse
from shuffledp.accounting import binary
from shuffledp.accounting.account import bound_named
from shuffledp.accounting.solve import Problem, solve


def rows_of(generator: np.random.Generator) -> list[list[float]]:
    """Usual, rare and nearly equal coins, and often a third input between them."""
    first, second = generator.uniform(size=2)
    if generator.random() < 0.3:
        first, second = 10 ** generator.uniform(-6, -0.1, size=2)
    elif generator.random() < 0.3:
        second = first * (1 - 10 ** generator.uniform(-6, -1))
    coins = [first, second, *([first + 0.3 * (second - first)] if generator.random() < 0.4 else [])]
    return [[1 - coin, coin] for coin in coins]


@pytest.mark.parametrize("seed", range(full(2, 10)))
def test_the_ends_enclose_the_worst_of_all_datasets(seed: int) -> None:
    generator = np.random.default_rng(seed)
    met = 0
    for _ in range(150):
        rows = rows_of(generator)
        channel, n = Channel(rows), int(generator.integers(1, 7))
        epsilon = float(generator.uniform(0, 0.98)) * (channel.epsilon0 or 0.0)
        truth = true_delta(rows, n, epsilon)
        for name in ("binary", "best"):
            claim = bound_named(name).claim(channel.blanket(), n=n, epsilon=epsilon).log_delta
            assert math.exp(claim.lower) * (1 - 1e-9) - 1e-14 <= truth <= math.exp(claim.upper) * (1 + 1e-9) + 1e-14
        met += truth <= math.exp(claim.lower) * (1 + 1e-6) + 1e-14
    assert met > 120  # the rest is so lopsided that the lower end is another bound's


def test_large_crowds_against_direct_convolution() -> None:
    """Not symmetric, one direction worse than the other: the divergence of every dataset, term by term."""
    q, r, n, epsilon = 0.5, 0.1, 60, 0.8
    claim = bound_named("binary").claim(Channel([[1 - q, q], [1 - r, r]]).blanket(), n=n, epsilon=epsilon).log_delta
    worst = {True: 0.0, False: 0.0}
    for at_q in range(n):
        law = np.ones(1)
        for j in range(n - 1):
            law = np.convolve(law, [1 - q, q] if j < at_q else [1 - r, r])
        first, second = np.convolve(law, [1 - q, q]), np.convolve(law, [1 - r, r])
        for forward, (more, less) in ((True, (first, second)), (False, (second, first))):
            worst[forward] = max(worst[forward], float(np.maximum(more - math.exp(epsilon) * less, 0).sum()))
    assert worst[True] != pytest.approx(worst[False], rel=0.5)
    assert math.exp(claim.lower) * (1 - 1e-9) <= max(worst.values()) <= math.exp(claim.upper) * (1 + 1e-9)
    assert claim.upper - claim.lower < 1e-6


@pytest.mark.parametrize("n", [10**3, 10**5, 10**7])
@pytest.mark.parametrize(
    "rows", [[[0.95, 0.05], [0.05, 0.95]], [[0.9, 0.1], [0.5, 0.5], [0.7, 0.3]]], ids=["symmetric", "not"]
)
def test_enclosures_are_narrow(rows: list[list[float]], n: int) -> None:
    found = solve(bound_named("best"), Problem(randomizer=Channel(rows).blanket(), n=n, delta=1e-6))
    assert found.lower is not None
    assert found.upper is not None
    assert found.lower < found.upper <= 1.001 * found.lower


def test_a_response_and_its_matrix_are_one() -> None:
    p = math.exp(1.5) / (1 + math.exp(1.5))
    for n in (1, 40, 10**5):
        for epsilon in (0.05, 0.7):
            ends = [
                bound_named("best").claim(one.blanket(), n=n, epsilon=epsilon).log_delta
                for one in (Channel([[p, 1 - p], [1 - p, p]]), RandomizedResponse(size=2, epsilon0=1.5))
            ]
            assert (ends[0].lower, ends[0].upper) == pytest.approx((ends[1].lower, ends[1].upper), rel=1e-9)


@pytest.mark.parametrize("rows", [[[0.97, 0.03], [0.03, 0.97]], [[0.9, 0.1], [0.5, 0.5]]], ids=["symmetric", "not"])
def test_no_cell_that_is_left_out_is_worse(rows: list[list[float]]) -> None:
    """The largest over all 2,400 cells, each evaluated, to the last bit."""
    for n in (301, 2401, 20_011):
        for epsilon in (0.0, 0.02, 0.3):
            both, (ones, zeros) = binary._both_ways(Channel(rows).blanket(), epsilon), binary._cover(n - 1)
            parts = [slice(i, i + binary._AT_ONCE) for i in range(0, len(ones), binary._AT_ONCE)]
            for pair, found in zip(both, binary._highest(both, ones, zeros), strict=True):
                assert found == max(pair.log_divergence(ones[part], zeros[part])[1].max() for part in parts)
