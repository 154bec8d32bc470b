"""Rounding to a grid: the rule itself, in exact fractions."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from shuffledp import InvalidInput, KeyedRandomness
from shuffledp.core.randomness import ROUNDING, Lane, rows_from
from shuffledp.core.ranged import Ranged
from shuffledp.domains.domain import Policy
from shuffledp.protocols.rounding import to_grid
from shuffledp.protocols.summation import Summation

WORDS = KeyedRandomness.seeded(11)
ROWS = 600


@pytest.mark.parametrize("steps", [1, 3, 255, 256, 70_000, 1 << 24, 1 << 40])
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3.7, 11.25), (0.0, 1e-30)])
def test_a_value_is_rounded_up_if_136_random_bits_are_below_what_is_beyond_the_grid_point(
    steps: int, low: float, high: float
) -> None:
    """At the ends, on grid points and between, and where the first byte settles nothing."""
    generator = np.random.default_rng(steps)
    parts = np.concatenate([generator.random(ROWS // 2), generator.integers(0, 256 * steps, ROWS // 2) / (256 * steps)])
    values = np.clip(low + (high - low) * parts, low, high)
    values[:3] = low, high, np.nextafter(high, low)
    found = to_grid(values, WORDS, low=low, high=high, steps=steps, first_row=5).tolist()
    first = WORDS.stream(5, ROWS, ROUNDING).tolist()
    blocks = WORDS.blocks(rows_from(5, ROWS), 1 << 32).tolist()
    for value, byte, (upper, lower), symbol in zip(values, first, blocks, found, strict=True):
        scaled = Fraction(float((value - low) / (high - low) * steps))
        word = byte << 128 | upper << 64 | lower
        assert symbol == scaled // 1 + (word < scaled % 1 * 2**136 // 1)


class Tied:
    """Words that settle nothing until the last 64 bits: the byte and the next word are just what is beyond the grid point."""

    private = False

    def __init__(self, byte: int, word: int, last: list[int]) -> None:
        self._byte, self._blocks = byte, np.array([[word, end] for end in last], dtype=np.uint64)

    def reserve(self) -> None:
        """They are not for releases."""

    def stream(self, first_row: int, count: int, lane: Lane) -> NDArray[np.uint8]:
        return np.full(count, self._byte, dtype=np.uint8)

    def blocks(self, rows: NDArray[np.uint64], draw: int) -> NDArray[np.uint64]:
        return self._blocks[rows.astype(np.int64)]


@pytest.mark.parametrize("beyond", [Fraction(5, 2**75), Fraction(3, 2**74), Fraction(2**53 - 1, 2**120)])
def test_the_last_word_decides_where_all_before_it_are_even(beyond: Fraction) -> None:
    word, last = divmod(int(beyond * 2**136), 2**64)
    randomness = Tied(0, word, [last - 1, last, last + 1])
    found = to_grid(np.full(3, float(beyond)), randomness, low=0.0, high=1.0, steps=1, first_row=0)
    assert found.tolist() == [1, 0, 0]


def test_what_is_known_of_numbers_is_known_of_these_and_of_this_range_only() -> None:
    beyond = Ranged.of(np.array([0.5, 1.5]), 0.0, 2.0)
    assert to_grid(beyond, WORDS, low=0.0, high=2.0, steps=2, first_row=0).max() <= 2
    lied = Ranged.of(np.array([0.5, 1.5]), 0.0, 1.0)
    for values in (beyond, lied[:], lied + 0.0, lied.copy()):
        with pytest.raises(InvalidInput, match="outside"):
            to_grid(values, WORDS, low=0.0, high=1.0, steps=2, first_row=0)


def test_values_that_were_changed_after_they_were_cleaned_are_refused() -> None:
    """What was found is passed on in one place only, which cleans and randomizes in one go."""
    mean, mine = Summation.examples()[0], np.array([0.5, 0.75])
    clean = mean.domain.clean(mine)
    mine[0] = 7.0
    with pytest.raises(InvalidInput, match="outside"):
        mean.randomize(clean.values, WORDS, first_row=0)
    for raw in ([0.5, None], [0.5, 1.75]):
        policy = Policy(missing="skip", outside="clamp")
        assert mean.domain.clean(pa.array(raw), policy).within is None
