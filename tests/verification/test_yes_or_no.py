"""Plans of yes-or-no questions, in rounds and in surveys: what the planner writes is confirmed, and nothing that is false."""

import math
import random
from dataclasses import replace
from typing import Any

import pytest

from oracles.scale import full
from shuffledp import Plan, plan, verify
from shuffledp.accounting.account import bound_named
from shuffledp.accounting.releases import composition
from shuffledp.errors import InvalidInput, NoClaim

PLANS = full(2, 200)
LARGEST = full(3000, 10**6)
LABELS = ["no", "yes"]
OF_THE_TRUTH = 0.998
"""A delta that is this share of one that is too small."""


def drawn(number: int) -> Plan:
    """Rounds of one question, or several questions, for any crowd and promise; drawn again where nothing is private enough."""
    rng = random.Random(f"yes or no {number}")
    while True:
        asked: dict[str, Any] = {
            "n": round(_between(rng, 200, LARGEST)),
            "epsilon": _between(rng, 0.05, 4),
            "delta": _between(rng, 1e-9, 1e-5),
            "honest_fraction": rng.choice([1.0, 1.0, 0.95, 0.8, 0.5]),
        }
        if number % 2:
            rounds = rng.choice([2, 3, 5, 7, 12, 26, 52])
            asked |= {
                "labels": LABELS,
                "rounds": rounds,
                "rounds_per_person": rng.choice([rounds, rounds, rounds // 2]),
            }
        else:
            parts = rng.randint(2, 8)
            asked["questions"] = [
                {"name": f"question {k}", "ask": "histogram", "labels": LABELS, "weight": rng.choice([1, 1, 3])}
                for k in range(parts)
            ]
            asked["way"] = rng.choice(["all", "all", "one", "table"]) if LARGEST > 3000 and parts < 7 else "all"
        try:
            return plan("histogram" if number % 2 else "survey", **asked)
        except (InvalidInput, NoClaim):
            continue


def _between(rng: random.Random, low: float, high: float) -> float:
    """Three digits."""
    return float(f"{math.exp(rng.uniform(math.log(low), math.log(high))):.3g}")


@pytest.mark.filterwarnings("ignore::shuffledp.errors.PlanWarning")
@pytest.mark.parametrize("number", range(PLANS))
def test_plans_of_yes_or_no_questions_are_confirmed_and_false_ones_are_not(number: int) -> None:
    made = drawn(number)
    found = verify(made)
    assert found.confirmed, (found, found.reached)
    total = made.over_time
    rounds, epsilon, delta = (1, made.guarantee.epsilon, made.guarantee.delta)
    if total is not None:
        rounds, epsilon, delta = total.per_person, total.epsilon, total.delta
    together = composition(made.protocol.randomizer.blanket(), made.guarantee.n, bound_named("best"), rounds)
    least = together.least_delta(epsilon)
    if least is not None:
        false = replace(made.certificate(), rounds=rounds, epsilon=epsilon, delta=OF_THE_TRUTH * min(least, delta))
        refused = verify(false)
        assert refused.verdict == "refused"
        assert refused.reached is not None
        assert refused.reached >= least


def test_most_of_what_is_planned_is_hardly_above_what_is_known_to_be_false() -> None:
    """So that refusing what is false says something."""
    made = plan("histogram", labels=LABELS, n=2000, epsilon=1.0, delta=1e-6, rounds=5)
    assert made.over_time is not None
    together = composition(made.protocol.randomizer.blanket(), 2000, bound_named("best"), 5)
    least = together.least_delta(1.0)
    assert least is not None
    assert 0.9e-6 < least < 1e-6
