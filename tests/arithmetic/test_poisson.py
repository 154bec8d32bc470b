"""The kernel encloses the expected positive part of a Poisson number of summands: against direct sums at high precision."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import InvalidInput
from shuffledp.arithmetic.positive_part import log_expected_positive_part
from shuffledp.arithmetic.summand_law import Law, Poisson
from shuffledp.arithmetic.tilt import chernoff, chernoff_many


def law_of(values: list[float], masses: list[float]) -> Law:
    return Law(np.array(values), np.array(masses), np.abs(np.array(values)))


def directly(values: list[float], rates: list[float], drift: float = 0.0) -> mp.mpf:
    """E[(drift + sum of v_i N_i)_+] for N_i ~ Poisson(r_i) and one positive value: up to a relative 1e-20, at 40 digits."""
    with mp.workdps(40):
        laws = []
        for rate in rates:
            chances, k = [mp.exp(-mp.mpf(rate))], 0
            while k < rate or chances[-1] > mp.mpf(10) ** -70:
                k += 1
                chances.append(chances[-1] * rate / k)
            laws.append(chances)
        (up, *losses), (ups, *others) = values, laws
        # E[(up N - loss)_+] from the tail sums of N and of N times its law
        tail, mean = [mp.mpf(0)] * (len(ups) + 1), [mp.mpf(0)] * (len(ups) + 1)
        for k in range(len(ups) - 1, -1, -1):
            tail[k], mean[k] = tail[k + 1] + ups[k], mean[k + 1] + k * ups[k]

        def from_loss(loss: mp.mpf) -> mp.mpf:
            first = min(len(ups), int(mp.floor(loss / up)) + 1)
            return up * mean[first] - loss * tail[first]

        def over(index: int, loss: mp.mpf) -> mp.mpf:
            if index == len(others):
                return from_loss(loss)
            return mp.fsum(c * over(index + 1, loss - losses[index] * j) for j, c in enumerate(others[index]))

        return over(0, -mp.mpf(drift))


POINTS = [
    ([1.0, -1.5], [8.0, 8.0], 0.0),
    ([1.0, -math.e], [43.0, 43.0], 0.0),
    ([1.0, -math.e, 1 - math.e], [43.0, 43.0, 0.01], 0.0),
    ([1.0, -math.e], [43.0, 43.0], -0.05),
    ([1.0, -1.0], [5.0, 5.0], 0.0),
    ([1e4, -2e4, -1e4], [0.4, 0.4, 0.2], -30.0),
    ([1.0, -20.0], [17.0, 17.0], 0.0),
    ([1.0, -1.01], [1e-3, 1e-3], 0.0),
    ([0.3, -0.31], [300.0, 300.0], -1.0),
]


@pytest.mark.parametrize(("values", "rates", "drift"), POINTS)
@pytest.mark.parametrize("spare", [0.0, 3.0])
def test_direct_sums_are_enclosed(values: list[float], rates: list[float], drift: float, spare: float) -> None:
    """Points of no value change nothing; a mean 1 % off is noticed."""
    truth = mp.log(directly(values, rates, drift))
    mean = math.fsum(rates) * (1 + 1e-12) + spare
    law = law_of(values, [rate / mean for rate in rates])
    found = log_expected_positive_part(law, Poisson(mean, drift))
    assert mp.mpf(found.log.lower) - 1e-10 <= truth <= mp.mpf(found.log.upper) + 1e-10
    assert found.log.upper - found.log.lower < 0.005
    assert truth <= chernoff(law, Poisson(mean, drift)) == chernoff_many([law], Poisson(mean, drift))[0]
    wrong = log_expected_positive_part(law, Poisson(1.01 * mean, drift))
    assert not mp.mpf(wrong.log.lower) <= truth <= mp.mpf(wrong.log.upper)


@settings(max_examples=30, deadline=None)
@given(st.floats(0.01, 20), st.floats(0.01, 20), st.floats(0.05, 3), st.floats(0.05, 3), st.floats(-2, 0))
def test_any_two_atoms(first: float, second: float, up: float, down: float, drift: float) -> None:
    truth = mp.log(directly([up, -down], [first, second], drift))
    mean = (first + second) * (1 + 1e-12)
    found = log_expected_positive_part(law_of([up, -down], [first / mean, second / mean]), Poisson(mean, drift))
    assert mp.mpf(found.log.lower) - 1e-10 <= truth <= mp.mpf(found.log.upper) + 1e-10


@settings(max_examples=30, deadline=None)
@given(st.floats(1.0, 1e12), st.floats(0.1, 10.0), st.floats(1e-5, 1e-2))
def test_tolerances_agree_however_many_points(mean: float, deviations: float, tolerance: float) -> None:
    law = law_of([1.0, -math.exp(deviations / math.sqrt(mean))], [0.3, 0.3])
    coarse, fine = (log_expected_positive_part(law, Poisson(mean), tolerance=t) for t in (tolerance, tolerance / 8))
    assert coarse.log.lower <= fine.log.upper
    assert fine.log.lower <= coarse.log.upper


def test_nothing_positive_is_zero() -> None:
    assert log_expected_positive_part(law_of([-1.0, -2.0], [0.5, 0.2]), Poisson(7.0)).log.upper == -math.inf


@pytest.mark.parametrize(("mean", "drift"), [(0.0, 0.0), (math.inf, 0.0), (1.0, 0.1), (math.nan, 0.0)])
def test_numbers_that_are_none_are_refused(mean: float, drift: float) -> None:
    with pytest.raises(InvalidInput, match="mean above 0"):
        Poisson(mean, drift)
