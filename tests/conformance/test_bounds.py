"""What every registered bound must pass, and wrong bounds do not.

A check takes a bound and raises AssertionError. To add a bound, register it in `accounting/account.py`: it is judged here.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from oracles.crowds import mixed_delta
from oracles.enumeration import expected_positive_part, response_rows, true_delta
from oracles.scale import examples
from shuffledp import Channel, Gaussian, Generic, Laplace, LatticeChannel, RandomizedResponse
from shuffledp.accounting.account import bound_named, bounds
from shuffledp.accounting.bound import NOTHING, Bound, BoundKind, Claim, Side, at_most
from shuffledp.accounting.solve import Problem, solve
from shuffledp.arithmetic.balls import log_up
from shuffledp.arithmetic.enclosure import Enclosure
from shuffledp.core.blanket import Blanket
from shuffledp.core.randomizer import FiniteRandomizer
from shuffledp.randomizers.registry import RANDOMIZERS

Check = Callable[[Bound], None]
SLACK = 1e-9
"""For the floating-point error of the oracles, not of the bounds."""
RANDOMIZER_EXAMPLES = [randomizer for kind in RANDOMIZERS.values() for randomizer in kind.examples()]


def encloses(claim: Claim, delta: float, *, attained: bool = True) -> None:
    """Assert that a claim holds: delta is the largest divergence, or (not `attained`) that of some datasets."""
    assert delta <= math.exp(claim.log_delta.upper) * (1 + SLACK) + 1e-13
    if attained:
        assert math.exp(claim.log_delta.lower) * (1 - SLACK) - 1e-13 <= delta


def rows_of(randomizer: FiniteRandomizer) -> list[list[float]]:
    """The matrix of a randomizer, each row summing to 1."""
    outputs = np.arange(randomizer.messages)
    laws = [randomizer.probability(outputs, symbol) for symbol in range(randomizer.symbols)]
    return [(law / law.sum()).tolist() for law in laws]


@lru_cache
def small_truths() -> list[tuple[Blanket, int, float, float]]:
    """(blanket, n, epsilon, delta): every registered randomizer of few messages, enumerated over all datasets."""
    small = [r for r in RANDOMIZER_EXAMPLES if isinstance(r, FiniteRandomizer) and r.symbols * r.messages <= 12]
    return [
        (randomizer.blanket(), n, epsilon, true_delta(rows_of(randomizer), n, epsilon))
        for randomizer in small
        for n in (1, 2, 4)
        for epsilon in (0.0, 0.05, 0.3, 1.0)
    ]


def check_says_who_it_is(bound: Bound) -> None:
    """A name, a kind that the solver knows, and a reference."""
    assert bound.name == bound.name.strip().lower() != ""
    assert bound.kind in ("formula", "numeric", "witness")
    assert bound.reference


def check_is_total(bound: Bound) -> None:
    """Any blanket, n and epsilon gets an answer: a claim below 1, or a sentence that says why there is none."""
    laws = st.one_of(
        st.builds(RandomizedResponse, size=st.integers(2, 10**6), epsilon0=st.floats(1e-6, 30)),
        st.builds(Generic, epsilon0=st.floats(1e-6, 30)),
        st.builds(Laplace, epsilon0=st.floats(1e-3, 30)),
        st.sampled_from(RANDOMIZER_EXAMPLES),
    )
    count = examples(80 if bound.kind == "formula" else 20)

    @settings(max_examples=count, deadline=None, report_multiple_bugs=False)
    @given(laws.map(lambda law: law.blanket()), st.integers(1, 10**12), st.floats(0, 40))
    def holds(blanket: Blanket, n: int, epsilon: float) -> None:
        claim = bound.claim(blanket, n=n, epsilon=epsilon)
        assert claim.log_delta.lower <= claim.log_delta.upper <= 0
        if bound.kind == "formula":
            assert claim.log_delta.lower == -math.inf
        if bound.kind == "witness":
            assert claim.log_delta.upper in (0.0, -math.inf)
        if claim.regime is not None:
            assert claim.log_delta.upper == 0
            assert claim.regime.endswith(".")

    holds()


def check_encloses_all_small_datasets(bound: Bound) -> None:
    """Truth by enumeration of every pair of neighbouring datasets, whichever side is asked for."""
    sides: tuple[Side, ...] = ("both", "upper", "lower")
    for blanket, n, epsilon, delta in small_truths():
        for side in sides:
            encloses(bound.claim(blanket, n=n, epsilon=epsilon, side=side), delta)


def check_is_not_below_explicit_datasets(bound: Bound) -> None:
    """Responses of 3 and 10 values when all others hold a third one, which is summed exactly."""
    for size, epsilon0, epsilon, n in ((3, 2.0, 0.5, 30), (10, 3.0, 1.0, 30), (10, 1.0, 0.2, 20)):
        blanket, delta = (
            RandomizedResponse(size=size, epsilon0=epsilon0).blanket(),
            _third_value(size, epsilon0, epsilon, n),
        )
        encloses(bound.claim(blanket, n=n, epsilon=epsilon), delta, attained=False)
        assert delta > 1e-4


def _third_value(size: int, epsilon0: float, epsilon: float, n: int) -> float:
    rows, a = response_rows(size, epsilon0), math.exp(epsilon)
    values = [(u - a * v) / w for u, v, w in zip(rows[0], rows[1], rows[2], strict=True)]
    same = max(0, size - 3) * rows[2][0]
    return expected_positive_part([*values[:3], 1 - a], [*rows[2][:3], same], n) / n


def check_is_not_below_many_coins(bound: Bound) -> None:
    """1,000 and 3,000 users of RR-2 with all others equal, summed exactly: some bounds speak for many users only."""
    for n in (1000, 3000):
        for epsilon0 in (0.3, 0.45, 2.0):
            q = math.exp(epsilon0) / (1 + math.exp(epsilon0))
            pmf = binom.pmf(np.arange(n), n - 1, q)
            first = q * np.append(0, pmf) + (1 - q) * np.append(pmf, 0)
            second = (1 - q) * np.append(0, pmf) + q * np.append(pmf, 0)
            blanket = RandomizedResponse(size=2, epsilon0=epsilon0).blanket()
            for epsilon in np.geomspace(0.01, 0.99, 25).tolist():
                delta = float(np.maximum(first - math.exp(epsilon) * second, 0).sum())
                encloses(bound.claim(blanket, n=n, epsilon=epsilon, side="upper"), delta, attained=False)


def check_is_not_below_mixed_crowds(bound: Bound) -> None:
    """Crowds of thousands who hold different inputs of a channel, by a Fourier transform."""
    for delta in _mixed_crowds():
        encloses(bound.claim(MIXED.blanket(), n=20_001, epsilon=0.0, side="upper"), delta, attained=False)


MIXED = Channel([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.4, 0.3, 0.3]])


@lru_cache
def _mixed_crowds() -> list[float]:
    rows = np.array(rows_of(LatticeChannel.of(MIXED)))
    return [mixed_delta(rows, others, 0, 1, 0.0, cells=2048) for others in ((0, 20_000, 0), (9000, 11_000, 0))]


def check_local_guarantee(bound: Bound) -> None:
    """At epsilon0 and above delta is 0, so no lower end may be above it."""
    for randomizer in RANDOMIZER_EXAMPLES:
        if randomizer.epsilon0 is not None:
            claim = bound.claim(randomizer.blanket(), n=100, epsilon=randomizer.epsilon0 * 1.001)
            assert claim.log_delta.lower == -math.inf


def check_solutions_are_granted(bound: Bound) -> None:
    """What the solver finds for epsilon, n and epsilon0 is something that the bound claims."""
    problems = (
        Problem(randomizer=RandomizedResponse(size=3, epsilon0=1.0).blanket(), n=20_000, delta=1e-6),
        Problem(randomizer=RandomizedResponse(size=2, epsilon0=0.4).blanket(), epsilon=0.2, delta=1e-4),
        Problem(randomizer=RandomizedResponse.family(size=2), n=10_000, epsilon=0.3, delta=1e-5),
    )
    for problem in problems:
        solution = solve(bound, problem)
        if solution.value is not None:
            assert solution.value == (solution.lower if problem.unknown == "epsilon0" else solution.upper)
            assert problem.claim(bound, solution.value, "upper").log_delta.upper <= log_up(problem.delta or 0)
            if solution.lower is not None and solution.upper is not None:
                assert solution.lower <= solution.upper
        else:
            assert solution.regime is not None or bound.kind == "witness"


CHECKS: tuple[Check, ...] = (
    check_says_who_it_is,
    check_is_total,
    check_encloses_all_small_datasets,
    check_is_not_below_explicit_datasets,
    check_is_not_below_many_coins,
    check_is_not_below_mixed_crowds,
    check_local_guarantee,
    check_solutions_are_granted,
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", bounds())
def test_every_registered_bound_passes(name: str, check: Check) -> None:
    check(bound_named(name))


def test_the_checks_make_every_bound_speak() -> None:
    """A bound that never claims anything would pass: each one must claim something where it is judged."""
    points = [(blanket, n, epsilon) for blanket, n, epsilon, _ in small_truths()]
    points += [(RandomizedResponse(size=2, epsilon0=e).blanket(), 3000, 0.5) for e in (0.3, 0.45, 2.0)]
    points += [(Gaussian(sigma=2.0).blanket(), 1000, 0.1)]
    points += [(Channel([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]]).blanket(), 20_000, 0.01)]
    for bound in bounds().values():
        claims = (bound.claim(blanket, n=n, epsilon=epsilon) for blanket, n, epsilon in points)
        assert any(math.isfinite(end) and end < 0 for c in claims for end in (c.log_delta.lower, c.log_delta.upper))


# Wrong bounds: each is rejected by the check that is there for it.


class Wrong:
    """What they have in common."""

    name: str
    kind: BoundKind = "formula"
    reference: str = "none"


@dataclass(frozen=True)
class Shifted(Wrong):
    """A bound whose ends are moved."""

    name = "shifted"
    kind = "numeric"
    bound: Bound
    upper: float = 0.0
    lower: float = 0.0

    def claim(self, blanket: Blanket, *, n: int, epsilon: float, side: Side = "both") -> Claim:
        claim = self.bound.claim(blanket, n=n, epsilon=epsilon, side=side)
        if claim.regime is not None or claim.log_delta == NOTHING or claim.log_delta.upper == -math.inf:
            return claim
        lower = min(0.0, claim.log_delta.lower + self.lower)
        upper = claim.log_delta.upper + (self.upper if claim.log_delta.upper < 0 else 0.0)
        return replace(claim, log_delta=Enclosure(min(lower, upper), upper))


@dataclass(frozen=True)
class PrintedBennett(Wrong):
    """Bennett's bound with Lemma 5.6 as the paper prints it: an extra 1 / (a m) in front (docs/errata.md)."""

    name = "bennett as printed"

    def claim(self, blanket: Blanket, *, n: int, epsilon: float, side: Side = "both") -> Claim:
        (law,), gamma = blanket.amplification(arb(epsilon)), float(blanket.gamma())
        a, b, c = -float(law.mean), float(law.upper), float(law.second_moment)
        u = a * b / c

        def lemma(m: int) -> float:
            return b / (a * m * math.log1p(u)) * math.exp(-m * c / b**2 * ((1 + u) * math.log1p(u) - u))

        weights = binom.pmf(np.arange(1, n + 1), n, gamma)
        delta = math.fsum(weights * [lemma(m) for m in range(1, n + 1)]) / (gamma * n)
        return at_most(Enclosure(-math.inf, math.log(delta)))


