"""Blocks, step by step as docs/maths/cushion.md states it, against closed forms and 40 digits.

Laws claim to be off by a million units in the last place, so that no charge is lost beside another.
"""

import math
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy.stats import norm

from oracles.precision import digits, exact
from shuffledp.arithmetic import blocks
from shuffledp.arithmetic.summand_law import ULP, Law

MANY = 1e6
VALUES, MASSES, SCALES = np.array([1.5, -0.25, -1.0]), np.array([0.25, 0.5, 0.25]), np.array([2.0, 0.5, 1.25])
MEAN = 0.1
M = 30
_digits = digits(40)


def summand() -> Any:
    return blocks._Summand(Law(VALUES, MASSES, SCALES, MANY), MEAN)


def test_a_summand_around_the_mean() -> None:
    one = summand()
    assert one.x == pytest.approx(VALUES - MEAN, rel=1e-15)
    assert one.scales == pytest.approx(SCALES + MEAN, rel=1e-15)
    assert blocks._Summand(Law(VALUES, MASSES, SCALES), -MEAN).scales == pytest.approx(SCALES + MEAN, rel=1e-15)
    assert one.variance == pytest.approx(float(MASSES @ (VALUES - MEAN) ** 2), rel=1e-14)
    assert one.off == pytest.approx(2 * ULP * (24 + 2 * MANY + 9) * float(MASSES @ (SCALES + MEAN)), rel=1e-12)


def test_moments_are_rounded_up() -> None:
    one = summand()
    thetas = np.array([1e-3, 0.5, 3.0, 40.0, 490.0])
    off = mp.mpf(MANY) * mp.mpf(ULP)
    for theta, found in zip(exact(thetas), one.log_moment(thetas), strict=True):
        atoms = list(zip(exact(one.x), exact(MASSES), exact(one.scales), strict=True))
        plain = mp.log(mp.fsum(q * mp.exp(theta * x) for x, q, _ in atoms))
        worst = mp.log(mp.fsum(q * (1 + off) * mp.exp(theta * (x + off * scale)) for x, q, scale in atoms))
        stated = (8 + MANY + 3) * (1 + theta * mp.mpf(float(one.scales.max()))) * 4 * mp.mpf(ULP)
        assert worst <= found
        assert abs(mp.mpf(float(found)) - plain - stated) <= 1e-3 * stated
    # where a moment would overflow there is no bound
    assert one.log_moment(np.array([700.1 / 1.4]))[0] == math.inf
    assert one.log_moment(np.array([699.9 / 1.4]))[0] < math.inf
    negative = blocks._Summand(Law(np.array([-5.0]), np.array([1.0]), np.array([5.0])), 0.0)
    assert negative.log_moment(np.array([1000.0]))[0] < -600


@pytest.mark.parametrize("m", [1, 5, 400])
def test_the_period_is_the_shortest_whose_tail_is_negligible(m: int) -> None:
    law = Law(np.array([3.0, -1.0]), np.array([0.25, 0.75]), np.array([3.0, 1.0]))
    one = blocks._Summand(law, 0.0)
    deviation = math.sqrt(m * one.variance)
    reach, tail = blocks._reach([one], m, deviation)

    def least(w: float) -> float:
        """The least of 2 w E[e^(theta (X - w))] over theta >= 1 / w, X a block and its noise."""
        theta = np.geomspace(1 / w, 4 * w, 3000)
        log_m = np.log(0.25 * np.exp(np.minimum(3 * theta / deviation, 700)) + 0.75 * np.exp(-theta / deviation))
        return 2 * w * math.exp(float((m * log_m + (0.015 * theta) ** 2 / 2 - theta * w).min()))

    assert least(reach) <= tail * (1 + 1e-9)
    assert tail <= least(reach) * 1.2
    assert reach in blocks._REACHES
    assert tail <= 1e-15
    assert all(least(w) > 0.8e-15 for w in blocks._REACHES if w < reach)
    # the worst of several
    wide = blocks._Summand(Law(np.array([30.0, -0.1]), np.array([0.003, 0.9]), np.array([30.0, 0.1])), 0.0)
    alone, both = blocks._reach([wide], m, deviation), blocks._reach([one, wide], m, deviation)
    assert both[0] == max(reach, alone[0])
    assert both[1] >= max(alone[1] * (alone[0] == both[0]), tail * (reach == both[0])) * (1 - 1e-12)


