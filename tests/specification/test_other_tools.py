"""Others say the same: dp_accounting, prv_accountant, OpenDP, closed forms, and the clones' formula, written from the papers.

No package that accounts for a shuffler could be found on PyPI (autodp 0.2.3 lists it under what is still to be done), so those
for one user, or for an explicit pair of laws, are asked.
"""

import math
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import mpmath
import numpy as np
import opendp.prelude as dp
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy.stats import binom, norm

from oracles import opendp_box
from oracles.enumeration import response_rows, view
from shuffledp import Gaussian, Generic, Laplace, RandomizedResponse, account, audit_command
from shuffledp.accounting.account import bound_named
from shuffledp.accounting.composition import Collection, compose
from shuffledp.core.blanket import HasBlanket

STEP = 1e-4
"""Of the privacy losses of dp_accounting: rounded up for a claim, down for a lower end."""
ALONE: dict[str, tuple[HasBlanket, Callable[[bool], Any]]] = {
    "laplace": (Laplace(epsilon0=1.5), lambda up: pld.from_laplace_mechanism(1 / 1.5, pessimistic_estimate=up)),
    "gaussian": (Gaussian(sigma=1.2), lambda up: pld.from_gaussian_mechanism(1.2, pessimistic_estimate=up)),
    "response": (
        RandomizedResponse(size=5, gamma=0.4),
        lambda up: pld.from_randomized_response(0.4, 5, pessimistic_estimate=up),
    ),
}


def ends(randomizer: HasBlanket, n: int, epsilon: float) -> tuple[float, float]:
    found = bound_named("best").claim(randomizer.blanket(), n=n, epsilon=epsilon).log_delta
    return math.exp(found.lower), math.exp(found.upper)


@pytest.mark.parametrize("name", ALONE)
def test_one_user_is_as_private_as_dp_accounting_says(name: str) -> None:
    randomizer, theirs = ALONE[name]
    above, below = theirs(True), theirs(False)
    for epsilon in (0.1, 0.5, 1.0):
        lower, upper = ends(randomizer, 1, epsilon)
        assert lower <= above.get_delta_for_epsilon(epsilon)
        assert below.get_delta_for_epsilon(epsilon) <= upper
        assert upper <= above.get_delta_for_epsilon(epsilon) * 1.001


@pytest.mark.parametrize(("size", "n"), [(2, 12), (3, 6)])
def test_dp_accounting_finds_no_dataset_that_is_less_private(size: int, n: int) -> None:
    """It is given the laws of the shuffled counts, for several crowds."""
    rows, randomizer = response_rows(size, 2.0), RandomizedResponse(size=size, epsilon0=2.0)
    for crowd in ([0] * (n - 1), [1] * (n - 1), [size - 1] * (n - 1), [j % size for j in range(n - 1)]):
        first, second = (
            {counts: math.log(mass) for counts, mass in view(rows, [*crowd, mine]).items()} for mine in (0, 1)
        )
        theirs = pld.from_two_probability_mass_functions(
            first, second, pessimistic_estimate=False, value_discretization_interval=STEP
        )
        for epsilon in (0.1, 0.4, 1.0):
            assert theirs.get_delta_for_epsilon(epsilon) <= ends(randomizer, n, epsilon)[1]


@pytest.mark.parametrize("rounds", [1, 4, 9])
def test_rounds_of_gaussian_noise_are_one_with_less_noise(rounds: int) -> None:
    """One user: k rounds are one with sigma / sqrt(k), whose delta is known (Balle and Wang 2018)."""
    together = compose(
        [Collection(blanket=Gaussian(sigma=3.0).blanket(), n=1, rounds=rounds, bound=bound_named("best"))]
    )
    sigma = 3.0 / math.sqrt(rounds)
    for epsilon in (0.2, 0.6, 1.2):
        exact = norm.cdf(0.5 / sigma - epsilon * sigma) - math.exp(epsilon) * norm.cdf(-0.5 / sigma - epsilon * sigma)
        assert exact <= together.delta(epsilon) <= exact * 1.1 + 1e-9


@mpmath.workdps(40)  # type: ignore[untyped-decorator]
def test_rounds_of_coins_are_a_binomial_number() -> None:
    """One user who answers k times: the number of true answers says it all."""
    epsilon0, rounds = 0.5, 20
    q = mpmath.exp(epsilon0) / (1 + mpmath.exp(epsilon0))
    chances = [
        [mpmath.binomial(rounds, k) * p**k * (1 - p) ** (rounds - k) for k in range(rounds + 1)] for p in (q, 1 - q)
    ]
    blanket = RandomizedResponse(size=2, epsilon0=epsilon0).blanket()
    together = compose([Collection(blanket=blanket, n=1, rounds=rounds, bound=bound_named("best"))])
    for epsilon in (0.5, 2.0, 5.0):
        exact = sum(max(0, p - mpmath.exp(epsilon) * p2) for p, p2 in zip(*chances, strict=True))
        assert exact <= together.delta(epsilon) <= exact * 1.01


