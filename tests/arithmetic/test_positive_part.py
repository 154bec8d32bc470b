"""The kernel encloses E[(X_1 + ... + X_n)_+]: against enumeration, high precision, and itself at other tolerances."""

import math
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.enumeration import expected_positive_part
from oracles.scale import examples
from shuffledp.arithmetic.positive_part import log_expected_positive_part
from shuffledp.arithmetic.summand_law import Law
from shuffledp.arithmetic.tilt import chernoff, chernoff_many


def law_of(values: list[float], masses: list[float]) -> Law:
    return Law(np.array(values), np.array(masses), np.abs(np.array(values)))


@st.composite
def small_laws(draw: st.DrawFn) -> tuple[list[float], list[float]]:
    """Two or three atoms and the mass at zero, of any scale, with negative mean."""
    count = draw(st.integers(2, 3))
    weights = [draw(st.floats(1e-3, 1.0)) for _ in range(count + 1)]
    masses = [w / math.fsum(weights) for w in weights[:count]]
    scale = 10 ** draw(st.floats(-3, 3))
    values = [draw(st.floats(0.05, 3)), *(-draw(st.floats(0.05, 3)) for _ in range(count - 1))]
    mean = math.fsum(v * m for v, m in zip(values, masses, strict=True))
    if mean > 0:
        values[1] -= (mean + 0.01) / masses[1]
    return [scale * v for v in values], masses


@settings(max_examples=400, deadline=None)
@given(small_laws(), st.integers(1, 14))
def test_against_enumeration(law: tuple[list[float], list[float]], n: int) -> None:
    values, masses = law
    truth = math.log(expected_positive_part([*values, 0.0], [*masses, 1 - math.fsum(masses)], n))
    found = log_expected_positive_part(law_of(values, masses), n)
    assert found.log.lower <= truth + 1e-10
    assert truth - 1e-10 <= found.log.upper
    assert found.log.upper - found.log.lower < 0.02
    assert truth <= chernoff(law_of(values, masses), n) + 1e-10


def _mp_three_atoms(up: float, down: float, mass: float, n: int) -> mp.mpf:
    """E[S_+] for X = up, -down with this mass each, else 0: summed at 50 digits."""
    total = mp.mpf(0)
    u, v, r = mp.mpf(up), mp.mpf(down), mp.mpf(mass)
    for i in range(1, n + 1):
        for j in range(n - i + 1):
            amount = i * u - j * v
            if amount <= 0:
                break
            ways = mp.binomial(n, i) * mp.binomial(n - i, j)
            total += amount * ways * r ** (i + j) * (1 - 2 * r) ** (n - i - j)
    return total


@pytest.mark.parametrize("n", [2, 5, 12, 30, 60])
@pytest.mark.parametrize("epsilon0", [0.001, 0.05, 0.5, 1.0, 2.0, 4.0, 8.0, 14.0])
@pytest.mark.parametrize("fraction", [0.001, 0.1, 0.5, 0.8, 0.99])
def test_two_hundred_points_at_fifty_digits(n: int, epsilon0: float, fraction: float) -> None:
    """The generic law, down to expectations of 1e-100 and up to the edge of the support."""
    p, a = math.exp(epsilon0), math.exp(fraction * epsilon0)
    up, down, mass = p - a, p * a - 1, 1 / (p + 1)
    with mp.workdps(50):
        truth = mp.log(_mp_three_atoms(up, down, mass, n))
        found = log_expected_positive_part(law_of([up, -down], [mass, mass]), n)
        assert mp.mpf(found.log.lower) <= truth <= mp.mpf(found.log.upper)


@settings(max_examples=100, deadline=None)
@given(small_laws(), st.integers(2, 10**10), st.floats(1e-5, 1e-2))
def test_tolerances_agree(law: tuple[list[float], list[float]], n: int, tolerance: float) -> None:
    """Enclosures at two tolerances must overlap, and the finer one is not wider."""
    coarse = log_expected_positive_part(law_of(*law), n, tolerance=tolerance)
    fine = log_expected_positive_part(law_of(*law), n, tolerance=tolerance / 8)
    assert coarse.log.lower <= fine.log.upper
    assert fine.log.lower <= coarse.log.upper


@settings(max_examples=examples(100), deadline=None)
@given(st.floats(-22, -1), st.floats(0.1, 3), st.floats(0.1, 3), st.integers(2, 30))
def test_when_almost_all_mass_is_on_the_loss(log10_mass: float, up: float, down: float, n: int) -> None:
    """M(theta) far below 1: the error of its logarithm reaches the characteristic function and is charged there."""
    mass = 10**log10_mass
    rest = 1.0 - mass
    if up * mass >= down * rest:
        return
    with mp.workdps(60):
        zero = max(mp.mpf(0), 1 - mp.mpf(mass) - mp.mpf(rest))
        truth = mp.mpf(0)
        for i in range(1, n + 1):
            for j in range(n - i + 1):
                amount = i * mp.mpf(up) - j * mp.mpf(down)
                if amount > 0 and (zero > 0 or i + j == n):
                    ways = mp.binomial(n, i) * mp.binomial(n - i, j)
                    truth += amount * ways * mp.mpf(mass) ** i * mp.mpf(rest) ** j * zero ** (n - i - j)
        found = log_expected_positive_part(law_of([up, -down], [mass, rest]), n)
        assert mp.mpf(found.log.lower) <= mp.log(truth) <= mp.mpf(found.log.upper)
        assert mp.log(truth) <= chernoff(law_of([up, -down], [mass, rest]), n)


