"""Baselines: an analyzer with a wrong parameter is noticed, and noise has the stated law.

That each is unbiased, with the variance it states, is checked in tests/conformance/test_protocols.py.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import mpmath
import numpy as np
import pytest

from oracles.chance import SIGNIFICANCE, p_mean, p_variance
from shuffledp import InvalidInput, KeyedRandomness, RandomizedResponse
from shuffledp.baselines.central import CuratorHistogram, NoisySum
from shuffledp.baselines.dbitflip import DBitFlip
from shuffledp.baselines.flip import Flip
from shuffledp.baselines.hadamard_response import HadamardResponse
from shuffledp.baselines.hashed_response import HashedResponse
from shuffledp.baselines.noise import DiscreteLaplace, PolyaShare
from shuffledp.baselines.published_design import DesignCounts
from shuffledp.baselines.rappor import Rappor
from shuffledp.baselines.sketch import CountMeanSketch, HadamardSketch
from shuffledp.baselines.split_and_mix import SplitAndMix
from shuffledp.baselines.subset_selection import SubsetSelection
from shuffledp.baselines.unary import UnaryBits
from shuffledp.core.population import Population
from shuffledp.core.randomness import rows_from
from shuffledp.protocols.one_bit_mean import OneBitMean
from shuffledp.randomizers.design_response import design_threshold

WORDS = KeyedRandomness.seeded(11)
USERS = np.array([60, 30, 10, 0])
N = 100


def private(protocol: DesignCounts, epsilon0: float) -> Any:
    return replace(protocol, threshold=design_threshold(protocol.design, epsilon0=epsilon0))  # type: ignore[type-var]


HISTOGRAMS: dict[str, Callable[[float], Any]] = {
    "curator": lambda e: CuratorHistogram(size=4, epsilon=e),
    "rappor": lambda e: Rappor.private(size=4, epsilon0=e),
    "dbitflip": lambda e: DBitFlip.private(size=4, asked=2, epsilon0=e),
    "dbitflip, one": lambda e: DBitFlip.private(size=4, asked=1, epsilon0=e),
    "dbitflip, all": lambda e: DBitFlip.private(size=4, asked=4, epsilon0=e),
    "cms": lambda e: CountMeanSketch.private(size=4, epsilon0=e, hashes=8, width=8),
    "hcms": lambda e: HadamardSketch.private(size=4, epsilon0=e, hashes=8, width=8),
    "local hashing": lambda e: private(HashedResponse(size=4, range=3, threshold=1), e),
    "hadamard": lambda e: private(HadamardResponse(size=4, blocks=2, order=4, threshold=1), e),
    "subsets": lambda e: private(SubsetSelection(size=4, chosen=2, threshold=1), e),
}
SUMS: dict[str, Callable[[float], Any]] = {
    "1bitmean": lambda e: OneBitMean(randomizer=RandomizedResponse(size=2, epsilon0=e).as_run()),
    "cheu": lambda e: UnaryBits(messages=5, threshold=int(0.2 / e * 2**64)),
}


@pytest.mark.parametrize("name", HISTOGRAMS)
def test_an_epsilon_five_percent_off_is_noticed(name: str) -> None:
    """By the variance of simulated runs."""
    protocol, wrong = HISTOGRAMS[name](1.5), HISTOGRAMS[name](1.5 * 1.05)
    population = Population(values=np.arange(4), users=USERS)
    errors = protocol.simulate(population, np.random.default_rng(1), 100_000) - USERS
    assert p_variance(errors, protocol.variance(USERS, N)) > SIGNIFICANCE
    assert p_variance(errors, wrong.variance(USERS, N)) < SIGNIFICANCE


@pytest.mark.parametrize("name", SUMS)
def test_a_wrong_gamma_is_biased(name: str) -> None:
    """An analyzer that believes in another parameter is noticed by its bias."""
    right, wrong = SUMS[name](1.5), SUMS[name](1.5 * 1.1)
    values = np.full(N, 0.95)
    counts = [right.count(right.randomize(values, WORDS, first_row=N * run)) for run in range(3000)]
    errors = np.array([wrong.estimate(found).value[0] - 95 for found in counts])
    assert p_mean(errors) < SIGNIFICANCE


def test_simulated_noise_has_the_stated_variance() -> None:
    noise = DiscreteLaplace(3.0)
    fake = noise.simulate(np.random.default_rng(3), 200_000)
    assert float(np.square(fake).mean()) == pytest.approx(noise.variance, rel=0.03)
    several = noise.simulate(np.random.default_rng(4), 200_000, users=7)
    assert float(np.square(several).mean()) == pytest.approx(7 * noise.variance, rel=0.03)


def test_noise_parts_add_up_to_discrete_laplace() -> None:
    """The exact law of the table's parts, convolved, against the closed form; one part fewer is not enough."""
    scale, honest, reach = 4.0, 25, 60
    share = PolyaShare(scale, honest)
    ideal = DiscreteLaplace(scale)
    expected = ideal.stop / (2 - ideal.stop) * np.exp(-np.abs(np.arange(-reach, reach + 1)) / scale)
    assert np.abs(share.law(honest, reach) - expected).max() < 1e-12
    assert np.abs(share.law(honest - 3, reach) - expected).max() > 1e-3
    assert 0 < share.distance < 1e-12
    samples = share.sample(np.arange(400_000, dtype=np.uint64), WORDS, 0)
    assert float(np.square(samples).mean()) == pytest.approx(ideal.variance / honest, rel=0.1)
    assert abs(float(samples.mean())) < 5 * math.sqrt(ideal.variance / honest / 400_000)


