"""Collections that are not alike: other channels without symmetry, crowds, rounds and honest shares, in any order."""

import math
from collections.abc import Iterable
from itertools import combinations_with_replacement, permutations, product
from typing import Any

import numpy as np
import pytest

from oracles.enumeration import view
from shuffledp import Channel, RandomizedResponse
from shuffledp.accounting.account import bound_named
from shuffledp.accounting.composition import Collection, compose
from shuffledp.accounting.rounds import solve_rounds
from shuffledp.accounting.solve import Problem, solve
from shuffledp.certificates.certificate import Certificate
from shuffledp.verification.group import of_one_row

PAIRS = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]
LEANING, SPREAD = [[0.7, 0.3], [0.2, 0.8]], [[0.5, 0.3, 0.2], [0.25, 0.3, 0.45]]
BEST = bound_named("best")


def views(rows: list[list[float]], n: int) -> list[PAIRS]:
    """What n users show of two neighbouring datasets, whatever the others hold, in both directions."""
    found = []
    for others in combinations_with_replacement(range(len(rows)), n - 1):
        for one, other in permutations(range(len(rows)), 2):
            first, second = view(rows, [*others, one]), view(rows, [*others, other])
            found.append((np.array(list(first.values())), np.array([second[key] for key in first])))
    return found


def worst(rounds: Iterable[list[PAIRS]], epsilon: float) -> float:
    """The largest divergence of any sequence of pairs of datasets, one for each round."""
    found = 0.0
    for sequence in product(*rounds):
        p, q = np.ones(1), np.ones(1)
        for a, b in sequence:
            p, q = np.outer(p, a).ravel(), np.outer(q, b).ravel()
        found = max(found, float(np.maximum(p - math.exp(epsilon) * q, 0).sum()))
    return found


def collection(rows: list[list[float]], n: int, rounds: int) -> Collection:
    return Collection(blanket=Channel(rows).blanket(), n=n, rounds=rounds, bound=BEST)


@pytest.mark.parametrize(
    "parts",
    [
        [(LEANING, 2, 2), (SPREAD, 3, 1)],
        [(SPREAD, 2, 1), (LEANING, 4, 2)],
        [(SPREAD, 2, 1), (SPREAD, 3, 1)],
        [(LEANING, 5, 1), (LEANING, 2, 1), (SPREAD, 2, 1)],
    ],
)
def test_unequal_collections_together_are_enclosed_by_what_is_claimed(
    parts: list[tuple[list[list[float]], int, int]],
) -> None:
    """Every sequence of datasets is enumerated; the order of the collections does not matter."""
    each = [views(rows, n) for rows, n, rounds in parts for _ in range(rounds)]
    for listed in (parts, parts[::-1]):
        together = compose([collection(*part) for part in listed])
        assert together.rounds == sum(rounds for _, _, rounds in parts)
        local = sum(rounds * float(Channel(rows).epsilon0 or 0) for rows, _, rounds in parts)
        assert together.local_epsilon == pytest.approx(local, rel=1e-12)
        for epsilon in (0.0, 0.3, 1.1):
            truth = worst(each, epsilon)
            assert truth <= together.delta(epsilon) <= 1.4 * truth
            least = together.least_delta(epsilon)
            assert least is not None
            assert 0.87 * truth <= least <= truth  # without some rounds it would be half of that
        delta = together.delta(0.3)
        assert together.epsilon(delta) == pytest.approx(0.3, abs=1e-3)
        below = together.least_epsilon(delta)
        assert below is not None
        assert below <= 0.3 + 1e-9
        assert together.delta(local) == 0.0


@pytest.mark.parametrize(("n", "honest", "relied"), [(1001, 0.7, 700), (999, 0.35, 349), (500, 1.0, 500), (7, 0.3, 2)])
@pytest.mark.parametrize("rounds", [1, 3])
def test_rounds_with_liars_are_rounds_of_the_honest(n: int, honest: float, relied: int, rounds: int) -> None:
    """Whatever is asked for; n counts all, and what is returned says the same of the honest alone."""
    blanket = Channel(SPREAD).blanket()
    alone = collection(SPREAD, relied, rounds)
    for known in ({"delta": 1e-3}, {"epsilon": 0.2}):
        found = solve_rounds(BEST, Problem(randomizer=blanket, n=n, **known), rounds=rounds, honest_fraction=honest)
        if rounds == 1:
            assert found == solve(BEST, Problem(randomizer=blanket, n=relied, **known))
            continue
        together = compose([alone])
        expected = (together.epsilon(1e-3), together.least_epsilon(1e-3))
        if "epsilon" in known:
            expected = (together.delta(0.2), together.least_delta(0.2))
        assert (found.value, found.lower, found.upper) == (*expected, expected[0])
        assert found.unknown == ("epsilon" if "delta" in known else "delta")


@pytest.mark.parametrize("honest", [0.45, 0.7, 1.0])
def test_the_users_needed_are_so_many_that_enough_are_honest(honest: float) -> None:
    """One fewer would not do, of all users as of the honest ones."""
    problem = Problem(randomizer=RandomizedResponse(size=3, epsilon0=1.0).blanket(), epsilon=0.2, delta=1e-4)
    found, alone = solve_rounds(BEST, problem, honest_fraction=honest), solve(BEST, problem)
    for all_users, needed in ((found.value, alone.value), (found.upper, alone.upper), (found.lower, alone.lower)):
        assert all_users is not None
        assert needed is not None
        share = round(100 * honest)
        assert int(all_users) * share // 100 >= int(needed) > (int(all_users) - 1) * share // 100


@pytest.mark.parametrize("rows", [1, 2, 3, 10, 365])
@pytest.mark.parametrize(("epsilon", "delta"), [(3.0, 1e-6), (0.01, 1e-3), (7.5, 0.2), (0.0, 1e-5), (40.0, 1e-300)])
def test_what_is_proved_of_one_row_implies_the_promise_to_people_with_several(
    rows: int, epsilon: float, delta: float
) -> None:
    """Changed one at a time: m e is at most epsilon and the sum of d e^(i e) at most delta, and hardly less."""
    group = Certificate(randomizer={}, honest=10, reports=17, epsilon=epsilon, delta=delta)
    one = of_one_row(group, rows)
    assert (one.honest, one.reports, one.rounds) == (10, 17, 1)
    assert rows * one.epsilon <= epsilon * (1 + 1e-15)
    assert rows * one.epsilon == pytest.approx(epsilon, rel=1e-12)
    total = math.fsum(one.delta * math.exp(i * one.epsilon) for i in range(rows))
    assert total <= delta * (1 + 1e-12)
    assert total == pytest.approx(delta, rel=1e-9)
