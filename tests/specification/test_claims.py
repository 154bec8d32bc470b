"""What is claimed, one sentence after another, each for random randomizers, users and targets.

That no claim excludes the truth is in `test_truth.py`, what other tools say in `test_other_tools.py`. What is asked of each
registered randomizer or bound by itself, E[L] = 1 - e^epsilon included, is in `tests/conformance`; composition has its own file
in `tests/accounting`.
"""

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from flint import arb
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from oracles.enumeration import blanket_bound, response_rows, true_delta
from oracles.laws import rows_of
from oracles.points import DRAWN
from oracles.scale import full
from oracles.truth import exponential, law_of_row
from oracles.truth import true_delta as truth_of
from shuffledp import Channel, Gaussian, Generic, Laplace, NoClaim, RandomizedResponse, account, calibrate
from shuffledp.accounting.account import bound_named
from shuffledp.accounting.concentration import BENNETT, HOEFFDING, Concentration
from shuffledp.accounting.group import group
from shuffledp.accounting.solve import Problem, solve
from shuffledp.arithmetic.balls import evaluate, log_down
from shuffledp.core.blanket import Blanket, HasBlanket, RandomizerFamily

SLACK = 1 + 1e-10
"""For the floating-point error of the oracle in doubles (Lemma 5.3), not of the bounds."""
FORMULAS = ("bennett", "hoeffding", "closed-form")
NAMES = [*FORMULAS, "histogram-theorem", "erlingsson"]

kinds = st.sampled_from(["rr", "generic", "laplace"])
users = st.floats(0, 10).map(lambda k: round(10**k))
randomizers = st.one_of(
    st.builds(
        lambda e, k: RandomizedResponse(size=k, epsilon0=e), st.floats(1e-3, 20), st.sampled_from([2, 3, 10, 1000])
    ),
    st.builds(lambda e: Laplace(epsilon0=e), st.floats(1e-3, 20)),
    st.builds(lambda e: Generic(epsilon0=e), st.floats(1e-3, 20)),
)
everywhere = settings(max_examples=full(35, 1000), deadline=None, suppress_health_check=[HealthCheck.too_slow])


def make(kind: str, epsilon0: float, size: int = 10) -> HasBlanket:
    if kind == "rr":
        return RandomizedResponse(size=size, epsilon0=epsilon0)
    return (Generic if kind == "generic" else Laplace)(epsilon0=epsilon0)


def family(kind: str, size: int = 10) -> RandomizerFamily:
    if kind == "rr":
        return RandomizedResponse.family(size=size)
    return (Generic if kind == "generic" else Laplace).family()


def noisier(randomizer: Any, factor: float) -> Any:
    if isinstance(randomizer, RandomizedResponse):
        return RandomizedResponse(size=randomizer.size, epsilon0=factor * randomizer.epsilon0)
    return type(randomizer)(epsilon0=factor * randomizer.epsilon0)


def ends(randomizer: HasBlanket, n: int, epsilon: float) -> tuple[float, float]:
    """Of the logarithm of delta."""
    found = bound_named("best").claim(randomizer.blanket(), n=n, epsilon=epsilon).log_delta
    return found.lower, found.upper


# Delta: what is certain at one point agrees with what is certain at another.


@everywhere
@given(randomizers, users, st.floats(1e-4, 0.999))
def test_there_is_always_an_answer_and_its_lower_end_is_not_above_its_upper_one(
    randomizer: Any, n: int, fraction: float
) -> None:
    lower, upper = ends(randomizer, n, fraction * randomizer.epsilon0)
    assert lower <= upper <= 0


@everywhere
@given(randomizers, users, st.floats(1e-4, 0.999))
def test_delta_falls_as_epsilon_grows(randomizer: Any, n: int, fraction: float) -> None:
    epsilon = fraction * randomizer.epsilon0
    assert ends(randomizer, n, epsilon)[0] <= ends(randomizer, n, epsilon * 0.9)[1]