@pytest.mark.parametrize("reach", [8.0, 12.0])
def test_heights_of_laws_with_closed_forms(reach: float) -> None:
    """Noise around each of a few atoms, on both sides of 0: U(t) of each is s (phi(z) - z Q(z)), z = (t - x) / s."""
    series, s = blocks._series(reach), 0.3
    at, chance = np.array([-2.0, 0.5, 3.0]), np.array([0.3, 0.5, 0.2])
    psi = (np.exp(1j * np.outer(series.frequency, at)) @ chance) * np.exp(-((s * series.frequency) ** 2) / 2)
    heights = series.heights(np.array([psi, np.exp(-(series.frequency**2) / 2)]))
    z = (series.grid[:, None] - at) / s
    assert heights[:, 0] == pytest.approx((s * (norm.pdf(z) - z * norm.sf(z))) @ chance, abs=1e-11)
    t = series.grid
    assert heights[:, 1] == pytest.approx(norm.pdf(t) - t * norm.sf(t), abs=1e-11)
    assert (t[0], t[-1]) == (-reach, reach)
    assert (np.diff(t) > 0).all()
    assert np.abs(t[np.abs(t) < 4.9] / 0.03 - np.round(t[np.abs(t) < 4.9] / 0.03)).max() < 1e-9
    assert np.diff(t).max() < 0.38  # no gap between the fine part, the coarse part and the ends
    assert t == pytest.approx(-t[::-1])


@pytest.mark.parametrize("reach", [8.0, 40.0])
def test_what_is_charged_for_nodes_and_rounding(reach: float) -> None:
    series, step = blocks._series(reach), math.pi / reach
    assert series.frequency == pytest.approx(step * np.arange(1, len(series.frequency) + 1), rel=1e-15)
    assert 8.8 / 0.015 <= series.frequency[-1] <= 8.8 / 0.015 + 2 * step
    after = series.frequency[-1] + step * np.arange(1, 4000)
    most = (2 * reach / after + 2 / after**2) / reach
    left_out = float((np.exp(-((0.015 * after) ** 2) / 2) * most).sum())
    assert left_out <= series.truncation <= 1.3 * left_out
    spoiled, size = np.full(len(series.frequency), 1e-12), np.linspace(1, 0, len(series.frequency))
    weight = (2 * reach / series.frequency + 2 / series.frequency**2) / reach
    own = (2 * len(size) + 16 * (1 + series.frequency * reach)) * ULP * size
    assert series.rounding(spoiled, size) == pytest.approx(
        float((spoiled + own) @ weight) + 16 * ULP * reach, rel=1e-12
    )
    # no weight of a node is larger than the most that is charged for it
    both = np.hypot(series.weights[:, : len(size)], series.weights[:, len(size) :])
    assert (both.max(axis=0) <= weight * (1 + 1e-12)).all()
    assert (both.max(axis=0) >= 0.5 * weight).all()


