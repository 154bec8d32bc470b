"""Split and mix end to end: the modular sum is exact, shares may come in any order, and the noise survives liars."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp import KeyedRandomness
from shuffledp.baselines.noise import DiscreteLaplace, PolyaShare
from shuffledp.baselines.split_and_mix import SplitAndMix, shares_needed

WORDS = KeyedRandomness.seeded(5)
PROTOCOL = SplitAndMix(n=40, epsilon=1.0, delta=1e-6, steps=100)


@given(st.lists(st.integers(-500, 600), min_size=1, max_size=40), st.randoms(use_true_random=False))
def test_the_modular_sum_is_exact(terms: list[int], shuffler: object) -> None:
    shares = PROTOCOL.split(np.array(terms, dtype=np.int64), WORDS, first_row=0).ravel()
    shuffler.shuffle(shares)  # type: ignore[attr-defined]
    modulus = 2**PROTOCOL.modulus_bits
    assert (shares < modulus).all()
    assert int(shares.sum(dtype=np.uint64)) % modulus == sum(terms) % modulus
    if sum(terms) > -PROTOCOL.reach:
        assert PROTOCOL.estimate(PROTOCOL.count(shares)).value == pytest.approx([sum(terms) / 100])


def test_shares_look_uniform() -> None:
    shares = PROTOCOL.split(np.full(4000, 7, dtype=np.int64), WORDS, first_row=0)
    for column in (0, -1):
        counts = np.bincount((shares[:, column] >> np.uint64(PROTOCOL.modulus_bits - 4)).astype(np.int64), minlength=16)
        assert float((np.square(counts - 250) / 250).sum()) < 70


def test_parameters() -> None:
    assert PROTOCOL.sigma >= -math.log2(1e-6 / (1 + math.e))
    assert 2**PROTOCOL.modulus_bits > 40 * 100 + 2 * PROTOCOL.reach
    assert PROTOCOL.messages == shares_needed(sigma=PROTOCOL.sigma, modulus=2**PROTOCOL.modulus_bits, honest=40)
    assert PROTOCOL.messages > shares_needed(sigma=PROTOCOL.sigma - 20, modulus=2**PROTOCOL.modulus_bits, honest=40)
    assert PROTOCOL.bits == PROTOCOL.messages * PROTOCOL.modulus_bits


@pytest.mark.parametrize("honest", [20, 30, 40])
def test_noise_of_the_honest_is_enough(honest: int) -> None:
    """With h of n honest the honest noise is (epsilon, t)-DP for a change of `steps`; planned for all n it would not be."""
    steps, epsilon = 3, 1.0
    noise = DiscreteLaplace(steps / epsilon)
    reach = 60 * steps

    def excess(shape_for: int) -> float:
        law = PolyaShare(noise.scale, shape_for).law(honest, reach)
        moved = np.roll(law, steps)
        inner = slice(steps, -steps)
        return float(np.maximum(law[inner] - math.exp(epsilon) * (1 + 1e-9) * moved[inner], 0).sum())

    assert excess(honest) < 1e-9
    if honest < 40:
        assert excess(40) > 1e-4


def test_fewer_honest_users_mean_more_noise_and_more_shares() -> None:
    half = SplitAndMix(n=40, epsilon=1.0, delta=1e-6, steps=100, honest_fraction=0.5)
    assert half.messages > PROTOCOL.messages
    assert half.mean_squared_error(40) > 1.5 * PROTOCOL.mean_squared_error(40)
    values = np.full(40, 0.25)
    counts = [half.count(half.randomize(values, WORDS, first_row=40 * j)) for j in range(2000)]
    errors = np.array([half.estimate(found).value[0] - 10 for found in counts])
    assert float(np.square(errors).mean()) == pytest.approx(40 * float(half.user_error(0.25)), rel=0.2)


@pytest.mark.parametrize("protocol", SplitAndMix.examples())
def test_totals_are_what_the_analyzer_computes_and_follow_their_law(protocol: SplitAndMix) -> None:
    randomness, runs = KeyedRandomness.seeded(3), 400
    shares = protocol.randomize(np.zeros(runs * protocol.n), randomness, first_row=0).reshape(runs, -1)
    totals = protocol.totals(shares)
    analyzed = [float(protocol.debias_sum(protocol.count(row).values, protocol.n)) for row in shares[:20]]
    assert analyzed == pytest.approx(totals[:20] / protocol.steps)
    values, first, second = protocol.total_law(protocol.n)
    assert first.sum() == pytest.approx(1, abs=1e-9)
    assert values @ first - values @ second == pytest.approx(protocol.steps)
    variance = protocol.noise.variance * protocol.n / protocol.honest
    assert values**2 @ second == pytest.approx(variance, rel=1e-6)
    assert np.var(totals) == pytest.approx(variance, rel=0.5)
