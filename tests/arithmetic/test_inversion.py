import math
from collections.abc import Callable
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp.arithmetic.inversion import Search, first_double, first_integer, last_double, search


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


@pytest.mark.parametrize("towards", ["larger", "smaller"])
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("start", [1.0, 4.9, 5.1, 700.0, 0.0])
def test_a_step_and_a_slope_are_found_in_few_evaluations(
    towards: Literal["larger", "smaller"], whole: bool, start: float
) -> None:
    """Whatever the condition's shape: at the returned point it holds, and within the precision before it it does not."""
    axis, sign = Search(low=1.0, high=1000.0, towards=towards, whole=whole), 1 if towards == "larger" else -1

    def step(x: float) -> float:
        return math.copysign(1.0, sign * (5.25 - x))

    def slope(x: float) -> float:
        return sign * (math.log(5.25) - math.log(x))

    for margin in (step, slope):
        seen = list[float]()

        def noted(x: float, margin: Callable[[float], float] = margin, seen: list[float] = seen) -> float:
            seen.append(x)
            return margin(x)

        found = search(noted, axis, start, 1e-3)
        assert found is not None
        assert found in seen
        assert margin(found) <= 0
        if whole:
            assert found == (6 if towards == "larger" else 5)
        else:
            assert abs(found - 5.25) <= 1.001e-3 * 5.25
        assert len(seen) <= (10 if margin is slope else 20)


def test_where_it_holds_everywhere_or_nowhere() -> None:
    axis = Search(low=1.0, high=100.0, towards="larger")
    assert search(lambda _: -1.0, axis, 7.0, 1e-3) == 1.0
    assert search(lambda _: 1.0, axis, 7.0, 1e-3) is None
    assert search(lambda _: -1.0, axis.mirrored(), 7.0, 1e-3) == 100.0
    assert search(lambda _: 1.0, axis.mirrored(), 7.0, 1e-3) is None
    assert search(lambda _: -1.0, Search(low=0.0, high=100.0, towards="larger"), 7.0, 1e-3) == 0.0
    assert axis.mirrored().mirrored() == axis


@pytest.mark.parametrize("towards", ["larger", "smaller"])
@pytest.mark.parametrize("error", [1e-1, -1e-2, 1e-4, 0.0])
def test_a_good_guess_takes_half_a_dozen_evaluations(towards: Literal["larger", "smaller"], error: float) -> None:
    """A margin as log delta is: it falls with the square of x. Both ends are within the precision in the end."""
    sign, seen = 1 if towards == "larger" else -1, list[float]()

    def margin(x: float) -> float:
        seen.append(x)
        return sign * (math.log(2.0) + 20 - 10 * x * x - math.log(x))

    root = 1.39954447  # 10 x^2 + log x = 20 + log 2
    found = search(margin, Search(low=0.0, high=100.0, towards=towards), root * (1 + error), 2e-6, steepness=40.0)
    assert found is not None
    assert margin(found) <= 0 < margin(found * (1 - sign * 2e-6))
    assert len(seen) - 2 <= 6


@given(st.floats(-30, 30), st.floats(-30, 30), st.sampled_from([0.01, 1.0, 30.0]))
def test_any_guess_and_any_monotone_margin_end_within_the_precision(start: float, at: float, power: float) -> None:
    """However far off the guess, and where the margin is flat, steep or jumps."""
    root, calls = math.exp(at), list[float]()

    def margin(x: float) -> float:
        calls.append(x)
        gap = math.log(root) - math.log(x) if x > 0 else math.inf
        return math.copysign(min(1e6, abs(gap) ** power), gap) + (5.0 if gap > 0 else -1e-9)

    found = search(margin, Search(low=0.0, high=1e20, towards="larger"), math.exp(start), 1e-6, steepness=7.0)
    assert found is not None
    assert margin(found) <= 0 < margin(found * (1 - 1e-6))
    assert len(calls) < 100