@everywhere
@given(randomizers, users, st.floats(1e-4, 0.999))
def test_delta_falls_as_users_are_added(randomizer: Any, n: int, fraction: float) -> None:
    epsilon = fraction * randomizer.epsilon0
    assert ends(randomizer, n, epsilon)[0] <= ends(randomizer, max(1, n // 2), epsilon)[1]


@everywhere
@given(randomizers, users, st.floats(1e-4, 0.999))
def test_delta_falls_as_local_noise_is_added(randomizer: Any, n: int, fraction: float) -> None:
    epsilon = fraction * randomizer.epsilon0
    assert ends(randomizer, n, epsilon)[0] <= ends(noisier(randomizer, 1.1), n, epsilon)[1]


@pytest.mark.parametrize(
    ("randomizer", "epsilon"),
    [(Gaussian(sigma=0.3), 22.0), (Gaussian(sigma=0.5), 5.0), (Laplace(epsilon0=10.0), 9.0),
     (RandomizedResponse(size=10, epsilon0=8.0), 7.5)],
    ids=str,
)  # fmt: skip
def test_upper_ends_themselves_never_rise_with_the_number_of_users(randomizer: HasBlanket, epsilon: float) -> None:
    uppers = [ends(randomizer, n, epsilon)[1] for n in (1, 2, 3, 10, 100, 1000)]
    assert uppers == sorted(uppers, reverse=True)


@pytest.mark.parametrize("seed", range(full(12, 100)))
def test_messages_that_are_merged_say_no_more(seed: int) -> None:
    """Post-processing: what is certain of the merged ones is possible for the others."""
    generator = np.random.default_rng(seed)
    rows = np.maximum(generator.dirichlet(np.ones(4), size=3), 1e-3)
    rows /= rows.sum(axis=1, keepdims=True)
    merged = np.column_stack([rows[:, :2], rows[:, 2] + rows[:, 3]])
    n = int(10 ** generator.uniform(0, 4))
    epsilon = float(generator.uniform(0.01, 0.5)) / math.sqrt(n)
    assert ends(Channel(merged), n, epsilon)[0] <= ends(Channel(rows), n, epsilon)[1]


@pytest.mark.parametrize("kind", ["response", "channel", "design"])
def test_neighbours_are_symmetric_so_that_delta_below_zero_follows_from_delta_above(kind: str) -> None:
    """delta(-epsilon) = 1 - e^-epsilon (1 - delta(epsilon)), which composition rests on: exactly, over all datasets."""
    for seed in range(5):
        randomizer, _ = DRAWN[kind](np.random.default_rng(seed))
        laws = [law_of_row(row) for row in rows_of(randomizer)]
        for n, epsilon in product((1, 3), (0.125, 1.0)):
            above, below = (truth_of(laws, n, sign * epsilon) for sign in (1, -1))
            assert abs(below.lower - 1 + exponential(Fraction(-epsilon))[0] * (1 - above.lower)) < Fraction(1, 10**50)


# Truth <= Lemma 5.3 <= the paper's formulas.


def formula(bound: Concentration, blanket: Blanket, n: int, epsilon: float) -> float:
    """The bound's value even where it exceeds 1 and so claims nothing."""
    return math.exp(min(700.0, evaluate(lambda: bound._log_delta(blanket, n, arb(epsilon))).upper))


@settings(max_examples=full(100, 600), deadline=None)
@given(st.integers(2, 4), st.integers(2, 5), st.floats(0.05, 4), st.floats(0.01, 0.95))
def test_the_truth_of_a_response_is_below_the_lemma_and_the_lemma_below_the_formulas(
    size: int, n: int, epsilon0: float, fraction: float
) -> None:
    epsilon = fraction * epsilon0
    assume(size + n <= 7)
    rows = response_rows(size, epsilon0)
    truth, lemma = true_delta(rows, n, epsilon), blanket_bound(rows, n, epsilon)
    assert truth <= lemma * SLACK
    blanket = RandomizedResponse(size=size, epsilon0=epsilon0).blanket()
    for bound in (HOEFFDING, BENNETT):
        assert lemma <= formula(bound, blanket, n, epsilon) * SLACK
    for name in FORMULAS:
        for known in (blanket, Generic(epsilon0=epsilon0).blanket()):
            claim = bound_named(name).claim(known, n=n, epsilon=epsilon)
            assert truth <= math.exp(claim.log_delta.upper) * SLACK


@st.composite
def small_channels(draw: st.DrawFn) -> list[list[float]]:
    """Rows of 1s and e^epsilon0s: the extremal channels, where pairs may agree on some messages."""
    epsilon0 = draw(st.floats(0.1, 3))
    size, messages = draw(st.integers(2, 3)), draw(st.integers(2, 3))
    rows = []
    for _ in range(size):
        row = [math.exp(epsilon0) if draw(st.booleans()) else 1.0 for _ in range(messages)]
        rows.append([entry / math.fsum(row) for entry in row])
    return rows


@settings(max_examples=full(100, 400), deadline=None)
@given(small_channels(), st.integers(1, 4), st.floats(0.01, 0.95))
def test_the_truth_of_a_channel_is_below_the_lemma_and_the_lemma_below_the_formulas(
    rows: list[list[float]], n: int, fraction: float
) -> None:
    channel = Channel(rows)
    assert channel.epsilon0 is not None
    epsilon = fraction * channel.epsilon0
    assume(epsilon > 1e-6)
    truth, lemma = true_delta(rows, n, epsilon), blanket_bound(rows, n, epsilon)
    assert truth <= lemma * SLACK + 1e-15
    generic = Generic(epsilon0=channel.epsilon0)
    for bound in (HOEFFDING, BENNETT):
        assert lemma <= formula(bound, channel.blanket(), n, epsilon) * SLACK
        assert truth <= formula(bound, generic.blanket(), n, epsilon) * SLACK


# The solver: every answer is one that the bound grants.


@settings(max_examples=full(70, 400), deadline=None)
@given(kinds, st.floats(1e-6, 30), st.integers(1, 10**12), st.floats(-300, -0.31))
def test_an_epsilon_holds_and_the_double_below_it_does_not(
    kind: str, epsilon0: float, n: int, log10_delta: float
) -> None:
    randomizer, delta = make(kind, epsilon0), 10**log10_delta
    for name in FORMULAS:
        epsilon = account(randomizer, n=n, delta=delta, bound=name).epsilon
        assert 0 <= epsilon <= epsilon0 * (1 + 1e-15)
        target, bound = log_down(delta), bound_named(name)
        assert bound.claim(randomizer.blanket(), n=n, epsilon=epsilon).log_delta.upper <= target
        below = bound.claim(randomizer.blanket(), n=n, epsilon=math.nextafter(epsilon, 0))
        assert below.regime is not None or below.log_delta.upper > target


@settings(max_examples=full(30, 720), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(randomizers, users, st.floats(-100, -0.4))
def test_the_best_epsilon_is_below_the_local_one_and_below_every_formula(
    randomizer: Any, n: int, log10_delta: float
) -> None:
    delta = 10**log10_delta
    found = solve(bound_named("best"), Problem(randomizer=randomizer.blanket(), n=n, delta=delta))
    assert found.value is not None
    assert found.regime is None
    assert 0 <= (found.lower or 0.0) <= found.value <= randomizer.epsilon0
    assert found.value <= account(randomizer, n=n, delta=delta, bound="bennett").epsilon * (1 + 1e-3)


@settings(max_examples=full(8, 360), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(randomizers, users, st.floats(-100, -0.4))
def test_the_best_epsilon_falls_with_users_and_with_delta(randomizer: Any, n: int, log10_delta: float) -> None:
    """Within the precision of a solve."""
    delta, blanket = 10**log10_delta, randomizer.blanket()
    found, more, looser = (
        solve(bound_named("best"), Problem(randomizer=blanket, n=users, delta=target))
        for users, target in ((n, delta), (2 * n, delta), (n, min(0.9, 3 * delta)))
    )
    assert found.value is not None
    assert (more.lower or 0.0) <= found.value
    for other in (more, looser):
        assert other.value is not None
        assert other.value <= found.value * (1 + 2e-3) + 1e-12


@settings(max_examples=full(6, 60), deadline=None)
@given(st.floats(0.2, 20), users, st.floats(-60, -1))
def test_gaussian_noise_gets_an_answer_with_two_ends(sigma: float, n: int, log10_delta: float) -> None:
    found = solve(bound_named("best"), Problem(randomizer=Gaussian(sigma=sigma).blanket(), n=n, delta=10**log10_delta))
    assert found.value is not None
    assert (found.lower or 0.0) <= found.value


@settings(max_examples=full(40, 300), deadline=None)
@given(kinds, st.sampled_from(NAMES), st.floats(0.01, 8), st.integers(10, 10**9), st.floats(-100, -2.1))
def test_solving_for_one_quantity_after_another_comes_back(
    kind: str, name: str, epsilon0: float, n: int, log10_delta: float
) -> None:
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


@settings(max_examples=full(40, 300), deadline=None)
@given(kinds, st.sampled_from(FORMULAS), st.floats(1e-3, 10), st.integers(1, 10**9), st.floats(-100, -0.4))
def test_a_formula_is_monotone_in_users_delta_and_local_noise(
    kind: str, name: str, epsilon0: float, n: int, log10_delta: float
) -> None:
    delta = 10**log10_delta
    epsilon = account(make(kind, epsilon0), n=n, delta=delta, bound=name).epsilon
    assert account(make(kind, epsilon0), n=n + 1 + n // 10, delta=delta, bound=name).epsilon <= epsilon
    assert account(make(kind, epsilon0), n=n, delta=min(0.999, 2 * delta), bound=name).epsilon <= epsilon
    assert account(make(kind, epsilon0 * 0.9), n=n, delta=delta, bound=name).epsilon <= epsilon


@settings(max_examples=full(40, 300), deadline=None)
@given(kinds, st.sampled_from(FORMULAS), st.floats(0.1, 5), st.integers(100, 10**8), st.floats(0.01, 0.9))
def test_the_delta_of_a_formula_falls_as_epsilon_grows(
    kind: str, name: str, epsilon0: float, n: int, fraction: float
) -> None:
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


# Several reports of one person.


@pytest.mark.parametrize("n", [4, 6])
@pytest.mark.parametrize("rows", [2, 3])
def test_a_person_with_several_reports_is_as_private_as_is_said(n: int, rows: int) -> None:
    """Over all datasets: the delta of changing so many reports, at the claimed epsilon, is at most the claimed delta."""
    randomizer = RandomizedResponse(size=3, gamma=0.5)
    for delta in (0.3, 0.05, 0.01):
        claim = group(randomizer, n=n, delta=delta, rows=rows)
        assert true_delta(response_rows(3, randomizer.epsilon0), n, claim.epsilon, rows) <= delta
        assert math.isfinite(claim.epsilon)
