"""The honest share of users is exact, and rounds to fewer honest users and more users."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp import InvalidInput
from shuffledp.core.turnout import honest_reports, people_to_ask, reports_expected, users_for


@given(st.integers(1, 10**6), st.integers(1, 10**12))
def test_a_decimal_fraction_is_exact(share: int, n: int) -> None:
    fraction = share / 10**6
    exact = Fraction(share, 10**6) * n
    if exact < 1:
        with pytest.raises(InvalidInput, match="no honest user is left"):
            honest_reports(n, fraction)
    else:
        assert honest_reports(n, fraction) == exact.numerator // exact.denominator


@given(st.floats(1e-9, 1.0), st.integers(1, 10**8))
def test_users_for_is_the_least_number_that_suffices(fraction: float, honest: int) -> None:
    n = users_for(honest, fraction)
    assert honest_reports(n, fraction) >= honest
    assert n == 1 or int(Fraction(repr(fraction)) * (n - 1)) < honest


@pytest.mark.parametrize("fraction", [0.0, -0.5, 1.0000001, float("nan"), float("inf"), "1", None, True])
def test_what_is_no_share_is_refused(fraction: float) -> None:
    with pytest.raises(InvalidInput, match="`honest_fraction` must be"):
        honest_reports(100, fraction)
    with pytest.raises(InvalidInput, match="`honest_fraction` must be"):
        users_for(100, fraction)


@given(st.integers(0, 10**6 - 1), st.integers(1, 10**9))
def test_a_decimal_dropout_is_exact(share: int, asked: int) -> None:
    """Those who answer are rounded down, and those to ask are the least number that suffices."""
    dropout = share / 10**6
    exact = Fraction(10**6 - share, 10**6) * asked
    if exact < 1:
        with pytest.raises(InvalidInput, match="nobody is left"):
            reports_expected(asked, dropout)
    else:
        assert reports_expected(asked, dropout) == exact.numerator // exact.denominator
    people = people_to_ask(asked, dropout)
    assert reports_expected(people, dropout) >= asked
    assert people == 1 or Fraction(10**6 - share, 10**6) * (people - 1) < asked


@pytest.mark.parametrize("dropout", [1.0, -0.1, 1.5, float("nan"), float("inf"), "0", None, True])
def test_what_is_no_dropout_is_refused(dropout: float) -> None:
    for of in (reports_expected, people_to_ask):
        with pytest.raises(InvalidInput, match="dropout must be"):
            of(100, dropout)
