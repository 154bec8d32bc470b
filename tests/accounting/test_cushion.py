"""The cushion bound: its theorem at small sizes, its claims against mixed crowds of thousands, and how narrow it makes `best`."""

import math

import numpy as np
import pytest

from oracles.crowds import mixed_delta
from oracles.enumeration import divergence, view
from oracles.scale import examples
from shuffledp import Channel, Laplace, RandomizedResponse
from shuffledp.accounting.account import bound_named
from shuffledp.accounting.cushion import Cushion
from shuffledp.accounting.solve import Problem, solve
from shuffledp.core.blanket import Blanket

ROWS = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.4, 0.3, 0.3]])
EXACT = ROWS / ROWS.sum(axis=1)[:, None]


def test_the_oracle_is_the_enumeration() -> None:
    rows = EXACT.tolist()
    for others in ([0, 0, 1, 2], [2, 2, 2], [0, 1]):
        counts = [others.count(z) for z in range(3)]
        truth = divergence(view(rows, [0, *others]), view(rows, [1, *others]), 0.2)
        assert mixed_delta(EXACT, counts, 0, 1, 0.2) == pytest.approx(truth, rel=1e-9)


def _one_by_one(rows: np.ndarray, others: list[int], shift: np.ndarray, excess: float) -> float:
    """(1/n') E[(sum of l_i + kappa |l_i|)_+] over a crowd of two kinds of users, by their histograms."""
    values, masses = np.zeros(1), np.ones(1)
    for row, count in zip(rows, others, strict=True):
        ratio = shift / row
        ratio = ratio + excess * np.abs(ratio)
        histogram = view([row.tolist()], [0] * count)
        amounts = np.array([np.dot(seen, ratio) for seen in histogram])
        values = (values[:, None] + amounts).ravel()
        masses = (masses[:, None] * np.array(list(histogram.values()))).ravel()
    return float(np.maximum(values, 0) @ masses) / sum(others)


@pytest.mark.parametrize("seed", range(examples(60)))
def test_the_theorem_holds_for_small_crowds_and_thin_cushions(seed: int) -> None:
    generator = np.random.default_rng(seed)
    rows = generator.dirichlet(np.ones(3) * generator.choice([3, 20, 200]), size=2)
    ratio = float((rows / rows.min(axis=0)).max())
    others = [int(generator.integers(0, 10)), int(generator.integers(1, 11))]
    draws, crowd = int(generator.integers(1, 12)), sum(others)
    epsilon = float(generator.uniform(0, 0.3)) * math.log(ratio)
    rho = ratio / draws
    rise = math.expm1(2 * rho)
    excess = math.exp(rho) * (3 * rho**2 * (1 + rise) + ratio / crowd * rise)
    truth = mixed_delta(rows, others, 0, 1, epsilon, draws=draws)
    shift = rows[0] - math.exp(epsilon) * rows[1]
    assert truth <= math.exp(rho) * _one_by_one(rows, others, shift, excess) * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(examples(60)))
def test_no_random_mixed_crowd_is_above_the_claim(seed: int) -> None:
    generator = np.random.default_rng(1000 + seed)
    inputs, n = int(generator.integers(2, 5)), int(generator.integers(150, 400))
    rows = generator.dirichlet(np.ones(3) * generator.choice([8, 40]), size=inputs)
    rows = rows / rows.sum(axis=1)[:, None]
    blanket = Channel(rows).blanket()
    epsilon = float(generator.uniform(0, 0.15))
    claim = Cushion().claim(blanket, n=n, epsilon=epsilon)
    others = generator.multinomial(n - 1, generator.dirichlet(np.ones(inputs) * generator.choice([0.3, 3]))).tolist()
    for x, w in ((0, 1), (1, 0)):
        assert mixed_delta(rows, others, x, w, epsilon) <= math.exp(claim.log_delta.upper) * (1 + 1e-9) + 1e-13


@pytest.mark.parametrize("others", [(6000, 0, 0), (3000, 3000, 0), (5500, 300, 200), (2000, 2000, 2000)])
def test_claims_are_above_crowds_of_thousands(others: tuple[int, int, int]) -> None:
    for epsilon in (0.0, 0.02, 0.05):
        claim = math.exp(Cushion().claim(Channel(ROWS).blanket(), n=6001, epsilon=epsilon).log_delta.upper)
        assert 1e-6 < mixed_delta(EXACT, others, 0, 1, epsilon, cells=1024) <= claim


def test_claims_are_close_to_the_worst_crowd() -> None:
    claim = math.exp(Cushion().claim(Channel(ROWS).blanket(), n=20_001, epsilon=0.0).log_delta.upper)
    truth = mixed_delta(EXACT, (0, 20_000, 0), 0, 1, 0.0, cells=2048)
    assert 0.9 * claim < truth <= claim  # a bound that is a tenth too small would be noticed


def _width(blanket: Blanket, n: int) -> float:
    found = solve(bound_named("best"), Problem(randomizer=blanket, n=n, delta=1e-6))
    assert found.upper is not None
    assert found.lower is not None
    assert found.claim is not None
    assert found.claim.upper_by == "cushion"
    return found.upper / found.lower - 1


@pytest.mark.parametrize(
    ("randomizer", "n", "width"),
    [(Channel(ROWS), 10**4, 0.1055), (Channel(ROWS), 10**5, 0.0293), (Channel(ROWS), 10**6, 0.00995),
     (Channel(ROWS), 10**8, 0.00183), (Laplace(epsilon0=2.0).lattice(inputs=3, outputs=17), 10**6, 0.01395)],
)  # fmt: skip
def test_enclosures_of_channels_close(randomizer: Channel, n: int, width: float) -> None:
    assert _width(randomizer.blanket(), n) <= width  # the blanket bound alone is 23 to 38 % wide here


def test_where_it_does_not_apply_it_says_why() -> None:
    for randomizer in (RandomizedResponse(size=3, epsilon0=1.0), Channel([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]])):
        assert "few inputs" in str(Cushion().claim(randomizer.blanket(), n=10**5, epsilon=0.1).regime)
    assert "too few users" in str(Cushion().claim(Channel(ROWS).blanket(), n=100, epsilon=0.1).regime)


def test_best_does_not_wait_for_it_in_vain() -> None:
    blanket = Channel([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]).blanket()  # here the blanket bound is tight
    assert not Cushion().promises(blanket, n=10**6, epsilon=0.01)
    assert Cushion().promises(Channel(ROWS).blanket(), n=10**6, epsilon=0.006)