def test_sums_beyond_32_bits_and_noise_as_large() -> None:
    """A million users on a fine grid, and noise of a scale of 1e10."""
    protocol = NoisySum(epsilon=1.0, steps=10_000)
    assert protocol.estimate(protocol.count(np.full(10**6, 9000))).value == pytest.approx([900_000], abs=100)
    huge = DiscreteLaplace(1e10).sample(rows_from(0, 2000), WORDS, 0)
    assert float(np.square(huge.astype(float)).mean()) == pytest.approx(2e20, rel=0.3)


@pytest.mark.parametrize("inverse", [0.01, 0.5, 1.0, 5.0, 10.0, 20.0, 37.0])
@pytest.mark.parametrize("honest", [19, 10_000])
def test_noise_parts_are_as_near_their_ideal_law_as_they_claim(inverse: float, honest: int) -> None:
    """The chance of a non-zero number against mpmath: off by less than `distance`, which is small beside the chance."""
    share = PolyaShare(1 / inverse, honest)
    with mpmath.workdps(60):
        scale = mpmath.mpf(1 / inverse)
        ideal = 1 - (1 - mpmath.exp(-1 / scale)) ** (mpmath.mpf(1) / honest)
        off = abs(mpmath.mpf(share._some) / 2**64 - ideal)
    assert 2 * off < share.distance
    assert share.distance < 1e-12 * float(ideal) + 1e-18


def test_one_bucket_is_one_bit() -> None:
    one = DBitFlip.private(size=4, asked=1, epsilon0=1.0)
    assert one.epsilon0 == pytest.approx(1.0)
    assert one.flip.epsilon == pytest.approx(1.0)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: SplitAndMix(n=100, epsilon=1.0, delta=1e-6, steps=10, honest_fraction=2.0),
        lambda: SplitAndMix(n=100, epsilon=1.0, delta=1e-6, steps=10, honest_fraction=math.nan),
        lambda: SplitAndMix(n=100, epsilon=1.0, delta=1e-6, steps=0),
        lambda: SplitAndMix(n=19, epsilon=1e-6, delta=1e-6, steps=1000),
        lambda: NoisySum(epsilon=1.0, steps=0),
        lambda: DBitFlip.private(size=4, asked=5, epsilon0=1.0),
        lambda: CountMeanSketch.private(size=4, epsilon0=1.0, hashes=0),
        lambda: HadamardSketch.private(size=4, epsilon0=1.0, width=12),
        lambda: SplitAndMix(n=10, epsilon=1.0, delta=1e-6, steps=5),
        lambda: SplitAndMix(n=100, epsilon=1.0, delta=1e-300, steps=5),
        lambda: NoisySum(epsilon=0.0, steps=5),
        lambda: UnaryBits(messages=3, threshold=1 << 60, low=1.0, high=0.0),
        lambda: Flip.private(-1.0),
        lambda: PolyaShare(1.0, 0),
    ],
)
def test_bad_parameters(wrong: Callable[[], object]) -> None:
    with pytest.raises(InvalidInput):
        wrong()
