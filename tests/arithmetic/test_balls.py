import math

import mpmath as mp
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from shuffledp.arithmetic.balls import evaluate, exp_up, log_down, round_down, round_up
from shuffledp.arithmetic.enclosure import Enclosure


@given(st.floats(1e-300, 1e300), st.floats(1e-8, 1e8))
def test_enclosures_are_one_ulp_wide_and_contain_the_value(x: float, y: float) -> None:
    found = evaluate(lambda: (arb(x).log() * arb(y)).log1p() if x > 1 else (arb(x) * arb(y)).sqrt())
    with mp.workdps(60):
        truth = mp.log1p(mp.log(mp.mpf(x)) * mp.mpf(y)) if x > 1 else mp.sqrt(mp.mpf(x) * mp.mpf(y))
        assert mp.mpf(found.lower) <= truth <= mp.mpf(found.upper)
    assert found.upper <= math.nextafter(math.nextafter(found.lower, math.inf), math.inf)


@given(st.floats(1e-30, 1e-5))
def test_cancellation_is_met_with_precision(u: float) -> None:
    """(1 + u) log(1 + u) - u is u^2/2 - u^3/6 + ...; in doubles the naive form is 0 or negative."""
    found = evaluate(lambda: (1 + arb(u)) * arb(u).log1p() - arb(u))
    assert abs(found.upper / (u * u / 2 - u**3 / 6) - 1) < 1e-9


def test_rounding_directions() -> None:
    third = arb(1) / 3
    assert arb(round_down(third)) <= third
    assert arb(round_up(third)) >= third
    assert round_up(arb.nan()) == math.inf
    assert round_down(arb.nan()) == -math.inf


def test_a_delta_below_every_double_is_not_zero() -> None:
    assert exp_up(-1e6) == 5e-324
    assert exp_up(-math.inf) == 0.0


@given(st.floats(1e-300, 1.0))
def test_log_down_is_below(value: float) -> None:
    with mp.workdps(60):
        assert mp.mpf(log_down(value)) <= mp.log(mp.mpf(value))


def test_a_formula_that_never_settles_is_wide_not_wrong() -> None:
    zero = Enclosure(-math.inf, math.inf)
    assert evaluate(lambda: (arb(2).sqrt() ** 2 - 2).log()) == zero
