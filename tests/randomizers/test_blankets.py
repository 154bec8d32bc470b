"""Closed forms of gamma, omega, nu and L against summation and quadrature."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.integrate import quad

from oracles.enumeration import response_rows
from shuffledp import Channel, Gaussian, Generic, Laplace, LatticeChannel, RandomizedResponse
from shuffledp.arithmetic.balls import evaluate
from shuffledp.core.blanket import AmplificationVariable, Blanket

epsilons = st.floats(1e-3, 3.0)
locals_ = st.floats(1e-3, 6.0)


def only_law(blanket: Blanket, epsilon: float) -> AmplificationVariable:
    (law,) = blanket.amplification(arb(epsilon))
    return law


def integral(function: Callable[[float], float], points: list[float]) -> float:
    """Quadrature with the kinks at the ends of the pieces; the first and last point bound the support."""
    edges = points
    return math.fsum(quad(function, a, b, epsabs=1e-13, limit=200)[0] for a, b in itertools.pairwise(edges))


@given(st.integers(2, 12), locals_, epsilons)
def test_response_is_what_its_matrix_is(size: int, epsilon0: float, epsilon: float) -> None:
    """Lemma 5.1 and 5.7 against the exact channel of the same matrix."""
    response = RandomizedResponse(size=size, epsilon0=epsilon0)
    channel = Channel(response_rows(size, epsilon0))
    assert response.gamma == pytest.approx(channel.gamma, rel=1e-12)
    assert response.epsilon0 == pytest.approx(channel.epsilon0, rel=1e-9)
    law = only_law(response.blanket(), epsilon)
    for pair in channel.blanket().amplification(arb(epsilon)):
        assert float(law.mean) == pytest.approx(1 - math.exp(epsilon), rel=1e-12)
        assert float(law.upper) == pytest.approx(float(pair.upper), rel=1e-7, abs=1e-9)
        assert float(law.lower) == pytest.approx(float(pair.lower), rel=1e-7)
        assert float(law.second_moment) == pytest.approx(float(pair.second_moment), rel=1e-7)


@given(st.integers(2, 50), st.floats(1e-6, 1.0))
def test_gamma_and_epsilon0_are_inverse(size: int, gamma: float) -> None:
    response = RandomizedResponse(size=size, gamma=gamma)
    assert RandomizedResponse(size=size, epsilon0=response.epsilon0).gamma == pytest.approx(gamma, rel=1e-12)


def test_response_decomposes() -> None:
    response = RandomizedResponse(size=4, gamma=0.3)
    y = np.arange(4)
    for x in range(4):
        mixed = 0.3 * response.omega(y) + 0.7 * response.left_over(y, x)
        np.testing.assert_allclose(mixed, response.probability(y, x), rtol=1e-15)
        assert response.probability(y, x).sum() == pytest.approx(1)
        assert response.left_over(y, x).dtype == np.float64


@pytest.mark.parametrize("epsilon0", [0.1, 1.0, 2.5, 6.0])
@pytest.mark.parametrize("epsilon", [0.05, 0.7])
def test_laplace_against_quadrature(epsilon0: float, epsilon: float) -> None:
    laplace = Laplace(epsilon0=epsilon0)
    tail = 35 / epsilon0
    kinks = [-tail, 0.0, 0.5, 1.0, 1 + tail]
    lowest = integral(lambda y: min(float(laplace.density(y, 0)), float(laplace.density(y, 1))), kinks)
    assert laplace.gamma == pytest.approx(lowest, rel=1e-9)
    assert integral(lambda y: float(laplace.omega(y)), kinks) == pytest.approx(1, rel=1e-9)
    law = only_law(laplace.blanket(), epsilon)
    a = math.exp(epsilon)

    def value(y: float) -> float:
        return float((laplace.density(y, 0) - a * laplace.density(y, 1)) / laplace.omega(y))

    assert float(law.mean) == pytest.approx(integral(lambda y: value(y) * float(laplace.omega(y)), kinks), rel=1e-8)
    square = integral(lambda y: value(y) ** 2 * float(laplace.omega(y)), kinks)
    assert float(law.second_moment) == pytest.approx(square, rel=1e-8)
    spread = [value(float(y)) for y in np.linspace(-3, 4, 1401)]
    assert float(law.lower) == pytest.approx(min(spread), rel=1e-9)
    assert float(law.upper) == pytest.approx(max(spread), rel=1e-9)


@pytest.mark.parametrize("sigma", [0.4, 1.0, 3.0])
@pytest.mark.parametrize("epsilon", [0.05, 0.7])
def test_gaussian_against_quadrature(sigma: float, epsilon: float) -> None:
    gaussian = Gaussian(sigma=sigma)
    reach = 0.5 + 12 * sigma

    def over(function: Callable[[float], float]) -> float:
        return float(quad(function, -reach, 0.5, epsabs=1e-14)[0] + quad(function, 0.5, 1 + reach, epsabs=1e-14)[0])

    assert gaussian.epsilon0 is None
    assert over(lambda y: float(gaussian.omega(y))) == pytest.approx(1, rel=1e-9)
    a = math.exp(epsilon)

    def value(y: float) -> float:
        return float((gaussian.density(y, 0) - a * gaussian.density(y, 1)) / gaussian.omega(y))

    law = only_law(gaussian.blanket(), epsilon)
    assert float(law.mean) == pytest.approx(over(lambda y: value(y) * float(gaussian.omega(y))), rel=1e-8)
    assert float(law.second_moment) == pytest.approx(over(lambda y: value(y) ** 2 * float(gaussian.omega(y))), rel=1e-7)
    assert not law.upper.is_finite()


@given(st.sampled_from([Laplace(epsilon0=1.0), Laplace(epsilon0=3.0), Gaussian(sigma=0.6)]), st.floats(0, 1))
def test_continuous_laws_decompose(randomizer: Laplace | Gaussian, value: float) -> None:
    y = np.linspace(-3, 4, 301)
    mixed = (1 - randomizer.gamma) * randomizer.left_over(y, value) + randomizer.gamma * randomizer.omega(y)
    np.testing.assert_allclose(mixed, randomizer.density(y, value), rtol=1e-12, atol=1e-15)


@st.composite
def channels(draw: st.DrawFn) -> Channel:
    size, messages = draw(st.integers(2, 4)), draw(st.integers(2, 5))
    weights = [[draw(st.floats(0.05, 1.0)) for _ in range(messages)] for _ in range(size)]
    return Channel([[w / math.fsum(row) for w in row] for row in weights])


@given(channels(), epsilons)
def test_every_channel_obeys_the_generic_lemmas(channel: Channel, epsilon: float) -> None:
    """Lemma 5.2 and Lemma 5.4 with gamma = 1 hold for every channel of that epsilon0."""
    assert channel.epsilon0 is not None
    generic = Generic(epsilon0=channel.epsilon0)
    assert generic.gamma <= channel.gamma <= 1
    with ctx.workprec(200):
        wide = only_law(generic.blanket(), epsilon)
        for law in channel.blanket().amplification(arb(epsilon)):
            assert not law.upper > wide.upper
            assert not law.lower < wide.lower
            assert not law.second_moment > wide.second_moment


@given(channels())
def test_channel_decomposes(channel: Channel) -> None:
    assume(channel.gamma < 1 - 1e-9)
    y = np.arange(channel.matrix.shape[1])
    for x in range(channel.matrix.shape[0]):
        mixed = (1 - channel.gamma) * channel.left_over(y, x) + channel.gamma * channel.omega(y)
        np.testing.assert_allclose(mixed, channel.probability(y, x), rtol=1e-9, atol=1e-15)


def test_channel_with_an_impossible_message_has_no_epsilon0() -> None:
    channel = Channel([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25]])
    assert channel.epsilon0 is None
    assert LatticeChannel.of(channel).epsilon0 is None
    assert channel.gamma == 0.75


@pytest.mark.parametrize("epsilon0", [0.5, 2.0, 8.0])
def test_the_lattice_laplace_is_near_the_continuous_one(epsilon0: float) -> None:
    lattice = Laplace(epsilon0=epsilon0).lattice(inputs=9, outputs=257)
    assert all(sum(row) == 2**64 and min(row) >= 1 for row in lattice.counts)
    assert lattice.epsilon0 is not None
    assert lattice.epsilon0 <= epsilon0 * (1 + 1e-9)
    assert lattice.gamma == pytest.approx(math.exp(-epsilon0 / 2), rel=0.02)
    assert lattice.gamma >= math.exp(-epsilon0 / 2) * (1 - 1e-9)


def test_the_lattice_gaussian_has_an_epsilon0() -> None:
    lattice = Gaussian(sigma=1.0).lattice()
    assert lattice.epsilon0 is not None
    assert 1 < lattice.epsilon0 < 6
    assert lattice.gamma == pytest.approx(Gaussian(sigma=1.0).gamma, rel=0.02)


def test_gamma_rounds_down_and_epsilon0_up() -> None:
    response = RandomizedResponse(size=3, epsilon0=1.0)
    exact = evaluate(response.blanket().gamma)
    assert response.gamma == exact.lower < exact.upper
    other = RandomizedResponse(size=3, gamma=0.1)
    assert other.epsilon0 == evaluate(other.blanket().epsilon0).upper
