"""truth <= Lemma 5.3 <= Hoeffding and Bennett, by enumeration; and the printed Bennett lemma is not a bound."""

import math

import mpmath as mp
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import formulas
from oracles.enumeration import expected_positive_part
from shuffledp import Generic, Laplace, RandomizedResponse
from shuffledp.accounting.concentration import BENNETT, HOEFFDING, Concentration
from shuffledp.arithmetic.balls import evaluate
from shuffledp.core.blanket import Blanket

SLACK = 1 + 1e-10
"""For the floating-point error of the oracle, not of the bounds."""


def formula(bound: Concentration, blanket: Blanket, n: int, epsilon: float) -> float:
    """The bound's value even where it exceeds 1 and so claims nothing."""
    return math.exp(min(700.0, evaluate(lambda: bound._log_delta(blanket, n, arb(epsilon))).upper))


def _printed_bennett(a: float, b: float, c: float, m: int) -> float:
    u = a * b / c
    return b / (a * m * math.log1p(u)) * math.exp(-m * c / b**2 * ((1 + u) * math.log1p(u) - u))


def test_the_printed_bennett_lemma_fails_and_the_corrected_one_does_not() -> None:
    """k = 100, epsilon0 = 6, epsilon = 1, m = 100: truth 22.2, printed 1.59, corrected 273."""
    k, p, e, m = 100, math.exp(6), math.e, 100
    gamma = k / (p + k - 1)
    values = [gamma * (p - e), gamma * (1 - e * p), gamma * (1 - e)]
    truth = expected_positive_part(values, [1 / k, 1 / k, 1 - 2 / k], m)
    a, b = e - 1, values[0]
    c = math.fsum(v * v * w for v, w in zip(values, [1 / k, 1 / k, 1 - 2 / k], strict=True))
    printed = _printed_bennett(a, b, c, m)
    assert truth == pytest.approx(22.218, rel=1e-4)
    assert printed == pytest.approx(1.591, rel=1e-3)
    assert printed * a * m == pytest.approx(273.4, rel=1e-3)
    assert printed < truth < printed * a * m


@pytest.mark.parametrize(("size", "epsilon0", "epsilon", "n"), [(10, 3.0, 1.0, 30)])
def test_the_printed_lemma_breaks_the_chain(size: int, epsilon0: float, epsilon: float, n: int) -> None:
    """As printed, Bennett falls below Lemma 5.3 itself; corrected it does not."""
    p, a = math.exp(epsilon0), math.exp(epsilon)
    gamma = size / (p + size - 1)
    values = [gamma * (p - a), gamma * (1 - a * p), gamma * (1 - a)]
    masses = [1 / size, 1 / size, 1 - 2 / size]
    lemma = expected_positive_part([*values, 0.0], [*(gamma * m for m in masses), 1 - gamma], n) / (gamma * n)
    c = math.fsum(v * v * w for v, w in zip(values, masses, strict=True))
    printed = math.fsum(
        math.comb(n, m) * gamma**m * (1 - gamma) ** (n - m) * _printed_bennett(a - 1, values[0], c, m)
        for m in range(1, n + 1)
    ) / (gamma * n)
    corrected = formula(BENNETT, RandomizedResponse(size=size, epsilon0=epsilon0).blanket(), n, epsilon)
    assert printed < lemma * 0.99 < lemma <= corrected


def test_how_often_the_printed_lemma_is_unsafe() -> None:
    unsafe = 0
    for k in (2, 10, 100):
        for epsilon0 in (1.0, 2.0, 4.0, 6.0):
            for epsilon in (0.1, 0.5, 0.9):
                for m in (3, 10, 30, 100):
                    p, e = math.exp(epsilon0), math.exp(epsilon)
                    gamma = k / (p + k - 1)
                    values, masses = [gamma * (p - e), gamma * (1 - e * p), gamma * (1 - e)], [1 / k, 1 / k, 1 - 2 / k]
                    truth = expected_positive_part(values, masses, m)
                    c = math.fsum(v * v * w for v, w in zip(values, masses, strict=True))
                    printed = _printed_bennett(e - 1, values[0], c, m)
                    unsafe += printed < truth
                    assert truth <= printed * (e - 1) * m * SLACK
    assert unsafe > 20


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(["generic", "laplace", "rr"]),
    st.integers(2, 10**6),
    st.floats(1e-6, 30),
    st.floats(1e-9, 0.999),
    st.integers(1, 10**12),
)
def test_analytic_bounds_against_mpmath(kind: str, size: int, epsilon0: float, fraction: float, n: int) -> None:
    """At 80 digits, from the paper's formulas: never below, and within a few ulp of the logarithm."""
    epsilon = fraction * epsilon0
    with mp.workdps(formulas.DIGITS):
        if kind == "generic":
            blanket: Blanket = Generic(epsilon0=epsilon0).blanket()
            law = formulas.generic_law(epsilon0, epsilon)
        elif kind == "laplace":
            blanket, law = Laplace(epsilon0=epsilon0).blanket(), formulas.laplace_law(epsilon0, epsilon)
        else:
            blanket = RandomizedResponse(size=size, epsilon0=epsilon0).blanket()
            law = formulas.response_law(size, epsilon0, epsilon)
        for bound, oracle in ((HOEFFDING, formulas.log_hoeffding), (BENNETT, formulas.log_bennett)):
            truth = oracle(law, n, epsilon)
            ours = evaluate(lambda bound=bound: bound._log_delta(blanket, n, arb(epsilon)))  # type: ignore[misc]
            assert mp.mpf(ours.lower) <= truth <= mp.mpf(ours.upper)
            assert ours.upper - ours.lower <= 4e-16 * max(abs(ours.lower), 1e-300)


def test_gamma_of_a_generic_randomizer_in_both_places_would_be_unsafe() -> None:
    """The trap: e^-epsilon0 for gamma in range and moment as well comes out far below what is proved."""
    epsilon0, epsilon, n = 1.0, 0.02, 10**6
    with mp.workdps(40):
        g, up, down, c = formulas.generic_law(epsilon0, epsilon)
        right = formulas.log_hoeffding((g, up, down, c), n, epsilon)
        trap = formulas.log_hoeffding((g, g * up, g * down, c), n, epsilon)
    assert HOEFFDING.claim(Generic(epsilon0=epsilon0).blanket(), n=n, epsilon=epsilon).log_delta.upper == pytest.approx(
        float(right)
    )
    assert trap < right - 10
