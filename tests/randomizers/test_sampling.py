"""Thresholds and the corners of sampling; tests/conformance/test_randomizers.py has what holds for every randomizer."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chisquare

from shuffledp import Channel, KeyedWords, LatticeChannel, RandomizedResponse, SystemWords

SIGNIFICANCE = 1e-9
N = 400_000


def p_value(messages: NDArray[np.integer], law: NDArray[np.float64]) -> float:
    observed = np.bincount(messages, minlength=len(law))
    return float(chisquare(observed, law / law.sum() * len(messages)).pvalue)


def test_system_words_follow_the_law_too() -> None:
    response = RandomizedResponse(size=3, gamma=0.5)
    messages = response.randomize(np.zeros(N, dtype=np.int64), SystemWords(), first_row=0)
    assert p_value(messages, np.array([float(response.probability(y, 0)) for y in range(3)])) > SIGNIFICANCE


@given(st.fractions(min_value=Fraction(1, 2**70), max_value=1))
def test_the_threshold_is_rounded_up(gamma: Fraction) -> None:
    response = RandomizedResponse(size=4, gamma=gamma)
    assert Fraction(response.threshold - 1, 2**64) < gamma <= Fraction(response.threshold, 2**64)
    assert response.as_run().threshold == response.threshold


@given(st.floats(0, 40), st.integers(2, 1000))
def test_the_threshold_from_epsilon0_is_at_least_gamma(epsilon0: float, size: int) -> None:
    response = RandomizedResponse(size=size, epsilon0=epsilon0)
    assert response.as_run().gamma >= response.gamma
    assert response.as_run().epsilon0 <= response.epsilon0 * (1 + 1e-15)


def test_gamma_one_never_tells_the_truth_more_often_than_chance() -> None:
    response = RandomizedResponse(size=2, gamma=1.0)
    assert response.threshold == 2**64
    messages = response.randomize(np.zeros(N, dtype=np.uint8), KeyedWords.seeded(4), first_row=0)
    assert p_value(messages, np.array([0.5, 0.5])) > SIGNIFICANCE


def test_impossible_messages_are_never_sent() -> None:
    lattice = LatticeChannel.of(Channel([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]]))
    messages = lattice.randomize(np.zeros(100_000, dtype=np.int64), KeyedWords.seeded(5), first_row=0)
    assert set(messages.tolist()) == {0, 1}
