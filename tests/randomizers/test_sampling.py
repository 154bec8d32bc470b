"""Thresholds and the corners of sampling; tests/conformance/test_randomizers.py has what holds for every randomizer."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chisquare, laplace

from shuffledp import (
    Channel,
    InvalidInput,
    KeyedRandomness,
    Laplace,
    LatticeChannel,
    RandomizedResponse,
    SystemRandomness,
)
from shuffledp.core.randomness import RESPONSE, coins, rows_from

SIGNIFICANCE = 1e-9
N = 400_000


def p_value(messages: NDArray[np.integer], law: NDArray[np.float64]) -> float:
    observed = np.bincount(messages, minlength=len(law))
    return float(chisquare(observed, law / law.sum() * len(messages)).pvalue)


class Dealt:
    """Words that are dealt out: 64 bits for each row, the first eight of them by the stream; a uniform message is 1 of 2."""

    private = False

    def __init__(self, *numbers: int) -> None:
        self._numbers = np.array(numbers, dtype=np.uint64)

    def reserve(self) -> None:
        """They are not for releases."""

    def stream(self, first_row: int, count: int, lane: int) -> NDArray[np.uint8]:
        assert (first_row, lane) == (3, RESPONSE)
        return (self._numbers >> np.uint64(56)).astype(np.uint8)[:count]

    def blocks(self, rows: NDArray[np.uint64], draw: int) -> NDArray[np.uint64]:
        assert draw == 0
        mine = self._numbers[(rows - np.uint64(3)).astype(np.int64)]
        return np.stack(
            [mine << np.uint64(8) | np.uint64(0xFF), np.full(len(mine), 2**32 - 1, dtype=np.uint64)], axis=1
        )


class Whole(Dealt):
    """The same, both words of a block."""

    def blocks(self, rows: NDArray[np.uint64], draw: int) -> NDArray[np.uint64]:
        return np.stack([self._numbers, self._numbers], axis=1)


@pytest.mark.parametrize(
    "threshold", [1, 2, 255, 2**56 - 1, 2**56, 2**56 + 1, 15 << 56, (16 << 56) + 7, 2**63, 2**64 - 1]
)
def test_a_word_below_the_threshold_is_in_the_blanket_and_the_threshold_itself_is_not(threshold: int) -> None:
    """By the last bit: T - 1 and T, and what has their first byte or the ones beside it."""
    response = RandomizedResponse.of_threshold(size=2, threshold=threshold)
    near = {threshold + step for step in (-(2**56), -2, -1, 0, 1, 2, 2**56)} | {0, 2**64 - 1}
    numbers = sorted(number for number in near if 0 <= number < 2**64)
    sent = response.randomize(np.zeros(len(numbers), dtype=np.uint8), Dealt(*numbers), first_row=3)
    assert sent.tolist() == [int(number < threshold) for number in numbers]


def test_a_word_on_a_boundary_of_a_lattice_belongs_to_the_next_message() -> None:
    counts = ((5, 0, 2**63, 2**63 - 5), (2**64 - 2, 1, 1, 0))
    lattice = LatticeChannel(counts=counts, inputs=(0.0, 1.0), outputs=(0.0, 1.0, 2.0, 3.0), label="boundaries")
    numbers = (0, 4, 5, 2**63 + 4, 2**63 + 5, 2**64 - 3, 2**64 - 2, 2**64 - 1)
    for symbol, messages in ((0, [0, 0, 2, 2, 3, 3, 3, 3]), (1, [0, 0, 0, 0, 0, 0, 1, 2])):
        sent = lattice.randomize(np.full(len(numbers), symbol), Whole(*numbers), first_row=3)
        assert sent.tolist() == messages


@pytest.mark.parametrize("threshold", [1, 2**56, 2**63, 2**64 - 1])
def test_a_coin_falls_on_true_below_its_threshold(threshold: int) -> None:
    numbers = (0, threshold - 1, threshold, 2**64 - 1)
    thrown = coins(threshold, 3, rows_from(3, 4), Whole(*numbers), 0)
    assert thrown.tolist() == [[number < threshold] * 3 for number in numbers]
    assert coins(2**64, 3, rows_from(3, 4), Whole(*numbers), 0).all()


def test_system_words_follow_the_law_too() -> None:
    response = RandomizedResponse(size=3, gamma=0.5)
    messages = response.randomize(np.zeros(N, dtype=np.int64), SystemRandomness(), first_row=0)
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
    messages = response.randomize(np.zeros(N, dtype=np.uint8), KeyedRandomness.seeded(4), first_row=0)
    assert p_value(messages, np.array([0.5, 0.5])) > SIGNIFICANCE


def test_impossible_messages_are_never_sent() -> None:
    lattice = LatticeChannel.of(Channel([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]]))
    messages = lattice.randomize(np.zeros(100_000, dtype=np.int64), KeyedRandomness.seeded(5), first_row=0)
    assert set(messages.tolist()) == {0, 1}


def test_a_lattice_reaches_as_far_as_it_says_and_has_the_cells_of_its_law() -> None:
    lattice = Laplace(epsilon0=2.0).lattice(inputs=5, outputs=33, reach=2.0)
    assert lattice.inputs == (0.0, 0.25, 0.5, 0.75, 1.0)
    assert lattice.outputs == pytest.approx(np.linspace(-2.0, 3.0, 33))
    edges = (np.linspace(-2.0, 3.0, 33)[1:] + np.linspace(-2.0, 3.0, 33)[:-1]) / 2
    for symbol, value in enumerate(lattice.inputs):
        below = np.concatenate([[0.0], laplace.cdf(edges, loc=value, scale=0.5), [1.0]])
        assert lattice.probability(np.arange(33), symbol) == pytest.approx(np.diff(below), rel=1e-9)


def test_cells_of_a_lattice_are_whole_and_possible_ones_at_least_one() -> None:
    """A probability far below 2^-64 becomes that, and what is owed is taken from the largest."""
    lattice = LatticeChannel.of(Channel([[1e-30, 1 - 1e-30, 0.0], [0.5, 0.25, 0.25]]))
    assert lattice.counts == ((1, 2**64 - 1, 0), (2**63, 2**62, 2**62))
    assert lattice.outputs == (0.0, 1.0, 2.0)
    assert lattice.inputs == (0.0, 1.0)


@pytest.mark.parametrize(
    ("inputs", "outputs", "reach"), [(1, 5, 1.0), (5, 1, 1.0), (5, 5, 0.0), (5, 5, 1e12), (5, 5, -1.0)]
)
def test_what_is_no_lattice_is_refused(inputs: int, outputs: int, reach: float) -> None:
    with pytest.raises(InvalidInput):
        Laplace(epsilon0=2.0).lattice(inputs=inputs, outputs=outputs, reach=reach)


@pytest.mark.parametrize(
    ("counts", "inputs", "outputs"),
    [
        (((2**64,),), (0.0,), (0.0,)), (((2**64, 0), (1, 2**64 - 1)), (0.0,), (0.0, 1.0)),
        (((2**64, 1), (1, 2**64 - 1)), (0.0, 1.0), (0.0, 1.0)), (((2**64 + 1, -1), (1, 2**64 - 1)), (0.0, 1.0), (0.0, 1.0)),
        (((2**64, 0), (2**64,)), (0.0, 1.0), (0.0, 1.0)), (((2.0**64, 0), (1, 2**64 - 1)), (0.0, 1.0), (0.0, 1.0)),
    ],
)  # fmt: skip
def test_counts_that_are_no_channel_are_refused(counts: Any, inputs: Any, outputs: Any) -> None:
    with pytest.raises(InvalidInput, match="row"):
        LatticeChannel(counts=counts, inputs=inputs, outputs=outputs, label="wrong")


def test_probabilities_are_doubles_even_if_one_is_a_whole_word() -> None:
    sure = LatticeChannel(counts=((2**64, 0), (1, 2**64 - 1)), inputs=(0.0, 1.0), outputs=(0.0, 1.0), label="sure")
    assert sure.probability(np.arange(2), 0).dtype == np.float64
    assert sure.probability(np.arange(2), 0).tolist() == [1.0, 0.0]


def test_many_rows_are_randomized_as_if_each_were_alone() -> None:
    """However many are taken at once: rows on both sides of every cut have the messages of their own addresses."""
    response, randomness = RandomizedResponse.of_threshold(size=300, threshold=3 << 61), KeyedRandomness.seeded(3)
    symbols = np.arange((1 << 19) + 5) % 300
    sent = response.randomize(symbols, randomness, first_row=7)
    assert len(sent) == len(symbols)
    for row in (0, (1 << 18) - 1, 1 << 18, (1 << 19) - 1, 1 << 19, (1 << 19) + 4):
        assert sent[row] == response.randomize(symbols[row : row + 1], randomness, first_row=7 + row)[0]
    some = slice((1 << 18) - 1000, (1 << 18) + 1000)
    assert (sent[some] == response.randomize(symbols[some], randomness, first_row=7 + some.start)).all()
