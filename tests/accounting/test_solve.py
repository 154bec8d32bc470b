"""One solver: safe side, exact, monotone, consistent with itself."""

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shuffledp import Generic, InvalidInput, Laplace, NoClaim, RandomizedResponse, account, calibrate
from shuffledp.accounting.account import bound_named
from shuffledp.accounting.solve import Problem, solve
from shuffledp.arithmetic.balls import log_down
from shuffledp.core.blanket import HasBlanket, RandomizerFamily

NAMES = ["bennett", "hoeffding", "closed-form", "histogram-theorem", "erlingsson"]
kinds = st.sampled_from(["rr", "generic", "laplace"])


def make(kind: str, epsilon0: float, size: int = 10) -> HasBlanket:
    if kind == "rr":
        return RandomizedResponse(size=size, epsilon0=epsilon0)
    return (Generic if kind == "generic" else Laplace)(epsilon0=epsilon0)


def family(kind: str, size: int = 10) -> RandomizerFamily:
    if kind == "rr":
        return RandomizedResponse.family(size=size)
    return (Generic if kind == "generic" else Laplace).family()


@settings(max_examples=200, deadline=None)
@given(kinds, st.floats(1e-6, 30), st.integers(1, 10**12), st.floats(-300, -0.31))
def test_epsilon_holds_and_the_double_below_does_not(kind: str, epsilon0: float, n: int, log10_delta: float) -> None:
    randomizer, delta = make(kind, epsilon0), 10**log10_delta
    for name in ("bennett", "hoeffding", "closed-form"):
        epsilon = account(randomizer, n=n, delta=delta, bound=name).epsilon
        assert 0 <= epsilon <= epsilon0 * (1 + 1e-15)
        target, bound = log_down(delta), bound_named(name)
        assert bound.claim(randomizer.blanket(), n=n, epsilon=epsilon).log_delta.upper <= target
        below = bound.claim(randomizer.blanket(), n=n, epsilon=math.nextafter(epsilon, 0))
        assert below.regime is not None or below.log_delta.upper > target


@settings(max_examples=100, deadline=None)
@given(kinds, st.sampled_from(NAMES), st.floats(0.01, 8), st.integers(10, 10**9), st.floats(-100, -2.1))
def test_round_trips(kind: str, name: str, epsilon0: float, n: int, log10_delta: float) -> None:
    """epsilon -> epsilon0 -> epsilon, epsilon -> n -> epsilon, epsilon -> delta."""
    delta = 10**log10_delta
    try:
        epsilon = account(make(kind, epsilon0), n=n, delta=delta, bound=name).epsilon
    except NoClaim:
        return
    assume(epsilon < epsilon0 or name in ("erlingsson", "histogram-theorem"))
    back = calibrate(family(kind), n=n, epsilon=epsilon, delta=delta, bound=name)
    assert back == pytest.approx(epsilon0, rel=1e-9)
    assert account(make(kind, back), n=n, delta=delta, bound=name).epsilon == pytest.approx(epsilon, rel=1e-9)
    assert account(make(kind, epsilon0), epsilon=epsilon, delta=delta, bound=name).n <= n
    assert account(make(kind, epsilon0), epsilon=epsilon, n=n, bound=name).delta <= delta * (1 + 1e-12)


