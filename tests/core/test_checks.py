"""What is refused begins exactly where it is said to begin."""

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from shuffledp import InvalidInput
from shuffledp.core import checks

WHOLE = [np.int64(7), 1e6, Decimal("1e3"), Fraction(4, 2), np.float32(8), np.array(9)]
NO_NUMBERS = [None, np.True_, 1j, np.array([1.0]), np.array([1, 2]), np.timedelta64(1, "s"), Decimal("sNaN")]
HUGE = Decimal("1e999999999")
LEAST, BELOW_1 = math.nextafter(0.0, 1.0), math.nextafter(1.0, 0.0)


def a_real(value: Any) -> float:
    return checks.real(value, "x")


def a_whole(value: Any) -> int:
    return checks.whole(value, "x", "Give another.")


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (checks.users, [1, 2, 10**18, *WHOLE], [0, -1, 10**18 + 1, 1.5, True, "5", None]),
        (checks.size, [2, 3, 2**32], [1, 0, -2, 2**32 + 1, 2.5, True, "5"]),
        (lambda value: checks.probability(value, "delta"), [LEAST, 0.5, BELOW_1], [0.0, 1.0, -0.1, 1.5, math.nan, "0.5", True]),
        (checks.epsilon, [0.0, LEAST, 700.0], [-LEAST, math.nextafter(700.0, math.inf), math.inf, math.nan, "1", False]),
        (lambda value: checks.epsilon(value, positive=True), [1e-9, 1.0, 700.0], [0.0, math.nextafter(1e-9, 0.0), 701.0]),
        (lambda value: checks.scale(value, "sigma"), [0.1, 1.0, 1e6], [math.nextafter(0.1, 0.0), 1e6 + 1e-9, math.nan, "1"]),
        (a_real, [1, np.float64(2), Fraction(1, 4), Decimal("0.5")], ["1", b"1", True, 10**400, *NO_NUMBERS]),
        (a_whole, [0, -3, 10**30, np.uint8(4), 3.0], [0.5, True, "1", math.nan, math.inf, HUGE, *NO_NUMBERS]),
    ],
)  # fmt: skip
def test_the_limits_belong_to_what_is_allowed(check: Callable[[Any], Any], good: list[Any], bad: list[Any]) -> None:
    for value in good:
        assert check(value) == value
    for value in bad:
        with pytest.raises(InvalidInput, match=r" must be .*; got .*\. [A-Z]"):
            check(value)


def test_what_is_too_large_for_a_size_is_told_what_to_do() -> None:
    with pytest.raises(InvalidInput, match="Use at least 2"):
        checks.size(1)
    with pytest.raises(InvalidInput, match="Ask about texts instead"):
        checks.size(2**32 + 1)


def test_what_is_too_small_for_an_epsilon_is_told_the_least() -> None:
    with pytest.raises(InvalidInput, match=r"epsilon must be at least 1e-9 and at most 700; got 0\.0"):
        checks.epsilon(0.0, positive=True)
    with pytest.raises(InvalidInput, match=r"epsilon must be at least 0 and at most 700; got -1\.0"):
        checks.epsilon(-1.0)


@pytest.mark.parametrize("size", [2, 255, 256, 257, 65_536, 65_537, 2**32])
def test_symbols_end_below_the_size_and_have_the_least_type(size: int) -> None:
    last = np.array([0, size - 1])
    found = checks.symbols(last, size)
    assert found.tolist() == last.tolist()
    assert found.dtype == np.min_scalar_type(size - 1)
    same = last.astype(found.dtype)
    assert not np.shares_memory(checks.symbols(same, size), same)
    for wrong in (np.array([0, size]), np.array([-1, 0]), np.array([0, size], dtype=np.uint64)):
        with pytest.raises(InvalidInput, match=r"outside 0\.\."):
            checks.symbols(wrong, size)
    for wrong in (np.zeros((2, 2), dtype=int), np.zeros(2), np.array([True])):
        with pytest.raises(InvalidInput, match="one-dimensional array of whole numbers"):
            checks.symbols(wrong, size)
    assert len(checks.symbols(np.array([], dtype=int), size)) == 0


def test_numbers_are_one_column_of_real_numbers() -> None:
    given = np.array([1.0, 2.0])
    assert checks.numbers(given) is given
    assert checks.numbers([1, 2]).tolist() == [1.0, 2.0]
    for wrong in ([[1.0]], 3.0, ["a"], [1j], [np.datetime64("2020-01-01")], [np.timedelta64(1, "s")], [object()]):
        with pytest.raises(InvalidInput, match="one-dimensional array of numbers"):
            checks.numbers(wrong)


@pytest.mark.parametrize("low", [0.0, -1.0])
@pytest.mark.parametrize("bad", [np.nan, -np.nan, np.inf, -np.inf, np.nextafter(1.0, 2.0), -1.5])
def test_whatever_is_outside_a_range_is_seen(low: float, bad: float) -> None:
    """The bits of doubles are compared if the range begins at 0, where -0 is inside and the number just below it is not."""
    assert checks.within(np.array([]), low, 1.0)
    assert checks.within(np.array([0.0, -0.0, 0.3, 1.0]), low, 1.0)
    assert not checks.within(np.array([0.5, bad, 0.5]), low, 1.0)
    assert checks.within(np.array([-5e-324]), low, 1.0) == (low < 0)


@pytest.mark.parametrize(
    "value", [Fraction(1, 10), Fraction(1, 3), Decimal("0.1"), Decimal("1e-400"), 10**17 + 1, Fraction(-1, 3)]
)
def test_what_is_no_double_is_rounded_to_the_side_that_was_asked_for(value: Any) -> None:
    below, above = checks.real(value, "x", "down"), checks.real(value, "x", "up")
    assert below < value < above
    assert math.nextafter(below, math.inf) == above
    assert checks.real(value, "x") in (below, above)


def test_a_long_double_is_rounded_too() -> None:
    value = np.longdouble(1) / 3
    if float(value) == value:
        pytest.skip("a long double is a double on this machine")
    assert checks.real(value, "x", "down") < value < checks.real(value, "x", "up")
