"""Discrete Laplace noise: the stated law at every scale, against exact probabilities and OpenDP, from the row's own words."""

import math
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
import opendp.prelude as dp
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2, chi2_contingency

from oracles.chance import SIGNIFICANCE, p_variance
from shuffledp import InvalidInput, KeyedRandomness
from shuffledp.baselines.central import CuratorHistogram, NoisySum
from shuffledp.baselines.discrete_laplace import LARGEST_SCALE, discrete_laplace
from shuffledp.baselines.noise import DiscreteLaplace
from shuffledp.core.randomness import WORD, RandomSource, SystemRandomness, rows_from

WORDS = KeyedRandomness.seeded(7)
COUNT = 200_000
Wholes = NDArray[np.int64]


def drawn(scale: float, count: int = COUNT, randomness: RandomSource = WORDS) -> Wholes:
    return discrete_laplace(scale, rows_from(0, count), randomness, 0)


def below(scale: float, number: int) -> Any:
    """The chance of less than a number, from the closed form at 60 digits."""
    a = mpmath.exp(-1 / mpmath.mpf(scale))
    return a ** (1 - number) / (1 + a) if number <= 0 else 1 - a**number / (1 + a)


def cells(scale: float) -> list[int]:
    """Where about twenty intervals begin that each have a good chance."""
    reach = sorted({round(scale * x) for x in (0.1, 0.3, 0.7, 1.2, 2, 3)} | {0, 1})
    return sorted({-x for x in reach} | {1 - x for x in reach} | set(reach) | {x + 1 for x in reach})


def p_law(samples: Wholes, scale: float) -> float:
    """Whether chance explains how far these are from the law of a scale: chi-square over intervals."""
    edges = cells(scale)
    with mpmath.workdps(60):
        ends = [mpmath.mpf(0), *(below(scale, edge) for edge in edges), mpmath.mpf(1)]
        chances = np.array([float(b - a) for a, b in pairwise(ends)])
    found = np.histogram(np.searchsorted(np.array(edges), samples, side="right"), np.arange(len(edges) + 2))[0]
    expected = chances * len(samples)
    assert found[expected == 0].sum() == 0
    enough = expected > 5
    rest, left = found[~enough].sum(), expected[~enough].sum()
    terms = [*((found - expected) ** 2 / np.maximum(expected, 1e-300))[enough], (rest - left) ** 2 / max(left, 5.0)]
    return float(chi2.sf(sum(terms), len(terms) - 1)) if len(terms) > 1 else 1.0


@pytest.mark.parametrize("scale", [0.2, 0.3, 1 / 3, 0.5, 1.0, 1.5, 2.7, 10.0, 333.3, 1e4 / 3, 1e10, LARGEST_SCALE])
def test_the_law_is_the_stated_one(scale: float) -> None:
    """And neither that of a scale 5 % off, nor the one whose zero has both signs, as if -0 were not drawn again."""
    samples = drawn(scale)
    assert p_law(samples, scale) > SIGNIFICANCE
    assert p_law(samples, scale * 1.05) < SIGNIFICANCE
    assert p_law(samples, scale / 1.05) < SIGNIFICANCE
    if scale < 100:
        sizes, signs = np.abs(samples), np.random.default_rng(1).integers(0, 2, COUNT)
        halved = np.flatnonzero((samples == 0) & (signs == 0))
        both = np.concatenate([np.where(signs, sizes, -sizes), np.zeros(len(halved), dtype=np.int64)])
        assert p_law(both, scale) < SIGNIFICANCE


def opendps(scale: float) -> Any:
    """OpenDP's mechanism on whole numbers."""
    dp.enable_features("contrib")
    domain: Any = dp.vector_domain(dp.atom_domain(T="i64"))
    return dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale)


@pytest.mark.parametrize("scale", [0.7, 3.0, 1234.5])
def test_opendp_draws_of_the_same_law(scale: float) -> None:
    """Its sampler takes no seed; ours does, and differs from a scale 10 % off."""
    theirs = np.array(opendps(scale)([0] * 100_000))
    for wrong, accepted in ((1.0, True), (1.1, False)):
        ours = drawn(scale * wrong)
        both = [
            np.histogram(np.searchsorted(cells(scale), x, side="right"), np.arange(len(cells(scale)) + 2))[0]
            for x in (ours, theirs)
        ]
        table = np.array(both)[:, np.sum(both, axis=0) > 20]
        assert (chi2_contingency(table).pvalue > SIGNIFICANCE) == accepted


