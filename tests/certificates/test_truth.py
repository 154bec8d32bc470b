"""What is confirmed is true: against the exact delta over all datasets of a few users, of every registered randomizer."""

import math
from fractions import Fraction

import pytest

from oracles.laws import ORACLES
from oracles.points import Point, points
from oracles.scale import full
from shuffledp import Certificate, Guarantee, verify
from shuffledp.verification.verify import Verification

WANTED = full(60, 200)


def claimed(point: Point, delta: Fraction, *, below: bool) -> Verification:
    """That delta is this, rounded down or up."""
    nearest = float(delta)
    away = Fraction(nearest) > delta if below else Fraction(nearest) < delta
    rounded = math.nextafter(nearest, 0.0 if below else 1.0) if away else nearest
    promise = Guarantee(epsilon=point.epsilon, delta=rounded, n=point.n, bound="best", reference="")
    return verify(Certificate.of(point.randomizer, promise).document())


@pytest.mark.parametrize("kind", ORACLES)
def test_nothing_below_the_truth_is_confirmed(kind: str) -> None:
    for point in points(WANTED, only=kind):
        if point.truth.lower > Fraction(1, 10**30):
            found = claimed(point, point.truth.lower * (1 - Fraction(1, 10**9)), below=True)
            assert not found.confirmed, point
            if found.reached is not None:
                assert Fraction(found.reached) >= point.truth.lower, point


@pytest.mark.parametrize("kind", ["response", "channel", "lattice", "dummies"])
def test_the_truth_is_confirmed_where_the_method_is_exact(kind: str) -> None:
    """Two messages: all datasets are covered. Dummies: what is seen is summed up itself, but for what smoothing adds."""
    seen = 0
    for point in points(2 * WANTED, only=kind):
        coins = point.randomizer.blanket().coins() is not None
        if (coins or kind == "dummies") and point.truth.upper > Fraction(1, 10**8):
            slack = Fraction(1, 1000) if kind == "dummies" else Fraction(1, 10**6)
            assert claimed(point, point.truth.upper * (1 + slack), below=False).confirmed, point
            seen += 1
    assert seen > 0
