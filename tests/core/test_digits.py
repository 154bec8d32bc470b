"""Numbers as they are printed: what was claimed is still claimed."""

import math
from decimal import Decimal

import numpy as np
import pytest

from shuffledp.core.digits import counted, decimals, fixed, interval, rounded_down, rounded_up


def test_rounded_to_the_side_that_keeps_the_claim() -> None:
    generator = np.random.default_rng(1)
    for value in (generator.choice([-1, 1], 400) * 10.0 ** generator.uniform(-320, 300, 400)).tolist():
        for digits in (1, 3, 6, 12):
            up, down, exact = (
                Decimal(rounded_up(value, digits)),
                Decimal(rounded_down(value, digits)),
                Decimal(repr(value)),
            )
            assert down <= exact <= up
            assert up - down <= abs(exact) * Decimal(10) ** (1 - digits)
            assert all(len(end.normalize().as_tuple().digits) <= digits for end in (up, down))


def test_six_digits_unless_told() -> None:
    assert (rounded_up(1.23456789), rounded_down(1.23456789)) == ("1.23457", "1.23456")
    assert (rounded_up(-1.23456789), rounded_down(-1.23456789)) == ("-1.23456", "-1.23457")


def test_where_powers_of_ten_are_written_out() -> None:
    assert (rounded_up(1e-5), rounded_up(9.99e-6)) == ("0.00001", "9.99e-6")
    assert (rounded_up(999_999_000.0), rounded_up(1e9)) == ("999999000", "1e+9")
    assert rounded_up(-2e-5) == "-0.00002"
    assert [rounded_up(value) for value in (0.0, math.inf, -math.inf, math.nan)] == ["0", "inf", "-inf", "nan"]


def test_counted() -> None:
    assert [counted(number, "row") for number in (0, 1, 2, 1234)] == ["0 rows", "1 row", "2 rows", "1,234 rows"]


@pytest.mark.parametrize(
    ("errors", "numbers", "places"),
    [([0.031, 12.0], [104.2], 4), ([0.1], [], 3), ([1.0], [], 2), ([9.99], [], 2), ([10.0], [], 1), ([1e5], [], 0),
     ([math.nan, 0.5], [math.nan], 3), ([], [], 2), ([2e-9], [1.0], 11), ([1e-9], [1.0], None),
     ([1.0], [-1e12], None), ([1.0], [-0.99e12, 3.0], 2)],
)  # fmt: skip
def test_as_many_decimals_as_show_three_digits_of_the_least_error(
    errors: list[float], numbers: list[float], places: int | None
) -> None:
    assert decimals(errors, numbers) == places


def test_intervals_are_rounded_outwards() -> None:
    assert interval(0.123, 0.123, 2) == ("0.12", "0.13")
    assert interval(-0.127, -0.121, 2) == ("-0.13", "-0.12")
    assert interval(1234567.8, 1234567.8, None) == ("1.23456e+6", "1.23457e+6")
    assert interval(-0.001, 0.001, 1) == ("-0.1", "0.1")


def test_fixed() -> None:
    assert (fixed(0.125, 2), fixed(0.135, 2)) == ("0.12", "0.14")  # the even digit
    assert fixed(-0.001, 2) == "0.00"
    assert fixed(1234567.0, 0) == "1,234,567"
    assert (fixed(math.nan, 2), fixed(math.nan, None)) == ("-", "-")