@pytest.mark.parametrize("epsilon", [0.1, 1 / 3, 1.0, 2.5, 7.0])
def test_opendp_proves_the_epsilon_of_the_scales(epsilon: float) -> None:
    """The sensitivity is that of replacing one value: a grid's steps, two counts. Noise for half of it is not enough."""
    for noise, moved in (
        (NoisySum(epsilon=epsilon, steps=997).noise, 997), (CuratorHistogram(size=4, epsilon=epsilon).noise, 2),
    ):  # fmt: skip
        assert opendps(noise.scale).map(moved) <= epsilon
        assert opendps(noise.scale / 2).map(moved) > epsilon


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e-20, 1e-3])
def test_a_tiny_scale_is_no_noise(scale: float) -> None:
    """A number other than 0 has a chance below e^-999."""
    assert not drawn(scale, 2000).any()


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.nextafter(LARGEST_SCALE, math.inf), 1e300, math.inf])
def test_a_scale_that_cannot_be_drawn_is_refused(scale: float) -> None:
    with pytest.raises(InvalidInput, match="scale"):
        drawn(scale, 1)


def test_nobody_is_asked_for_noise() -> None:
    assert drawn(3.0, 0).shape == (0,)


def test_the_largest_noise_fits_into_64_bits() -> None:
    samples = drawn(LARGEST_SCALE).astype(float)
    assert (
        p_variance(samples[:, None] / LARGEST_SCALE, DiscreteLaplace(LARGEST_SCALE).variance / LARGEST_SCALE**2) > 1e-9
    )


@pytest.mark.parametrize("scale", [0.3, 3.0, 1e4 / 3])
def test_a_row_has_its_own_noise_whoever_else_is_drawn(scale: float) -> None:
    """Across what is drawn at once too."""
    rows = rows_from(0, 70_000)
    whole = discrete_laplace(scale, rows, WORDS, 5)
    order = np.random.default_rng(2).permutation(len(rows))[:5000]
    assert np.array_equal(discrete_laplace(scale, rows[order], WORDS, 5), whole[order])
    assert np.array_equal(discrete_laplace(scale, rows[69_990:], WORDS, 5), whole[69_990:])
    assert not np.array_equal(discrete_laplace(scale, rows, WORDS, 1 << 20), whole)


class Stuck:
    """Words that are always the same."""

    private = True

    def __init__(self, word: int) -> None:
        self._word = word

    def reserve(self) -> None:
        """There is nothing to keep."""

    def stream(self, first_row: int, count: int, lane: int) -> NDArray[np.uint8]:
        raise AssertionError

    def blocks(self, rows: NDArray[np.uint64], draw: int) -> NDArray[np.uint64]:
        return np.full((len(rows), 2), self._word, dtype=np.uint64)


@pytest.mark.parametrize("scale", [2.0**52, 3.0, 0.7])
def test_words_that_are_stuck_end_in_an_error_or_a_number_that_fits(scale: float) -> None:
    """They neither hang nor overflow."""
    refused = 0
    for word in (0, 1, 2, 3, 5, WORD // 3, WORD // 2, WORD - 2, WORD - 1):
        try:
            (found,) = drawn(scale, 1, Stuck(word)).tolist()
        except InvalidInput:
            refused += 1
        else:
            assert abs(found) < 1 << 62
    assert refused


def test_a_curators_noise_is_new_each_time_and_a_users_is_that_of_the_words() -> None:
    curator = NoisySum(epsilon=1.0, steps=10**6)
    counts = curator.count(curator.randomize(np.full(10, 0.5), WORDS, first_row=0))
    assert len({float(curator.estimate(counts).value[0]) for _ in range(5)}) == 5
    user = NoisySum(epsilon=1.0, steps=10**6, local=True)
    first, again = (user.randomize(np.full(10, 0.5), WORDS, first_row=0) for _ in range(2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, user.randomize(np.full(10, 0.5), SystemRandomness(), first_row=0))
