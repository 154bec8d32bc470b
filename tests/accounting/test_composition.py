"""Composed epsilons are never below brute force, and agree with one round."""

import math
from itertools import product

import numpy as np
import pytest

from oracles.enumeration import response_rows, view
from shuffledp import Generic, InvalidInput, Laplace, NoClaim, RandomizedResponse, account
from shuffledp.accounting.account import bound_named
from shuffledp.accounting.composition import Collection, compose


def collection(
    randomizer: RandomizedResponse | Laplace | Generic, n: int, rounds: int, bound: str = "best"
) -> Collection:
    return Collection(blanket=randomizer.blanket(), n=n, rounds=rounds, bound=bound_named(bound))


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_never_below_all_sequences_of_datasets(rounds: int) -> None:
    """RR-2, three users: in each round the others may hold anything; products of views are enumerated."""
    epsilon0, n = 1.0, 3
    rows = response_rows(2, epsilon0)
    pairs = []
    for others in ((0, 0), (0, 1), (1, 1)):
        first, second = view(rows, [*others, 1]), view(rows, [*others, 0])
        keys = list(first)
        pairs.append((np.array([first[k] for k in keys]), np.array([second[k] for k in keys])))
        pairs.append(pairs[-1][::-1])
    together = compose([collection(RandomizedResponse(size=2, epsilon0=epsilon0), n, rounds)])
    for epsilon in (0.0, 0.2, 0.7, 1.5):
        truth = 0.0
        for sequence in product(pairs, repeat=rounds):
            p, q = np.ones(1), np.ones(1)
            for a, b in sequence:
                p, q = np.outer(p, a).ravel(), np.outer(q, b).ravel()
            truth = max(truth, float(np.maximum(p - math.exp(epsilon) * q, 0).sum()))
        assert truth <= together.delta(epsilon)
        if truth > 1e-3:
            assert together.delta(epsilon) <= truth * (1.02 if rounds == 1 else 1.5)  # domination is not attained


@pytest.mark.parametrize(
    "randomizer", [RandomizedResponse(size=10, epsilon0=2.0), Laplace(epsilon0=1.0), Generic(epsilon0=1.0)]
)
def test_one_round_is_itself(randomizer: RandomizedResponse | Laplace | Generic) -> None:
    single = account(randomizer, n=10**4, delta=1e-6).epsilon
    assert single * (1 - 1e-6) <= compose([collection(randomizer, 10**4, 1)]).epsilon(1e-6) <= single * 1.01


def test_rounds_add_up_like_a_square_root() -> None:
    epsilons = [
        compose([collection(RandomizedResponse(size=10, epsilon0=1.0), 10**5, rounds)]).epsilon(1e-6)
        for rounds in (1, 4, 16)
    ]
    assert epsilons[0] < epsilons[1] < epsilons[2]
    assert 1.7 < epsilons[1] / epsilons[0] < 2.3
    assert 1.7 < epsilons[2] / epsilons[1] < 2.3


def test_different_collections_compose_and_order_does_not_matter() -> None:
    parts = [collection(RandomizedResponse(size=4, epsilon0=1.0), 1000, 3), collection(Laplace(epsilon0=0.5), 5000, 2)]
    forward, backward = compose(parts).epsilon(1e-6), compose(parts[::-1]).epsilon(1e-6)
    assert forward == pytest.approx(backward, rel=1e-6)
    assert forward > max(compose([part]).epsilon(1e-6) for part in parts)


def test_tiny_deltas_are_refused() -> None:
    together = compose([collection(RandomizedResponse(size=4, epsilon0=1.0), 1000, 2)])
    with pytest.raises(NoClaim, match="not certified"):
        together.epsilon(1e-13)
    assert together.delta(600.0) == 1e-12


def test_many_rounds_raise_the_smallest_certified_delta() -> None:
    """What floating point can lose grows with the rounds, and is charged."""
    few = compose([collection(RandomizedResponse(size=4, epsilon0=1.0), 1000, 2)])
    many = compose([collection(RandomizedResponse(size=4, epsilon0=1.0), 10**6, 10**5)])
    assert few.slack < 1e-12 < many.slack < 1e-8
    with pytest.raises(NoClaim, match="fewer rounds"):
        many.epsilon(2e-12)


def test_bad_rounds() -> None:
    with pytest.raises(InvalidInput, match="rounds"):
        collection(RandomizedResponse(size=4, epsilon0=1.0), 1000, 0)
    with pytest.raises(InvalidInput, match="nothing to compose"):
        compose([])
