"""What runs follows its stated law, and the tests would notice if it did not."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chisquare

from shuffledp import Channel, InvalidInput, KeyedWords, Laplace, LatticeChannel, RandomizedResponse, SystemWords

SIGNIFICANCE = 1e-9
N = 400_000


def p_value(messages: NDArray[np.integer], law: NDArray[np.float64]) -> float:
    observed = np.bincount(messages, minlength=len(law))
    return float(chisquare(observed, law / law.sum() * len(messages)).pvalue)


@pytest.mark.parametrize("size", [2, 3, 10])
def test_response_follows_its_law_and_not_a_gamma_ten_percent_off(size: int) -> None:
    response = RandomizedResponse(size=size, gamma=0.2)
    messages = response.randomize(np.full(N, 1, dtype=np.uint8), KeyedWords.seeded(1), first_row=0)
    law = np.array([float(response.probability(y, 1)) for y in range(size)])
    wrong = RandomizedResponse(size=size, gamma=0.22)
    assert p_value(messages, law) > SIGNIFICANCE
    assert p_value(messages, np.array([float(wrong.probability(y, 1)) for y in range(size)])) < SIGNIFICANCE


def test_lattice_channel_follows_its_law_and_not_another() -> None:
    lattice = Laplace(epsilon0=2.0).lattice(inputs=5, outputs=33)
    wrong = Laplace(epsilon0=2.2).lattice(inputs=5, outputs=33, reach=4.0)
    messages = lattice.randomize(np.full(N, 3), KeyedWords.seeded(2), first_row=0)
    outputs = np.arange(33)
    assert p_value(messages, lattice.probability(outputs, 3)) > SIGNIFICANCE
    assert p_value(messages, wrong.probability(outputs, 3)) < SIGNIFICANCE


def test_system_words_follow_the_law_too() -> None:
    response = RandomizedResponse(size=3, gamma=0.5)
    messages = response.randomize(np.zeros(N, dtype=np.int64), SystemWords(), first_row=0)
    assert p_value(messages, np.array([float(response.probability(y, 0)) for y in range(3)])) > SIGNIFICANCE


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.integers(0, 60), st.integers(0, 2**40))
def test_any_partitioning_gives_the_same_messages(symbols: list[int], cut: int, first_row: int) -> None:
    words = KeyedWords.seeded(3)
    array = np.array(symbols, dtype=np.uint8)
    for randomizer in (RandomizedResponse(size=5, epsilon0=1.0), Laplace(epsilon0=1.0).lattice(inputs=5, outputs=9)):
        whole = randomizer.randomize(array, words, first_row=first_row)
        left = randomizer.randomize(array[:cut], words, first_row=first_row)
        right = randomizer.randomize(array[cut:], words, first_row=first_row + min(cut, len(array)))
        assert (np.concatenate([left, right]) == whole).all()


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


@pytest.mark.parametrize("symbols", [[-1], [5]])
def test_a_symbol_out_of_range_is_refused_without_being_shown(symbols: list[int]) -> None:
    for randomizer in (RandomizedResponse(size=5, epsilon0=1.0), Laplace(epsilon0=1.0).lattice(inputs=5)):
        with pytest.raises(InvalidInput, match=r"outside 0\.\.4") as refused:
            randomizer.randomize(np.array([777, *symbols]), KeyedWords.seeded(6), first_row=0)
        assert "777" not in str(refused.value)
