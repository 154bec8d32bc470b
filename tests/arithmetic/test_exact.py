"""Exact sums: what fractions say, however the summands are ordered or cut."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp.arithmetic import exact
from shuffledp.arithmetic.exact import exact_sum

doubles = st.floats(allow_nan=False, allow_infinity=False)


@given(
    st.lists(st.one_of(doubles, st.floats(-1, 1), st.sampled_from([5e-324, -5e-324, 1.7e308, 0.1, -0.0])), max_size=60)
)
def test_a_sum_is_the_sum_of_fractions(values: list[float]) -> None:
    assert exact_sum(np.array(values)) == sum(map(Fraction, values), Fraction(0))


@given(st.lists(st.floats(-1e300, 1e300), max_size=60))
def test_rounded_it_is_fsum(values: list[float]) -> None:
    assert float(exact_sum(np.array(values))) == math.fsum(values)


@given(st.lists(doubles, max_size=60), st.randoms(use_true_random=False), st.integers(0, 60), st.integers(1, 7))
def test_neither_order_nor_parts_matter(values: list[float], shuffler: object, cut: int, at_once: int) -> None:
    whole = exact_sum(np.array(values))
    mixed = list(values)
    shuffler.shuffle(mixed)  # type: ignore[attr-defined]
    assert exact_sum(np.array(mixed)) == whole
    assert exact_sum(np.array(values[:cut])) + exact_sum(np.array(values[cut:])) == whole
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "_AT_ONCE", at_once)
        assert exact_sum(np.array(values)) == whole


@pytest.mark.parametrize("scale", [1e-310, 1.0, 1e100])
def test_many_values_at_once(scale: float) -> None:
    """Sums of halves of mantissas stay whole numbers; adding doubles up is off."""
    values = np.random.default_rng(1).uniform(-scale, scale, 200_000)
    assert float(exact_sum(values)) == math.fsum(values.tolist())
    ones = np.full(1 << 20, math.nextafter(scale, 0.0))
    assert exact_sum(ones) == Fraction(math.nextafter(scale, 0.0)) * (1 << 20)


def test_the_values_are_not_changed() -> None:
    values = np.array([0.1, -2.5, 1e300])
    exact_sum(values)
    assert values.tolist() == [0.1, -2.5, 1e300]