@pytest.mark.parametrize(("epsilon0", "n"), [(1.0, 300), (2.0, 1000), (0.3, 50)])
def test_the_generic_bound_is_the_clones_formula(epsilon0: float, n: int) -> None:
    """Feldman, McMillan and Talwar with the parameters of Wang et al.: C ~ Bin(n - 1, 2 / (p + 1)) clones, half of each kind."""
    p = math.exp(epsilon0)
    clones = np.arange(n)
    weight = binom.pmf(clones, n - 1, 2 / (p + 1))
    for epsilon in (0.05 * epsilon0, 0.3 * epsilon0):
        total = 0.0
        for c in clones[weight > 1e-18].tolist():
            a = np.arange(c + 2)  # of c clones and the user, how many say "0"
            mine, other = binom.pmf(a - 1, c, 0.5), binom.pmf(a, c, 0.5)
            first, second = (p * mine + other) / (p + 1), (mine + p * other) / (p + 1)
            total += float(weight[c]) * float(np.maximum(first - math.exp(epsilon) * second, 0).sum())
        claim = bound_named("generic").claim(Generic(epsilon0=epsilon0).blanket(), n=n, epsilon=epsilon).log_delta.upper
        assert total * (1 - 1e-9) <= math.exp(claim) <= total * (1 + 2e-3) + 1e-15


RECORDED = [
    (Laplace(epsilon0=0.5), 20, 1e-3, 7.36719, 7.38720),
    (Laplace(epsilon0=0.5), 20, 1e-6, 9.66350, 9.68385),
    (Gaussian(sigma=3.0), 9, 1e-3, 3.12867, 3.14868),
    (Gaussian(sigma=3.0), 9, 1e-6, 4.87634, 4.89677),
]
"""Ends of epsilon by Microsoft's prv_accountant 0.2.0 (eps_error = 0.01, delta_error = 1e-9), rounded outwards."""


@pytest.mark.parametrize(("randomizer", "rounds", "delta", "low", "high"), RECORDED, ids=str)
def test_rounds_of_one_user_cost_what_prv_accountant_says(
    randomizer: HasBlanket, rounds: int, delta: float, low: float, high: float
) -> None:
    blanket = randomizer.blanket()
    together = compose([Collection(blanket=blanket, n=1, rounds=rounds, bound=bound_named("best"))])
    assert low <= together.epsilon(delta) <= high


def test_rounds_of_laplace_noise_are_not_below_what_dp_accounting_is_sure_of() -> None:
    """Its own law of one round, its losses rounded down."""
    theirs = pld.from_laplace_mechanism(2.0, pessimistic_estimate=False).self_compose(20)
    blanket = Laplace(epsilon0=0.5).blanket()
    together = compose([Collection(blanket=blanket, n=1, rounds=20, bound=bound_named("best"))])
    for delta in (1e-3, 1e-6):
        assert theirs.get_epsilon_for_delta(delta) <= together.epsilon(delta)


@pytest.mark.parametrize(("size", "gamma"), [(2, 0.5), (4, 0.3), (100, 0.01)])
def test_a_user_who_answers_at_random_is_as_private_as_opendp_says(size: int, gamma: float) -> None:
    ours, theirs = RandomizedResponse(size=size, gamma=gamma), opendp_box.response(size, 1 - gamma + gamma / size)
    assert ours.epsilon0 == pytest.approx(theirs.map(1), rel=1e-12)


@pytest.mark.parametrize("sigma", [0.8, 2.0, 5.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-9])
def test_gaussian_noise_is_no_less_private_than_opendp_proves(sigma: float, delta: float) -> None:
    """OpenDP goes by way of zero-concentrated privacy, which costs a little: its epsilon is above ours, and not by much."""
    dp.enable_features("contrib")
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    noise: Any = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=sigma))
    theirs = noise.map(1.0).epsilon(delta)
    assert 0.85 * theirs < account(Gaussian(sigma=sigma), n=1, delta=delta).epsilon <= theirs


def test_an_audit_of_opendps_sampler_shows_what_opendp_promises_and_no_more() -> None:
    """Another library, by its own program and its own claim; a claim that is a fifth too small would be refuted."""
    promised, line = opendp_box.response(3, 0.7).map(1), f"{sys.executable} {opendp_box.__file__} 3 0.7"
    found = audit_command(line, epsilon=promised, trials=20_000, confidence=1 - 1e-9)
    assert found.verdict == "consistent"
    assert 0.85 * promised < found.epsilon <= promised
    assert replace(found, claimed=replace(found.claimed, epsilon=0.8 * promised)).verdict == "violated"
