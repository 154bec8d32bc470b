import math

from hypothesis import given
from hypothesis import strategies as st

from shuffledp.arithmetic.inversion import first_double, first_integer, last_double


@given(st.floats(1e-300, 1e300))
def test_first_double_is_exact(threshold: float) -> None:
    assert first_double(lambda x: x >= threshold, 0.0, math.inf) == threshold


@given(st.floats(1e-300, 1e300))
def test_last_double_is_exact(threshold: float) -> None:
    assert last_double(lambda x: x <= threshold, 0.0, math.inf) == threshold


@given(st.integers(1, 10**18))
def test_first_integer_is_exact(threshold: int) -> None:
    assert first_integer(lambda x: x >= threshold, 0, 10**18) == threshold


def test_at_most_sixty_four_evaluations() -> None:
    calls: list[float] = []

    def holds(x: float) -> bool:
        calls.append(x)
        return x > 1e-200

    first_double(holds, 0.0, 1e300)
    assert 50 < len(calls) <= 64
