"""Laws of a privacy loss: exact in whole numbers, and what is rounded, cut off or moved errs on the side that is asked for."""

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx, fmpz

from shuffledp import InvalidInput
from shuffledp.arithmetic.loss import LossLaw

BITS = 160
EPSILONS = [-3.0, -1.0, -0.25, 0.0, 0.125, 0.3, 0.5, 1.0, 2.0, 4.0]


def law(weights: list[int], *, upper: bool, first: int = -3, step: float = 0.125, **changes: Any) -> LossLaw:
    """Of masses in 65536ths."""
    masses = tuple(fmpz(weight) << (BITS - 16) for weight in weights)
    made = LossLaw(upper=upper, bits=BITS, spare=1 << 20, step=step, first=first, masses=masses)
    return replace(made, **changes)


def random_law(random: np.random.Generator, *, upper: bool, **changes: Any) -> LossLaw:
    weights = random.integers(0, 9000, random.integers(2, 9)).tolist()
    infinite = int(random.integers(0, 50)) << (BITS - 16)
    return law(weights, upper=upper, first=int(random.integers(-6, 3)), **{"infinite": infinite, **changes})


def atoms(one: LossLaw) -> list[tuple[arb | None, int]]:
    """Losses and masses; None is infinity."""
    finite = [(arb(one.step) * (one.first + k), int(mass)) for k, mass in enumerate(one.masses)]
    return [*finite, (None, one.infinite)]


def truth(laws: list[LossLaw], epsilon: float) -> arb:
    """The curve of a product, term by term."""
    total = arb(0)
    for combination in product(*(atoms(one) for one in laws)):
        mass = arb(1)
        for _, units in combination:
            mass *= arb(units) / arb(2) ** BITS
        finite = [x for x, _ in combination if x is not None]
        loss = sum(finite, arb(0))
        total += mass * ((1 - (arb(epsilon) - loss).exp()).max(arb(0)) if len(finite) == len(laws) else 1)
    return total


@pytest.mark.parametrize("upper", [True, False])
def test_products_are_exact_but_for_the_last_bits(upper: bool) -> None:
    random = np.random.default_rng(5)
    with ctx.workprec(400):
        for _ in range(8):
            laws = [random_law(random, upper=upper, step=0.125 * 2.0 ** int(random.integers(0, 2))) for _ in range(3)]
            together = laws[0].times(laws[1]).times(laws[2])
            assert together.step == min(one.step for one in laws)
            for epsilon in EPSILONS:
                exact, found = truth(laws, epsilon), together.delta(epsilon)
                assert bool(arb(found) >= exact) if upper else bool(arb(found) <= exact)
                assert abs(found - float(exact)) < 1e-15
                if float(exact) > 0:
                    assert found == pytest.approx(float(exact), rel=1e-15, abs=1e-30)


@pytest.mark.parametrize("upper", [True, False])
def test_powers_are_products(upper: bool) -> None:
    one = law([500, 3000, 9000, 20000, 25000, 6000, 1500], upper=upper)
    many = one
    for rounds in range(2, 12):
        many = many.times(one)
        for epsilon in EPSILONS:
            assert one.power(rounds).delta(epsilon) == pytest.approx(many.delta(epsilon), rel=1e-12, abs=1e-25)
    assert one.power(1) is one


@pytest.mark.parametrize("upper", [True, False])
def test_a_coarser_grid_errs_on_the_right_side_and_little(upper: bool) -> None:
    """Mass and the mean of e^-loss stay: only spread is added, or taken away."""
    k = np.arange(-400, 401)
    weights = np.round(2**16 * 1e6 * np.exp(-((k - 20) ** 2) / 2 / 80**2)).astype(np.int64)
    smooth = replace(
        law([1], upper=upper, step=2.0**-7, first=-400),
        masses=tuple(fmpz(int(w)) << (BITS - 42) for w in weights),
    )
    random = np.random.default_rng(6)
    rough = [random_law(random, upper=upper, infinite=0, step=0.25) for _ in range(30)]
    for one in (smooth, *rough):
        coarse = one.coarser()
        assert coarse.step == 2 * one.step
        assert coarse.total == one.total if upper else coarse.total <= one.total
        for epsilon in np.linspace(-4, 4, 41):
            before, after = one.delta(float(epsilon)), coarse.delta(float(epsilon))
            assert after >= before * (1 - 1e-15) if upper else after <= before * (1 + 1e-15)
    below = [one.coarser().delta(0.25) / one.delta(0.25) for one in rough if one.delta(0.25) > 0.01]
    assert max(below) > 1 + 1e-3 if upper else min(below) < 1 - 1e-3
    coarse = smooth.coarser()
    assert coarse.delta(1.5) == pytest.approx(smooth.delta(1.5), rel=2e-3)
    added = (coarse.deviation * coarse.step / smooth.step) ** 2 - smooth.deviation**2
    assert added == pytest.approx(0.5 if upper else -0.5, rel=0.1)


@pytest.mark.parametrize("upper", [True, False])
def test_ends_that_are_cut_off_are_charged(upper: bool) -> None:
    one = law([1, 2, 3000, 4000, 3, 1], upper=upper, spare=4 << (BITS - 16))
    short = one.trimmed()
    assert (short.first, len(short.masses)) == (-1, 2)
    assert short.infinite == (4 << (BITS - 16) if upper else 0)
    assert short.total == (one.total if upper else one.total - (7 << (BITS - 16)))
    for epsilon in EPSILONS:
        assert (short.delta(epsilon) >= one.delta(epsilon)) is upper or short.delta(epsilon) == one.delta(epsilon)


@pytest.mark.parametrize("upper", [True, False])
def test_epsilon_is_where_the_curve_falls_to_delta(upper: bool) -> None:
    random = np.random.default_rng(7)
    for _ in range(20):
        one = random_law(random, upper=upper)
        for delta in (1e-3, 0.01, 0.1, 0.2, 0.6):
            epsilon = one.epsilon(delta)
            if epsilon is None:
                assert one.infinite * 2.0**-BITS > delta
                continue
            if upper:
                assert one.delta(epsilon) <= delta * (1 + 1e-15)
            elif epsilon > 0:
                assert one.delta(epsilon) >= delta * (1 - 1e-15)
            if epsilon > 0:
                assert one.delta(epsilon) == pytest.approx(delta, rel=1e-12)
                assert one.delta(epsilon * (1 - 1e-9)) > delta > one.delta(epsilon * (1 + 1e-9))
    point = law([65536], upper=upper, first=8)
    assert point.epsilon(1e-300) == pytest.approx(1.0, abs=1e-15)
    assert point.delta(1.0) == 0.0
    assert point.delta(0.0) == pytest.approx(1 - math.exp(-1), rel=1e-15)


def test_laws_that_do_not_fit_together_are_refused() -> None:
    one = law([1, 2], upper=True)
    with pytest.raises(InvalidInput, match="rounded differently"):
        one.times(law([1, 2], upper=False))
    with pytest.raises(InvalidInput, match="powers of two"):
        one.times(law([1, 2], upper=True, step=0.375))


@pytest.mark.parametrize("upper", [True, False])
def test_very_different_grids_compose_within_bounds(upper: bool) -> None:
    """The finer one is made coarser before the coarse one gets too long."""
    fine = law([16000, 33536, 16000], upper=upper, first=-1, step=2.0**-20)
    coarse = law([1000, 30000, 34536], upper=upper, first=-1, step=1.0)
    together = fine.times(coarse)
    assert len(together.masses) < 2**16
    assert together.delta(0.5) == pytest.approx(coarse.delta(0.5), rel=1e-3)
