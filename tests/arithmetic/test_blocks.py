"""Blocks: above the sum of any of the laws, and hardly more."""

import math

import numpy as np
import pytest

from shuffledp.arithmetic.blocks import largest_block
from shuffledp.arithmetic.positive_part import log_expected_positive_part
from shuffledp.arithmetic.summand_law import Law, Reals


def _law(values: Reals, masses: Reals) -> Law:
    return Law(values, masses, np.abs(values))


def _sums(law: Law, m: int) -> tuple[Reals, Reals]:
    """Every value of a sum of m, and its probability."""
    values, masses = np.zeros(1), np.ones(1)
    for _ in range(m):
        values = (values[:, None] + law.values).ravel()
        masses = (masses[:, None] * law.masses).ravel()
        values, where = np.unique(np.round(values, 12), return_inverse=True)
        masses = np.asarray(np.bincount(where.ravel(), masses), dtype=np.float64)
    return values, masses


def _two(seed: int) -> tuple[Law, Law]:
    """Two laws of one mean, skewed to different sides."""
    generator = np.random.default_rng(seed)
    first, second = generator.dirichlet(np.ones(3) * 3, size=2)
    shift = first - math.exp(generator.uniform(0, 0.3)) * second
    return _law(shift / first, first), _law(shift / second, second)


@pytest.mark.parametrize("m", [1, 2, 7])
@pytest.mark.parametrize("seed", range(6))
def test_no_sum_is_above_the_block_anywhere(seed: int, m: int) -> None:
    laws = _two(seed)
    block = largest_block(laws, m)
    alone = [largest_block([law], m) for law in laws]
    highest = np.zeros(2)
    for law in laws:
        values, masses = _sums(law, m)
        for t in [*values.tolist(), *np.linspace(values[0] - 1, values[-1] + 1, 40).tolist()]:
            truth = float(np.maximum(values - t, 0) @ masses)
            assert truth <= float(np.maximum(block.law.values - t, 0) @ block.law.masses) + block.shortfall
            highest = np.maximum(highest, [truth - np.maximum(a.law.values - t, 0) @ a.law.masses for a in alone])
    assert (highest > 1e-4).all()  # the block of one law alone is not above the other's
    assert block.shortfall < 1e-8


@pytest.mark.parametrize("m", [100, 5000])
def test_large_blocks_against_the_kernel(m: int) -> None:
    laws = _two(0)
    block = largest_block(laws, m)
    mean = float(block.law.masses @ block.law.values)
    spread = float(block.law.masses @ block.law.values**2) - mean**2
    widest = max(float(law.masses @ law.values**2) - (mean / m) ** 2 for law in laws)
    assert widest <= spread / m <= widest * (1 + 0.002 + 0.6 / math.sqrt(m))
    for t in np.linspace(-3, 3, 13) * math.sqrt(spread):
        height = float(np.maximum(block.law.values - t, 0) @ block.law.masses) + block.shortfall
        for law in laws:
            shifted = Law(law.values - t / m, law.masses, law.scales + abs(t / m), law.ulps + 2)
            assert math.exp(log_expected_positive_part(shifted, m).log.lower) <= height * (1 + 1e-12)
