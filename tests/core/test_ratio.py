"""Ratios of two estimates: the quadratic that Fieller's interval solves, and where there is no number."""

import math

import numpy as np
import pytest

from shuffledp.core.estimate import Estimate
from shuffledp.core.ratio import Ratios

TOP, BOTTOM = np.array([30.0, -2.0, 55.0, 5.0, 3.0, 3.0]), np.array([100.0, 40.0, 60.0, 10.0, 10.0, -50.0])
VARIANCES = (
    np.array([16.0, 9.0, 25.0, 4.0, 4.0, 1.0]),
    np.array([5.0, -1.0, 8.0, 0.0, 0.0, 0.0]),
    np.array([36.0, 25.0, 30.0, 6.25, 6.26, 1.0]),  # the fourth is just sure, the fifth is just not
)
NAMES = ("a", "b", "c", "d", "e", "f")


def ratios(start: float = 0.0, span: float = 1.0) -> Ratios:
    linear = Estimate(value=np.zeros(6), standard_error=np.ones(6), n=77)
    return Ratios.between(linear, top=TOP, bottom=BOTTOM, variances=VARIANCES, names=NAMES, start=start, span=span)


def variance(j: int, m: float) -> float:
    """Of T - m B."""
    return float(VARIANCES[0][j] - 2 * m * VARIANCES[1][j] + m * m * VARIANCES[2][j])


def test_values_errors_and_refusals() -> None:
    found = ratios()
    for j in range(4):
        m = TOP[j] / BOTTOM[j]
        assert found.value[j] == pytest.approx(m)
        assert found.standard_error[j] == pytest.approx(math.sqrt(variance(j, m)) / BOTTOM[j])
    assert np.isnan(found.value[4:]).all()
    assert np.isnan(found.standard_error[4:]).all()
    assert list(found.refused) == ["e", "f"]
    assert found.refused["f"] == "too few users to say: -50, with a standard error of 1"
    assert (found.n, found.names, found.guarantee) == (77, NAMES, None)


@pytest.mark.parametrize("z", [1.0, 1.96, 3.9])
def test_the_ends_solve_the_quadratic(z: float) -> None:
    low, high = ratios().limits(z)
    for j in range(4):
        for end in (low[j], high[j]):
            assert (TOP[j] - end * BOTTOM[j]) ** 2 == pytest.approx(z * z * variance(j, end), rel=1e-9)
        assert low[j] < TOP[j] / BOTTOM[j] < high[j]
    assert np.isnan(low[4:]).all()
    assert np.isnan(high[4:]).all()


def test_everything_is_possible_where_the_bottom_may_be_none() -> None:
    """Where B is at most z standard errors of it: from 0 to 1, or to the estimate if that is outside."""
    low, high = ratios().limits(4.0)  # the fourth is exactly so
    assert (low[3], high[3]) == (0.0, 1.0)
    low, high = ratios().limits(20.0)
    assert low[:4].tolist() == [0.0, -2 / 40, 0.0, 0.0]
    assert high[:4].tolist() == [1.0, 1.0, 1.0, 1.0]


@pytest.mark.parametrize(("start", "span"), [(10.0, 5.0), (-3.0, 0.5)])
def test_other_units(start: float, span: float) -> None:
    plain, other = ratios(), ratios(start, span)
    assert other.value[:4] == pytest.approx(start + span * plain.value[:4])
    assert other.standard_error[:4] == pytest.approx(span * plain.standard_error[:4])
    for z in (1.96, 20.0):
        for end, there in zip(plain.limits(z), other.limits(z), strict=True):
            assert there[:4] == pytest.approx(start + span * end[:4])


def test_no_unit_of_the_bottom_is_special() -> None:
    small = Ratios.between(
        Estimate(value=np.zeros(6), standard_error=np.ones(6), n=77), top=TOP / 2**20, bottom=BOTTOM / 2**20,
        variances=tuple(one / 2**40 for one in VARIANCES), names=NAMES,  # type: ignore[arg-type]
    )  # fmt: skip
    np.testing.assert_array_equal(small.value, ratios().value)
    for there, here in zip(small.limits(1.96), ratios().limits(1.96), strict=True):
        np.testing.assert_allclose(there, here, rtol=1e-12)
    nobody = Ratios.between(
        Estimate(value=np.zeros(1), standard_error=np.ones(1), n=0), top=np.zeros(1), bottom=np.zeros(1),
        variances=(np.zeros(1), np.zeros(1), np.zeros(1)), names=("nobody",),
    )  # fmt: skip
    assert np.isnan(nobody.value[0])
