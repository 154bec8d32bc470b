"""Outside its regime a bound says why and claims nothing; inside extremes it neither breaks nor clamps."""

import math

import pytest

from shuffledp import Channel, Gaussian, Generic, InvalidInput, Laplace, NoClaim, RandomizedResponse, account
from shuffledp.accounting.account import bound_named
from shuffledp.accounting.bound import NOTHING
from shuffledp.core.blanket import Blanket

RR = RandomizedResponse(size=10, epsilon0=1.0).blanket()


@pytest.mark.parametrize(
    ("name", "blanket", "n", "epsilon", "why"),
    [
        ("erlingsson", Generic(epsilon0=0.5).blanket(), 10**6, 0.1, "epsilon0 < 1/2"),
        ("erlingsson", Generic(epsilon0=0.4).blanket(), 999, 0.1, "n >= 1000"),
        ("erlingsson", Generic(epsilon0=0.4).blanket(), 1000, 0.1, "delta < 1/100"),
        ("erlingsson", Gaussian(sigma=1.0).blanket(), 10**6, 0.1, "no epsilon0"),
        ("closed-form", Gaussian(sigma=1.0).blanket(), 10**6, 0.1, "no epsilon0"),
        ("closed-form", RR, 10**6, 0.0, "above 0"),
        ("hoeffding", RR, 10**6, 0.0, "above 0"),
        ("hoeffding", RR, 1, 0.5, "exceeds delta = 1"),
        ("bennett", Gaussian(sigma=1.0).blanket(), 10**6, 0.1, "unbounded"),
        ("bennett", Channel([[0.5, 0.5, 0], [0.2, 0.3, 0.5]]).blanket(), 10**6, 0.1, "unbounded"),
        ("histogram-theorem", Laplace(epsilon0=1.0).blanket(), 10**6, 0.1, "randomized response"),
        ("histogram-theorem", RandomizedResponse(size=3, epsilon0=9.0).blanket(), 10**6, 1.5, "epsilon <= 1"),
        ("histogram-theorem", RR, 1, 0.5, "n >= 2"),
        ("histogram-theorem", RandomizedResponse(size=3, gamma=1.0).blanket(), 10**6, 0.5, "gamma < 1"),
        ("histogram-theorem", RR, 100, 0.1, ">= 27"),
    ],
)
def test_outside_the_regime(name: str, blanket: Blanket, n: int, epsilon: float, why: str) -> None:
    claim = bound_named(name).claim(blanket, n=n, epsilon=epsilon)
    assert claim.log_delta == NOTHING
    assert claim.regime is not None
    assert why in claim.regime


def test_theorem_3_1_gives_the_gamma_of_the_paper() -> None:
    """gamma = max(14 k log(2/delta) / ((n-1) epsilon^2), 27 k / ((n-1) epsilon)), both branches."""
    from shuffledp import calibrate

    for n, epsilon, delta in ((10**6, 0.5, 1e-6), (10**6, 1.0, 0.5)):
        ours = calibrate(
            RandomizedResponse.family(size=18, parameter="gamma"),
            n=n, epsilon=epsilon, delta=delta, bound="histogram-theorem",
        )  # fmt: skip
        paper = max(14 * 18 * math.log(2 / delta) / ((n - 1) * epsilon**2), 27 * 18 / ((n - 1) * epsilon))
        assert ours == pytest.approx(paper, rel=1e-13)


def test_theorem_5_1_as_stated() -> None:
    found = account(Generic(epsilon0=0.3), n=10**5, delta=1e-8, bound="erlingsson").epsilon
    assert found == pytest.approx(12 * 0.3 * math.sqrt(math.log(1e8) / 1e5), rel=1e-14)


def test_theorem_5_3_as_stated() -> None:
    a, p, n = math.exp(0.02), math.exp(1.0), 10**6
    width = (a + 1) * (p - 1 / p)
    stated = width**2 / (4 * n * (a - 1)) * math.exp(-(1 - math.exp(-2)) * n * min(1 / p, ((a - 1) / width) ** 2))
    assert account(Generic(epsilon0=1.0), n=n, epsilon=0.02, bound="closed-form").delta == pytest.approx(
        stated, rel=1e-9
    )


def test_the_error_of_an_impossible_request_names_the_nearest_delta() -> None:
    from shuffledp import calibrate

    with pytest.raises(
        NoClaim,
        match=r"cannot reach this delta with any gamma.*smallest delta that histogram-theorem reaches here is 0\.000",
    ):
        calibrate(
            RandomizedResponse.family(size=2, parameter="gamma"),
            n=1000, epsilon=0.5, delta=1e-6, bound="histogram-theorem",
        )  # fmt: skip


def test_unknown_bound() -> None:
    with pytest.raises(InvalidInput, match="bennett"):
        account(Generic(epsilon0=1.0), n=10, delta=1e-6, bound="magic")