@settings(max_examples=100, deadline=None)
@given(kinds, st.sampled_from(NAMES[:3]), st.floats(1e-3, 10), st.integers(1, 10**9), st.floats(-100, -0.4))
def test_monotone_in_everything(kind: str, name: str, epsilon0: float, n: int, log10_delta: float) -> None:
    delta = 10**log10_delta
    epsilon = account(make(kind, epsilon0), n=n, delta=delta, bound=name).epsilon
    assert account(make(kind, epsilon0), n=n + 1 + n // 10, delta=delta, bound=name).epsilon <= epsilon
    assert account(make(kind, epsilon0), n=n, delta=min(0.999, 2 * delta), bound=name).epsilon <= epsilon
    assert account(make(kind, epsilon0 * 0.9), n=n, delta=delta, bound=name).epsilon <= epsilon


@settings(max_examples=100, deadline=None)
@given(kinds, st.sampled_from(NAMES[:3]), st.floats(0.1, 5), st.integers(100, 10**8), st.floats(0.01, 0.9))
def test_delta_decreases_in_epsilon(kind: str, name: str, epsilon0: float, n: int, fraction: float) -> None:
    def delta(epsilon: float) -> float:
        found = solve(bound_named(name), Problem(randomizer=make(kind, epsilon0).blanket(), n=n, epsilon=epsilon))
        return 1.0 if found.value is None else float(found.value)

    assert delta(fraction * epsilon0 * 1.1) <= delta(fraction * epsilon0) * (1 + 1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_the_least_n_is_the_least(name: str) -> None:
    randomizer = RandomizedResponse(size=4, epsilon0=0.4)
    n = account(randomizer, epsilon=0.05, delta=1e-6, bound=name).n
    bound, target = bound_named(name), log_down(1e-6)
    assert bound.claim(randomizer.blanket(), n=n, epsilon=0.05).log_delta.upper <= target
    before = bound.claim(randomizer.blanket(), n=n - 1, epsilon=0.05)
    assert before.regime is not None or before.log_delta.upper > target


def test_gamma_is_the_smallest_that_holds() -> None:
    gamma = calibrate(
        RandomizedResponse.family(size=10, parameter="gamma"), n=10**6, epsilon=1.0, delta=1e-6, bound="bennett"
    )
    bound, target = bound_named("bennett"), log_down(1e-6)

    def log_delta(g: float) -> float:
        return bound.claim(RandomizedResponse(size=10, gamma=g).blanket(), n=10**6, epsilon=1.0).log_delta.upper

    assert log_delta(gamma) <= target < log_delta(math.nextafter(gamma, 0))
    epsilon0 = calibrate(RandomizedResponse.family(size=10), n=10**6, epsilon=1.0, delta=1e-6, bound="bennett")
    assert RandomizedResponse(size=10, gamma=gamma).epsilon0 == pytest.approx(epsilon0, rel=1e-12)


def test_a_delta_too_small_for_a_double_is_not_reported_as_zero() -> None:
    assert account(RandomizedResponse(size=2, epsilon0=1.0), n=10**9, epsilon=0.9, bound="bennett").delta == 5e-324


def test_no_local_noise_left_to_hide_is_still_an_answer() -> None:
    for name in ("best", "numeric", "bennett", "hoeffding", "closed-form"):
        assert account(RandomizedResponse(size=3, gamma=1.0), n=5, delta=1e-6, bound=name).epsilon == 0.0
    for name in ("best", "generic", "bennett", "hoeffding", "closed-form"):
        assert account(Generic(epsilon0=0.0), n=5, delta=1e-6, bound=name).epsilon == 0.0
        assert account(Generic(epsilon0=1.5), n=1, delta=1e-6, bound=name).epsilon == 1.5
    with pytest.raises(NoClaim, match="epsilon0 > 0"):
        account(Generic(epsilon0=0.0), n=5000, delta=1e-6, bound="erlingsson")


@pytest.mark.parametrize(
    ("given_", "why"),
    [
        ({"n": 0, "delta": 1e-6}, "n must be"),
        ({"n": 1.5, "delta": 1e-6}, "whole number"),
        ({"n": True, "delta": 1e-6}, "whole number"),
        ({"n": 10, "delta": 2.0}, "delta must be"),
        ({"n": 10, "delta": 0.0}, "delta must be"),
        ({"n": 10, "delta": math.nan}, "delta must be"),
        ({"n": 10, "epsilon": -1.0}, "epsilon must be"),
        ({"n": 10, "epsilon": math.nan}, "epsilon must be"),
        ({"n": 10}, "left out"),
        ({"n": 10, "epsilon": 0.1, "delta": 1e-6}, "left out"),
    ],
)
def test_bad_input(given_: dict[str, float], why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        account(Generic(epsilon0=1.0), **given_)  # type: ignore[arg-type]