def test_the_characteristic_function_is_as_near_as_is_charged() -> None:
    one = summand()
    deviation = math.sqrt(M * one.variance)
    frequency = np.array([0.3, 2.0, 10.0, 60.0, 200.0])
    terms, spoiled = blocks._characteristic(one, M, frequency, deviation)
    off = mp.mpf(float(one.off))
    for f, term, bad in zip(exact(frequency), terms, exact(spoiled), strict=True):
        t = f / mp.mpf(deviation)
        psi = mp.fsum(q * mp.expj(t * x) for x, q in zip(exact(one.x), exact(MASSES), strict=True))
        decay = (mp.mpf(0.015) * f) ** 2 / 2
        truth = psi**M * mp.exp(-decay)
        assert abs(mp.mpc(complex(term)) - truth) <= bad
        size, log = abs(truth), mp.log(psi)
        error = M * (off * t / abs(psi) + 8 * mp.mpf(ULP) * abs(log)) + 16 * mp.mpf(ULP) * (1 + M * abs(log) + decay)
        assert error < 0.1
        assert abs(bad / (size * mp.expm1(error)) - 1) <= 1e-4
    # with numbers that are exact only the rounding of the logarithm and of the power is left
    one.off = 0.0
    terms, spoiled = blocks._characteristic(one, M, frequency, deviation)
    for f, term, bad in zip(exact(frequency), terms, exact(spoiled), strict=True):
        t = f / mp.mpf(deviation)
        log = mp.log(mp.fsum(q * mp.expj(t * x) for x, q in zip(exact(one.x), exact(MASSES), strict=True)))
        error = (8 * M * abs(log) + 16 * (1 + M * abs(log) + (mp.mpf(0.015) * f) ** 2 / 2)) * mp.mpf(ULP)
        assert abs(bad / (abs(mp.mpc(complex(term))) * mp.expm1(error)) - 1) <= 1e-6
    # a node that is not known is charged in full: what the true and the computed one may be
    one.off = 1e-3
    terms, spoiled = blocks._characteristic(one, M, frequency, deviation)
    for f, term, bad in zip(exact(frequency), terms, exact(spoiled), strict=True):
        t = f / mp.mpf(deviation)
        psi = abs(mp.fsum(q * mp.expj(t * x) for x, q in zip(exact(one.x), exact(MASSES), strict=True)))
        most = (psi + t * mp.mpf(1e-3)) ** M * mp.exp(-((mp.mpf(0.015) * f) ** 2) / 2)
        if M * t * 1e-3 / psi > 0.1:
            assert abs(bad / (2 * (abs(mp.mpc(complex(term))) + 2 * most)) - 1) <= 1e-6
        assert bad >= abs(mp.mpc(complex(term))) * mp.expm1(min(0.1, M * t * 1e-3 / psi)) * (1 - 1e-9)


def height(grid: Any, at: Any, chance: Any) -> Any:
    return np.maximum(at[None, :] - grid[:, None], 0.0) @ chance


def test_the_law_through_given_heights() -> None:
    grid = np.array([-3.0, -1.0, 0.0, 0.5, 2.0, 4.0])
    chance = np.array([0.0, 0.3, 0.2, 0.4, 0.1, 0.0])
    block = blocks._on_grid(height(grid, grid, chance), grid, deviation=5.0, center=-7.0, error=1e-6)
    assert block.law.masses == pytest.approx(chance, abs=1e-15)
    assert block.law.values == pytest.approx(-7 + 5 * grid)
    assert block.law.scales == pytest.approx(7 + 5 * np.abs(grid))
    assert block.shortfall == pytest.approx(5e-6, rel=1e-5)
    assert block.shortfall >= 5e-6 * (1 + 1e-9)
    exactly = blocks._on_grid(height(grid, grid, chance), grid, deviation=5.0, center=0.0, error=0.0)
    assert 22 * 4 * ULP * 7 * 5 <= exactly.shortfall < 22 * 4 * ULP * 7 * 5 * 1.2 + 1e-14


def test_heights_that_are_of_no_law_are_paid_for() -> None:
    """A bump that is not convex cannot be reached: by how much is charged, in full."""
    grid = np.linspace(-4, 4, 17)
    wanted = np.maximum(-grid, 0.0) + np.exp(-np.abs(grid))
    wanted[10] += 0.05
    block = blocks._on_grid(wanted, grid, deviation=2.0, center=1.0, error=0.01)
    assert block.law.masses.sum() <= 1 + 1e-12
    reached = height(1 + 2 * grid, block.law.values, block.law.masses)
    lacking = float((2 * wanted - reached).max())
    assert lacking > 0.01
    assert block.shortfall == pytest.approx(lacking + 0.02, rel=1e-6)


def test_a_block_is_above_every_law_given() -> None:
    """The largest mean, the largest variance, and the largest height at every point."""
    narrow = Law(np.array([0.5, -0.5]), np.array([0.5, 0.5]), np.array([0.5, 0.5]))
    wide = Law(np.array([2.0, -2.0]), np.array([0.3, 0.3]), np.array([2.0, 2.0]))
    for laws in ([narrow, wide], [wide, narrow]):
        block = blocks.largest_block(laws, 50)
        assert float(block.law.masses @ block.law.values**2) == pytest.approx(50 * 2.4, rel=0.003)
        assert abs(float(block.law.masses @ block.law.values)) < 1e-6
    up, down = (Law(VALUES + shift, MASSES, SCALES) for shift in (0.5, -0.5))
    for laws in ([up, down], [down, up]):
        block = blocks.largest_block(laws, 50)
        assert float(block.law.masses @ block.law.values) >= 50 * float(MASSES @ (VALUES + 0.5)) - 1e-6