@settings(max_examples=200, deadline=None)
@given(small_laws(), st.integers(1, 10**8))
def test_scaling(law: tuple[list[float], list[float]], n: int) -> None:
    """E[(c S)_+] = c E[S_+]: powers of two are exact, so the enclosures must match."""
    values, masses = law
    one = log_expected_positive_part(law_of(values, masses), n)
    other = log_expected_positive_part(law_of([4 * v for v in values], masses), n)
    width = one.log.upper - one.log.lower
    assert other.log.upper - math.log(4) == pytest.approx(one.log.upper, abs=0.01 * width + 1e-9)


@settings(max_examples=200, deadline=None)
@given(st.lists(small_laws(), min_size=1, max_size=5), st.integers(2, 10**9))
def test_chernoff_many_bounds_each(laws: list[tuple[list[float], list[float]]], n: int) -> None:
    bounds = chernoff_many([law_of(*law) for law in laws], n)
    for law, bound in zip(laws, bounds.tolist(), strict=True):
        assert log_expected_positive_part(law_of(*law), n).log.lower <= bound


def test_cost_does_not_grow_with_n() -> None:
    law = law_of([1.7, -1.8], [0.1, 0.1])
    nodes = [log_expected_positive_part(law, 10**k).ledger.nodes for k in (3, 5, 7, 9)]
    assert max(nodes) < 20_000


def test_nothing_positive_is_zero() -> None:
    assert log_expected_positive_part(law_of([-1.0, -2.0], [0.5, 0.2]), 7).log.upper == -math.inf


def off(value: complex, truth: Any) -> float:
    """How far a value is from the truth, in units in the last place of the truth's size."""
    size = abs(truth)
    return float(abs(mp.mpmathify(value) - truth) / (mp.mpf(2) ** -52 * size + mp.mpf(10) ** -300))


def test_elementary_functions_are_as_accurate_as_assumed() -> None:
    """The ledger assumes 4 units in the last place of numpy's functions, here and on this machine."""
    rng = np.random.default_rng(5)
    x = np.concatenate([rng.uniform(-30, 30, 3000), rng.uniform(-1, 1, 3000) * 10.0 ** rng.uniform(-12, 0, 3000)])
    angles = np.concatenate([x, rng.uniform(0, 1e6, 2000)])
    above = np.concatenate([np.abs(x), -rng.uniform(0, 1 - 1e-9, 1000)])
    cases = (
        ("exp", x), ("expm1", x), ("sin", angles), ("cos", angles), ("tan", angles), ("log1p", above), ("log", np.abs(x)),
        ("sqrt", np.abs(x)),
    )  # fmt: skip
    with mp.workdps(40):
        for name, points in cases:
            ours = getattr(np, name)(points)
            worst = max(
                off(v, getattr(mp, name)(mp.mpf(p))) for p, v in zip(points.tolist(), ours.tolist(), strict=True)
            )
            assert worst <= 4, name
        y = rng.permutation(x)
        angle = np.arctan2(y, x).tolist()
        assert max(off(v, mp.atan2(b, a)) for a, b, v in zip(x.tolist(), y.tolist(), angle, strict=True)) <= 4
        together = np.logaddexp(x, y).tolist()
        for a, b, v in zip(x.tolist(), y.tolist(), together, strict=True):
            # where the two nearly cancel the error is one of the larger of them: what is charged is 8 units of 1 + both sizes
            assert abs(mp.mpf(v) - mp.log(mp.exp(a) + mp.exp(b))) <= 8 * mp.mpf(2) ** -53 * (1 + abs(v) + abs(b))


def test_functions_of_complex_numbers_are_as_accurate_as_assumed() -> None:
    """Relative to the modulus: the kernel and the cover of two messages sum such terms."""
    rng = np.random.default_rng(6)
    real = np.concatenate([rng.uniform(-700, 1, 2000), rng.uniform(-1, 1, 2000) * 10.0 ** rng.uniform(-12, 0, 2000)])
    imaginary = np.concatenate([rng.uniform(-1e6, 1e6, 2000), rng.uniform(-4, 4, 2000)])
    z = real + 1j * imaginary
    small = np.concatenate([z[2000:], rng.uniform(1e-9, 3, 1000) + 1j * rng.uniform(0, np.pi, 1000)])
    with mp.workdps(60):
        assert max(off(v, mp.exp(mp.mpmathify(p))) for p, v in zip(z.tolist(), np.exp(z).tolist(), strict=True)) <= 4
        ours = np.expm1(small).tolist()
        assert max(off(v, mp.expm1(mp.mpmathify(p))) for p, v in zip(small.tolist(), ours, strict=True)) <= 4
        assert max(off(v, abs(mp.mpmathify(p))) for p, v in zip(z.tolist(), np.abs(z).tolist(), strict=True)) <= 4


@given(st.floats(1e-30, 0.4), st.integers(2, 12))
def test_the_mass_at_zero_is_never_overstated(total: float, parts: int) -> None:
    """In exact fractions, also where 1 - total rounds to 1: its n-th power is taken."""
    masses = np.full(parts, total / parts)
    law = Law(np.linspace(-1, 1, parts), masses, np.ones(parts))
    exact = 1 - sum((Fraction(mass) for mass in masses.tolist()), Fraction(0))
    with mp.workdps(60):
        truth = mp.log1p(-(1 - mp.mpf(exact.numerator) / exact.denominator))
        slack = (parts + 30) * 4e-16
        assert mp.mpf(law.log_zero_mass_down) <= truth
        assert mp.mpf(law.log_zero_mass_down) >= truth * (1 + slack)


def test_one_summand_that_may_never_be_positive() -> None:
    """Its only gain is smaller than what it may be off."""
    found = log_expected_positive_part(Law(np.array([1e-17, -1.0]), np.array([0.5, 0.25]), np.array([1.0, 1.0])), 1).log
    assert found.lower == -math.inf
    assert math.log(0.5e-17) <= found.upper < math.log(1e-14)
