"""Where claims once failed, or were looser than they need be."""

import math

import mpmath
import numpy as np
import pytest

from shuffledp import Channel, Gaussian, InvalidInput, Laplace
from shuffledp.accounting import witness
from shuffledp.accounting.account import bound_named
from shuffledp.accounting.solve import Problem, solve
from shuffledp.arithmetic.summand_law import ULP


@pytest.mark.parametrize("epsilon0", [130.0, 165.0, 400.0, 700.0])
def test_laplace_with_hardly_any_noise(epsilon0: float) -> None:
    claim = bound_named("best").claim(Laplace(epsilon0=epsilon0).blanket(), n=100, epsilon=1.0)
    assert claim.log_delta.upper <= 0


def test_a_solve_that_passes_through_large_epsilon0() -> None:
    found = solve(bound_named("best"), Problem(randomizer=Laplace.family(), n=2, epsilon=20.0, delta=1e-6))
    assert found.value is not None
    assert found.lower is not None
    assert 20 - 1e-3 < found.lower <= found.value < 20 + 1e-3


def test_one_user_suffices_where_local_noise_does() -> None:
    found = solve(bound_named("best"), Problem(randomizer=Gaussian(sigma=0.3).blanket(), epsilon=22.0, delta=1e-6))
    assert found.value == 1


def test_probabilities_too_small_for_doubles_are_refused() -> None:
    with pytest.raises(InvalidInput, match="too small to compute with"):
        Channel([[1 - 5e-324, 5e-324], [0.5, 0.5]])
    Channel([[1.0, 1e-300], [0.5, 0.5]])


def test_the_best_homogeneous_dataset_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of random channels, by evaluating every triple of inputs."""
    generator, bound = np.random.default_rng(5), bound_named("witness")
    for _ in range(12):
        rows = np.maximum(generator.dirichlet(np.ones(4), size=4), 1e-3)
        blanket = Channel(rows / rows.sum(axis=1, keepdims=True)).blanket()
        n = int(10 ** generator.uniform(1, 5))
        epsilon = solve(bound_named("numeric"), Problem(randomizer=blanket, n=n, delta=1e-6)).value
        assert epsilon is not None
        found = bound.claim(blanket, n=n, epsilon=epsilon).log_delta.lower
        with monkeypatch.context() as patch:
            patch.setattr(witness, "_MOST_EVALUATED", 10**6)
            assert found == bound.claim(blanket, n=n, epsilon=epsilon).log_delta.lower


def exceeds_the_truth_of_one_user() -> bool:
    """For many channels with three messages: exact sums of rational numbers, and no tolerance at all."""
    generator = np.random.default_rng(8)
    for _ in range(200):
        channel = Channel(generator.dirichlet(np.ones(3), size=2))
        epsilon = float(generator.uniform(0.1, 0.9)) * (channel.epsilon0 or 0.0)
        with mpmath.workdps(60):
            a = mpmath.exp(epsilon)
            rows = [[mpmath.mpf(int(p.p)) / int(p.q) for p in row] for row in channel.blanket().rows]
            gaps = [[max(0, u - a * v) for u, v in zip(x, z, strict=True)] for x, z in (rows, rows[::-1])]
            truth = max(mpmath.fsum(gap) for gap in gaps)
            upper = bound_named("numeric").claim(channel.blanket(), n=1, epsilon=epsilon).log_delta.upper
            if mpmath.mpf(upper) < mpmath.log(truth):
                return False
            assert upper < mpmath.log(truth) + 1e-12 * (1 + abs(mpmath.log(truth)))
    return True


def test_the_claim_for_one_user_rounds_up(monkeypatch: pytest.MonkeyPatch) -> None:
    assert exceeds_the_truth_of_one_user()
    monkeypatch.setattr("shuffledp.accounting.numeric.ULP", -ULP)  # the other way
    assert not exceeds_the_truth_of_one_user()


@pytest.mark.parametrize("n", [1, 2, 50])
def test_epsilon0_itself_is_private_for_every_n(n: int) -> None:
    """Rounded up, which a matrix's epsilon0 always is."""
    generator = np.random.default_rng(3)
    for coins in generator.uniform(size=(60, 2)):
        channel = Channel([[1 - coin, coin] for coin in coins])
        assert channel.epsilon0 is not None
        for name in ("best", "binary", "numeric"):
            bound, blanket = bound_named(name), channel.blanket()
            assert bound.claim(blanket, n=n, epsilon=channel.epsilon0).log_delta.upper == -math.inf
            below = bound.claim(blanket, n=n, epsilon=channel.epsilon0 * (1 - 1e-12)).log_delta
            assert below.lower <= below.upper <= 0
