"""Confidence limits against scipy's, and against what they promise."""

import numpy as np
import pytest
from scipy.stats import beta, binom

from shuffledp.auditing.confidence_limits import expected_limits, lower_limit, upper_limit, upper_tail

CASES = [
    (hits, trials, error)
    for trials in (1, 7, 100, 12_345, 10_000_000)
    for share in (0.0, 1e-4, 0.03, 0.5, 0.97, 1.0)
    for error in (0.2, 5e-4, 1e-9)
    if (hits := round(share * trials)) >= 0
]


@pytest.mark.parametrize(("hits", "trials", "error"), CASES)
def test_the_limits_are_those_of_clopper_and_pearson_on_the_safe_side(hits: int, trials: int, error: float) -> None:
    low = beta.ppf(error, hits, trials - hits + 1) if hits else 0.0
    high = beta.isf(error, hits + 1, trials - hits) if hits < trials else 1.0
    assert lower_limit(hits, trials, error) == pytest.approx(low, rel=1e-6)
    assert upper_limit(hits, trials, error) == pytest.approx(high, rel=1e-6)
    assert lower_limit(hits, trials, error) <= low * (1 + 1e-11)
    assert upper_limit(hits, trials, error) >= high * (1 - 1e-11)


def test_tails_are_those_of_the_binomial_law() -> None:
    for hits, trials, chance in ((1, 1, 0.3), (60, 100, 0.5), (5100, 10_000_000, 5e-4), (10, 10, 0.9)):
        assert upper_tail(hits, trials, chance) == pytest.approx(binom.sf(hits - 1, trials, chance), rel=1e-8)


@pytest.mark.parametrize("trials", [5, 23])
@pytest.mark.parametrize("error", [0.3, 0.01])
def test_a_limit_is_wrong_no_more_often_than_it_says(trials: int, error: float) -> None:
    """Whatever the probability: exactly, by enumeration. Limits without the last hit would be wrong more often."""
    lows = np.array([lower_limit(hits, trials, error) for hits in range(trials + 1)])
    highs = np.array([upper_limit(hits, trials, error) for hits in range(trials + 1)])
    wrong, naive = 0.0, 0.0
    for chance in np.linspace(0.001, 0.999, 999):
        law = binom.pmf(np.arange(trials + 1), trials, chance)
        wrong = max(wrong, law[lows > chance].sum(), law[highs < chance].sum())
        naive = max(naive, law[1:][lows[1:] > chance].sum(), law[:-1][lows[1:] > chance].sum())
    assert wrong <= error
    assert naive > error


def test_what_is_expected_is_close_to_what_comes() -> None:
    rates, trials = np.array([0.002, 0.2, 0.9]), 100_000
    low, high = expected_limits(rates, rates, trials, 5e-4)
    for j, rate in enumerate(rates):
        assert low[j] == pytest.approx(lower_limit(round(rate * trials), trials, 5e-4), rel=0.03)
        assert high[j] == pytest.approx(upper_limit(round(rate * trials), trials, 5e-4), rel=0.03)
