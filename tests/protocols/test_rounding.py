"""Rounding to a grid: the rule itself, in exact fractions."""

from fractions import Fraction

import numpy as np
import pytest

from shuffledp import KeyedWords
from shuffledp.core.words import ROUNDING, rows_from
from shuffledp.protocols.rounding import to_grid

WORDS = KeyedWords.seeded(11)
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
