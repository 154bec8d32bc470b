import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp import InvalidInput, summation_error_floor


def display(k: int, n: int, epsilon: float, delta: float) -> float:
    return n * k * min(math.exp(-epsilon) / (8 * k**3), (1 - 1 / k**2) * (0.5 - delta) / (48 * n))


@given(st.integers(1, 10**12), st.floats(0, 10), st.floats(0, 0.49))
def test_theorem_4_2_as_displayed(n: int, epsilon: float, delta: float) -> None:
    k = next(k for k in range(round(n ** (1 / 3)) - 1, 2 * 10**4) if k >= 1 and k**3 >= n)
    found = summation_error_floor(n=n, epsilon=epsilon, delta=delta)
    assert found == pytest.approx(display(k, n, epsilon, delta), rel=1e-12)


@given(st.integers(1, 3000), st.floats(0, 4), st.floats(0, 0.49))
def test_the_tightened_floor_is_the_best_of_all_k(n: int, epsilon: float, delta: float) -> None:
    best = max(display(k, n, epsilon, delta) for k in range(1, 200))
    assert summation_error_floor(n=n, epsilon=epsilon, delta=delta, tightened=True) == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize(("n", "floor"), [(10**3, 0.103), (10**4, 0.229), (10**6, 1.04), (10**8, 4.84)])
def test_known_values(n: int, floor: float) -> None:
    assert summation_error_floor(n=n, epsilon=1.0, delta=1e-6) == pytest.approx(floor, rel=5e-3)


def test_delta_of_a_half_is_refused() -> None:
    with pytest.raises(InvalidInput, match="below 1/2"):
        summation_error_floor(n=10, epsilon=1.0, delta=0.5)
