"""No certified claim excludes the truth: exact delta over all datasets of few users, for every registered randomizer.

No tolerance: a claim fails if it is off by a part in 10^50. `make test-all` looks at 500 points.
"""

import math
from fractions import Fraction
from itertools import islice

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.enumeration import divergence, view
from oracles.laws import ORACLES, normalised
from oracles.points import DRAWN, Point, points
from oracles.scale import full
from oracles.truth import encloses, exponential, law_of_row, true_delta
from shuffledp import Channel
from shuffledp.accounting.account import bound_named, bounds
from shuffledp.randomizers.registry import RANDOMIZERS

WANTED = full(100, 500)


def holds(point: Point, bound: str, shift: float = 0.0) -> bool:
    claim = bound_named(bound).claim(point.randomizer.blanket(), n=point.n, epsilon=point.epsilon)
    return encloses(claim.log_delta.lower, claim.log_delta.upper + shift, point.truth)


def test_every_registered_randomizer_has_an_oracle() -> None:
    assert set(ORACLES) == set(DRAWN) == set(RANDOMIZERS)


@pytest.mark.parametrize("kind", ORACLES)
def test_the_truth_is_never_outside_the_best_enclosure(kind: str) -> None:
    mine = list(points(WANTED, only=kind))
    assert len(mine) - WANTED // len(ORACLES) in (0, 1)  # kinds take turns
    assert [point for point in mine if not holds(point, "best")] == []


@pytest.mark.parametrize("bound", sorted(set(bounds()) - {"best"}))
def test_the_truth_is_never_outside_what_any_bound_claims(bound: str) -> None:
    assert [p for p in points(full(30, 250), seed=5) if p.randomizer.kind != "together" and not holds(p, bound)] == []


def test_an_upper_end_too_small_by_a_part_in_a_billion_is_noticed() -> None:
    """One user alone: there the claims about finite randomizers are the truth itself."""
    alone = [point for point in points(150, only="channel") if point.n == 1 and point.truth.lower > 0]
    assert len(alone) >= 2
    assert not any(holds(point, "best", shift=-1e-9) for point in alone)
    assert all(holds(point, "best") for point in alone)


@settings(max_examples=50, deadline=None)
@given(st.fractions(-700, 700, max_denominator=10**6))
def test_the_exponential_lies_between_its_rational_bounds(x: Fraction) -> None:
    low, high = exponential(x)
    with mp.workdps(150):
        value = mp.exp(mp.mpf(x.numerator) / x.denominator)
        assert mp.mpf(low.numerator) / low.denominator <= value <= mp.mpf(high.numerator) / high.denominator
    assert high - low < low / 2**200


def test_two_enumerations_agree() -> None:
    """Whole numbers and packed counts against doubles and tuples."""
    rows = [[0.6, 0.3, 0.1], [0.2, 0.2, 0.6], [0.3, 0.3, 0.4]]
    laws = [law_of_row(row) for row in normalised(rows)]
    for epsilon in (0.0, 0.3):
        worst = max(
            divergence(view(rows, [a, b, x]), view(rows, [a, b, z]), epsilon)
            for a in range(3) for b in range(3) for x in range(3) for z in range(3)
        )  # fmt: skip
        found = true_delta(laws, 3, epsilon)
        assert float(found.lower) == pytest.approx(worst, rel=1e-12)
        assert found.upper - found.lower < Fraction(1, 10**50)


def test_messages_that_say_more_and_messages_that_say_less_enclose_a_known_truth() -> None:
    """One user: delta of Laplace is 1 - e^((epsilon - epsilon0) / 2), that of Gaussian noise is Balle and Wang's."""
    for point in islice((p for p in points(400, only="laplace") if p.n == 1), 4):
        known = -math.expm1((point.epsilon - (point.randomizer.epsilon0 or 0)) / 2)
        assert float(point.truth.lower) <= known * (1 + 1e-12)
        assert known * (1 - 1e-12) <= float(point.truth.upper) <= float(point.truth.lower) * 1.01
    for point in islice((p for p in points(400, only="gaussian") if p.n == 1), 4):
        sigma, epsilon = mp.mpf(point.randomizer.sigma), mp.mpf(point.epsilon)  # type: ignore[attr-defined]
        known = mp.ncdf(0.5 / sigma - epsilon * sigma) - mp.exp(epsilon) * mp.ncdf(-0.5 / sigma - epsilon * sigma)
        assert float(point.truth.lower) <= known * (1 + 1e-12)
        assert known * (1 - 1e-12) <= float(point.truth.upper) <= float(point.truth.lower) * 1.1


def test_a_wrong_law_is_noticed() -> None:
    """A matrix whose claim is made of another one, a tenth more noise."""
    rows = [[0.7, 0.3], [0.3, 0.7]]
    truth = true_delta([law_of_row(row) for row in normalised(rows)], 3, 0.2)
    for matrix, accepted in ((rows, True), ([[0.68, 0.32], [0.32, 0.68]], False)):
        claim = bound_named("best").claim(Channel(matrix).blanket(), n=3, epsilon=0.2).log_delta
        assert encloses(claim.lower, claim.upper, truth) == accepted
