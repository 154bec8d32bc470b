"""Noise cut into cells: a spread is above the true law of l in convex order, a contraction below it, and both are near it."""

import math
from itertools import pairwise

import numpy as np
import pytest

from shuffledp import Gaussian, Laplace
from shuffledp.arithmetic.summand_law import Reals
from shuffledp.core.pair import Pair
from shuffledp.randomizers.laplace import _shares

NOISES = [Laplace(epsilon0=0.3), Laplace(epsilon0=2.0), Laplace(epsilon0=7.0), Gaussian(sigma=0.5), Gaussian(sigma=2.0)]
EPSILON = 0.1


def messages(noise: Laplace | Gaussian) -> tuple[Reals, float]:
    """Points close to each other, every kink of the laws between two of them, and how far they are apart."""
    scale = 1 / noise.epsilon0 if isinstance(noise, Laplace) else noise.sigma
    each = 200 * math.ceil(30 / max(scale, 1))
    beyond = math.ceil(30 * scale)
    y = (np.arange(-beyond * each, (1 + beyond) * each) + 0.5) / each
    return y, 1 / each


def heights(pair: Pair, at: list[float]) -> list[float]:
    """E[(l - t)_+] at some t."""
    law = pair.law(EPSILON)
    return [float(np.maximum(law.values - t, 0.0) @ law.masses) for t in at]


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_spreads_are_above_and_contractions_below(noise: Laplace | Gaussian) -> None:
    a = math.exp(EPSILON)
    blanket = noise.blanket()
    (options,) = blanket.pairs()
    spread = options[len(options) - 1]
    tails = math.fsum(spread.bare_first)

    y, apart = messages(noise)
    first, second = noise.density(y, 0.0), noise.density(y, 1.0)

    def truth(t: float, eta: Reals) -> float:
        return float(np.maximum(first - a * second - t * eta, 0.0).sum()) * apart

    at = [-3.0, -1.0, -0.3, 0.0, 0.05, 0.4, 1.5]
    lowest = [truth(t, np.minimum(first, second)) for t in at]
    for t, found, exact in zip(at, heights(spread, at), lowest, strict=True):
        below = -t * tails if t < 0 else 0.0  # where the measure is set to 0
        assert exact <= (found + tails) * (1 + 1e-6) + 1e-7
        assert found <= exact * 1.02 + below + 1e-6
    witnesses = blanket.witnesses()
    for held, witness in zip((0.0, 1.0, 0.5), witnesses[-3:], strict=True):
        assert math.fsum(witness.masses) == pytest.approx(1, rel=1e-12)
        assert float(witness.masses @ witness.difference) == pytest.approx(0, abs=1e-12)
        assert float(witness.masses @ witness.second) == pytest.approx(1, rel=1e-12)
        exact_ones = [truth(t, noise.density(y, held)) for t in at]
        for found, exact in zip(heights(witness, at), exact_ones, strict=True):
            assert exact * 0.97 - 1e-6 <= found <= exact * (1 + 1e-6) + 1e-7


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_a_spread_keeps_masses_and_means(noise: Laplace | Gaussian) -> None:
    (options,) = noise.blanket().pairs()
    for i in range(len(options)):
        pair = options[i]
        # eta is the least of the two laws: mu_0 and mu_1 are counted in full, but for what is cut off
        cut = math.fsum(pair.bare_first)
        first = float(pair.masses @ (pair.second + pair.difference))
        assert 1 - 1e-12 <= first + cut <= 1 + 1e-3  # the tail of small ratios is moved up
        assert pair.bare_second.tolist() == [0.0] * len(pair.bare_first)
        assert math.fsum(pair.masses) <= noise.gamma * (1 + 1e-12)
        assert math.fsum(pair.masses) >= noise.gamma - cut - 1e-12


@pytest.mark.parametrize("sigma", [0.5, 2.0])
def test_what_is_cut_off_of_a_gaussian_is_its_tail(sigma: float) -> None:
    """More is cut off at first, and each time the tail beyond the largest ratio is paid for in full."""
    (options,) = Gaussian(sigma=sigma).blanket().pairs()
    cuts = []
    for pair in options:
        ratio = math.log1p(float(pair.difference.max()))  # v at the last edge: y = 1/2 - sigma^2 v
        y = 0.5 - sigma**2 * ratio
        assert math.fsum(pair.bare_first) == pytest.approx(0.5 * math.erfc(-y / sigma / math.sqrt(2)), rel=1e-9)
        cuts.append(math.fsum(pair.bare_first))
    assert all(a >= b for a, b in pairwise(cuts))


def test_laplaces_law_is_cut_up_to_a_thousandth_of_its_end() -> None:
    """No further, where cells would be too thin to tell apart; and no less, which would widen the last one."""
    last = [_shares(0.1 * 1.01**k)[-1] for k in range(400)]
    assert 1 - 1.5e-3 < max(last) < 1 - 1e-3
