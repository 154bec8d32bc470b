"""Laws made of a few points of a curve: never on the wrong side of the curve between and beyond them, nor after composition."""

import math

import numpy as np
import pytest
from flint import fmpz
from scipy.stats import norm

from shuffledp.arithmetic.loss import LossLaw
from shuffledp.arithmetic.loss_points import _settled, dominated, dominating

BITS, SPARE = 160, 1 << 60


def gaussian(mu: float, epsilon: float) -> float:
    """The curve of a shift by mu standard deviations, whose T-fold composition is that of a shift by mu sqrt(T)."""
    return float(norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu))


def above(mu: float, noise: float = 0.0) -> LossLaw:
    points = [0, 1, 2, 3, 5, 7, *range(10, 210, 2)]
    random = np.random.default_rng(3)
    deltas = [gaussian(mu, k * mu / 16) * (1 + noise * random.random()) for k in points]
    return dominating(points, deltas, step=mu / 16, bits=BITS, spare=SPARE)


@pytest.mark.parametrize("noise", [0.0, 1e-3])
@pytest.mark.parametrize("mu", [1e-4, 0.05, 1.0])
def test_a_dominating_law_is_above_the_curve_everywhere(mu: float, noise: float) -> None:
    """Also if the points are too high by some noise, so that they are not convex."""
    law = above(mu, noise)
    assert 0 <= law.total - 2**BITS < 1000  # units
    for epsilon in np.linspace(-9 * mu, 9 * mu, 301):
        truth = gaussian(mu, float(epsilon))
        assert truth * (1 - 1e-9) - 1e-15 <= law.delta(float(epsilon))
        if epsilon > 0 and truth > 1e-9:
            assert law.delta(float(epsilon)) < truth * (1.15 + noise)


@pytest.mark.parametrize(("mu", "rounds"), [(0.05, 10), (0.05, 1000), (0.003, 10**6)])
def test_composed_gaussians_are_enclosed(mu: float, rounds: int) -> None:
    law = above(mu).power(rounds)
    for delta in (1e-3, 1e-6):
        epsilon = law.epsilon(delta)
        assert epsilon is not None
        assert gaussian(mu * math.sqrt(rounds), epsilon) <= delta
        assert gaussian(mu * math.sqrt(rounds), epsilon * 0.996) > delta


def test_a_curve_that_does_not_fall_to_zero_leaves_an_infinite_loss() -> None:
    law = dominating([0, 1, 2], [0.3, 0.1, 0.01], step=0.5, bits=BITS, spare=0)
    assert law.infinite == math.ceil(0.01 * 2**BITS)
    assert law.delta(1.0) == pytest.approx(0.01)
    assert law.delta(100.0) == pytest.approx(0.01)
    assert law.delta(0.25) <= 0.3
    assert law.epsilon(0.009) is None
    assert law.power(3).delta(100.0) == pytest.approx(1 - 0.99**3)


def below(mu: float, noise: float = 0.0) -> LossLaw:
    points = list(range(121))
    ahead = [(gaussian(mu, k * mu / 14) * (1 - noise), gaussian(mu, k * mu / 14) * (1 + noise)) for k in points]
    behind = [tuple(math.exp(-k * mu / 14) * end for end in ends) for k, ends in zip(points, ahead, strict=True)]
    return dominated(points, ahead, behind, step=mu / 14, bits=BITS, spare=SPARE)  # type: ignore[arg-type]


@pytest.mark.parametrize("noise", [1e-9, 1e-4, 1e-2])
@pytest.mark.parametrize("mu", [1e-4, 0.05, 1.0])
def test_a_dominated_law_is_below_the_curve_everywhere(mu: float, noise: float) -> None:
    law = below(mu, noise)
    assert law.total <= 2**BITS
    for epsilon in np.linspace(-9 * mu, 9 * mu, 301):
        truth = gaussian(mu, float(epsilon))
        assert law.delta(float(epsilon)) <= truth * (1 + 1e-9) + 1e-15
        if epsilon > 0 and truth > 1e-9 and noise < 1e-3:
            assert law.delta(float(epsilon)) > truth * 0.8


@pytest.mark.parametrize(("mu", "rounds"), [(0.05, 10), (0.05, 1000), (0.003, 10**6)])
def test_composed_gaussians_are_enclosed_from_below(mu: float, rounds: int) -> None:
    law = below(mu, 1e-5).power(rounds)
    for delta in (1e-3, 1e-6):
        epsilon = law.epsilon(delta)
        assert epsilon is not None
        assert gaussian(mu * math.sqrt(rounds), epsilon) >= delta
        assert gaussian(mu * math.sqrt(rounds), epsilon * 1.01) < delta


def test_masses_below_zero_are_paid_for_by_larger_losses() -> None:
    """And if those do not suffice, nothing is claimed."""
    for masses, settled in (
        ([3, -2, 4], [3, 0, 2]),
        ([-2, 5], [0, 3]),
        ([3, -5], [0]),
        ([3, -5, 5], [3, 0, 0]),
        ([1], [1]),
    ):
        assert [int(mass) for mass in _settled([fmpz(mass) for mass in masses])] == settled


def test_a_curve_of_which_nothing_is_known_has_a_law_without_mass_that_composes() -> None:
    unknown = [(0.0, 1.0)] * 3
    nothing = dominated([0, 1, 2], unknown, unknown, step=1 / 14, bits=BITS, spare=SPARE)
    assert nothing.total == 0
    assert nothing.times(below(1.0, 1e-4)).delta(0.0) == 0.0
