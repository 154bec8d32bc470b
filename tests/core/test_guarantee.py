"""What a guarantee means for one person: the formulas, and to which side they are rounded."""

import math

import mpmath as mp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp import Guarantee
from shuffledp.core.digits import fixed, interval, rounded_down, rounded_up


def promise(epsilon: float, delta: float) -> Guarantee:
    return Guarantee(epsilon=epsilon, delta=delta, n=1000, bound="best", reference="")


@given(st.floats(0, 700), st.floats(0, 1))
def test_an_attacker_is_right_at_most_that_often(epsilon: float, delta: float) -> None:
    with mp.workdps(40):
        truth = min(mp.mpf(1), (mp.exp(epsilon) + mp.mpf(delta)) / (mp.exp(epsilon) + 1))
        found = mp.mpf(promise(epsilon, delta).success)
        assert truth <= found <= truth * (1 + mp.mpf(2) ** -47)


@given(st.floats(0, 700), st.floats(0, 1), st.floats(0, 1))
def test_hits_are_bounded_from_both_sides(epsilon: float, delta: float, alarms: float) -> None:
    with mp.workdps(40):
        steep, flat = mp.exp(epsilon) * mp.mpf(alarms) + delta, 1 - mp.exp(-epsilon) * (1 - mp.mpf(delta) - alarms)
        assert promise(epsilon, delta).hits(alarms) == pytest.approx(float(min(1, steep, flat)), rel=1e-12, abs=1e-15)


def test_without_false_alarms_only_delta_hits() -> None:
    assert promise(1000.0, 0.25).hits(0.0) == 0.25
    assert promise(1.0, 0.0).hits(1.0) == 1.0


@given(st.floats(1e-300, 1e300), st.integers(1, 9))
def test_a_printed_number_is_on_its_side(value: float, digits: int) -> None:
    up, down = mp.mpf(rounded_up(value, digits)), mp.mpf(rounded_down(value, digits))
    with mp.workdps(40):
        exact = mp.mpf(repr(value))
        step = mp.mpf(10) ** (math.floor(math.log10(value)) - digits + 2)
        assert exact <= mp.mpf(rounded_up(value, digits)) < exact + step
        assert exact - step < mp.mpf(rounded_down(value, digits)) <= exact
    assert down <= up


@pytest.mark.parametrize(
    ("value", "up", "down"),
    [
        (0.0, "0", "0"), (math.inf, "inf", "inf"), (1e-5, "0.00001", "0.00001"), (9.9999999e-6, "1e-5", "9.99999e-6"),
        (999_999_999.0, "1000000000", "999999000"), (1e9, "1e+9", "1e+9"), (123456.0, "123456", "123456"),
        (-1.23456789, "-1.23456", "-1.23457"),
    ],
)  # fmt: skip
def test_how_a_number_is_printed(value: float, up: str, down: str) -> None:
    assert (rounded_up(value), rounded_down(value)) == (up, down)


def test_both_ends_of_an_interval_are_rounded_outwards() -> None:
    assert interval(-1.26, 1.21, 1) == ("-1.3", "1.3")
    assert interval(1.21, 1.29, 1) == ("1.2", "1.3")
    assert interval(1234567.1, 1234567.8, None) == ("1.23456e+6", "1.23457e+6")
    assert (fixed(2.5, 0), fixed(-0.04, 1), fixed(1234.5678, 2), fixed(math.nan, 2)) == ("2", "0.0", "1,234.57", "-")