@dataclass(frozen=True)
class Presumptuous(Wrong):
    """A bound that claims something even where it says that it does not apply."""

    name = "presumptuous"

    def claim(self, blanket: Blanket, *, n: int, epsilon: float, side: Side = "both") -> Claim:
        claim = bound_named("bennett").claim(blanket, n=n, epsilon=epsilon, side=side)
        return claim if claim.regime is None else replace(claim, log_delta=Enclosure(-math.inf, -1.0))


TENTH_OFF = math.log(0.9)
WRONG: list[tuple[Bound, Check]] = [
    (Shifted(bound_named("binary"), upper=TENTH_OFF), check_encloses_all_small_datasets),
    (Shifted(bound_named("binary"), upper=TENTH_OFF), check_is_not_below_many_coins),
    (Shifted(bound_named("best"), upper=TENTH_OFF), check_encloses_all_small_datasets),
    (Shifted(bound_named("cushion"), upper=math.log(0.85)), check_is_not_below_mixed_crowds),
    (Shifted(bound_named("witness"), lower=-TENTH_OFF), check_encloses_all_small_datasets),
    (PrintedBennett(), check_is_not_below_explicit_datasets),
    (Presumptuous(), check_is_total),
]
"""Each with the check that must notice."""


@pytest.mark.parametrize(("bound", "check"), WRONG, ids=lambda part: getattr(part, "name", None) or part.__name__)
def test_a_wrong_bound_is_rejected(bound: Bound, check: Check) -> None:
    with pytest.raises(AssertionError):
        check(bound)
