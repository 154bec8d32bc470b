"""Composed epsilons are never below brute force, lower ends never above it, and both agree with one round."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from dp_accounting.pld.privacy_loss_distribution import from_two_probability_mass_functions
from scipy.stats import binom

from oracles.enumeration import response_rows, view
from shuffledp import Channel, Gaussian, Generic, InvalidInput, Laplace, RandomizedResponse, account, plan
from shuffledp.accounting.account import bound_named
from shuffledp.accounting.composition import Collection, Composition, compose, to_pld
from shuffledp.accounting.first_guess import gaussian_mu
from shuffledp.planning.release_cost import Spend
from shuffledp.randomizers.dummies import Dummies
from shuffledp.randomizers.identity import Identity
from shuffledp.randomizers.together import Together

RR4 = RandomizedResponse(size=4, epsilon0=1.0)


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


def test_tiny_deltas_are_granted_and_cost_what_one_round_says() -> None:
    """Curves are cut off deeper for them."""
    randomizer = RandomizedResponse(size=4, epsilon0=1.0)
    together = compose([collection(randomizer, 10**6, 1)])
    before = together.epsilon(1e-6)
    for delta in (1e-13, 1e-100):
        single = account(randomizer, n=10**6, delta=delta).epsilon
        assert single * (1 - 1e-6) <= together.epsilon(delta) <= single * 1.005
        assert together.delta(single) == pytest.approx(delta, rel=0.2)
        assert together.delta(single) >= delta * (1 - 1e-3)
    assert together.epsilon(1e-6) == before
    assert compose([collection(randomizer, 10**6, 1000)]).epsilon(1e-100) > together.epsilon(1e-100)


def test_a_million_rounds_and_more_follow_the_square_root() -> None:
    """On a grid that gets coarser as the loss grows."""
    one = collection(RandomizedResponse(size=4, epsilon0=1.0), 10**9, 1)
    shifts = [gaussian_mu(compose([replace(one, rounds=10**j)]).epsilon(1e-6), 1e-6) for j in (4, 6, 8)]
    assert shifts[1] == pytest.approx(10 * shifts[0], rel=1e-3)
    assert shifts[2] == pytest.approx(10 * shifts[1], rel=1e-3)


@pytest.mark.parametrize(
    ("randomizer", "n"),
    [
        (RandomizedResponse(size=10, epsilon0=2.0), 10**4),
        (RandomizedResponse(size=2, epsilon0=1.0), 300),
        (Laplace(epsilon0=1.0), 3000),
        (Generic(epsilon0=3.0), 10**5),
    ],
)
def test_the_same_as_google_within_a_thousandth(randomizer: RandomizedResponse | Laplace | Generic, n: int) -> None:
    """dp_accounting composes the same law of one round by FFT."""
    one = collection(randomizer, n, 1)
    google = to_pld(one)
    for rounds in (1, 30, 1000):
        theirs = google.self_compose(rounds, tail_mass_truncation=0) if rounds > 1 else google
        together = compose([replace(one, rounds=rounds)])
        ours = together if rounds > 1 else together.law(0)  # alone it is not composed of its law
        for delta in (1e-3, 1e-6, 1e-9):
            expected = max(0.0, theirs.get_epsilon_for_delta(delta))
            assert expected * (1 - 1e-6) <= ours.epsilon(delta) <= expected * 1.001 + 1e-12
            assert ours.delta(expected) >= theirs.get_delta_for_epsilon(expected) * (1 - 1e-3) - 1e-12


@pytest.mark.parametrize("epsilon", [0.3, 0.4375, 1.0])
def test_a_single_round_costs_what_its_bound_says_and_no_more(epsilon: float) -> None:
    """The law that rounds are composed of is a little above it: a budget of 1 has room for a plan of 1."""
    for made in (
        plan("histogram", n=3000, epsilon=epsilon, delta=1e-6, size=3),
        plan("mean", n=3000, epsilon=epsilon, delta=1e-6, low=0.0, high=1.0),
    ):
        [one] = Spend.of(made).collections()
        alone = compose([one])
        of_law = alone.law(0).epsilon(1e-6)
        assert epsilon * (1 - 1e-5) <= alone.epsilon(1e-6) <= epsilon
        assert of_law is not None
        assert epsilon < of_law
        assert one.delta_up(alone.epsilon(1e-6)) <= 1e-6
        for other in (1e-9, 1e-5, 0.01):
            assert alone.delta(alone.epsilon(other)) <= other
        least = alone.least_epsilon(1e-6)
        assert least is None or least <= alone.epsilon(1e-6)
        assert compose([one, one]).epsilon(1e-6) > alone.epsilon(1e-6)


def test_never_below_an_optimistic_account_of_one_dataset() -> None:
    """Two messages, all others hold one value: the law of the count is known, and dp_accounting rounds its loss down."""
    epsilon0, n, rounds = 1.0, 200, 40
    q = 1 / (1 + math.exp(-epsilon0))
    others = binom(n - 1, q).pmf(np.arange(n))
    first, second = (np.convolve(others, [1 - coin, coin]) for coin in (q, 1 - q))
    logs = [dict(enumerate(np.log(law))) for law in (first, second)]
    google = [
        from_two_probability_mass_functions(
            one, other, value_discretization_interval=1e-4, pessimistic_estimate=False
        ).self_compose(rounds)
        for one, other in (logs, logs[::-1])
    ]
    ours = compose([collection(RandomizedResponse(size=2, epsilon0=epsilon0), n, rounds)])
    for delta in (1e-2, 1e-5, 1e-8):
        theirs = max(one.get_epsilon_for_delta(delta) for one in google)
        assert theirs <= ours.epsilon(delta) <= 1.1 * theirs
        least = ours.least_epsilon(delta)
        assert least is not None
        assert 0.98 * theirs <= least <= theirs + rounds * 1e-4  # which rounds each loss down by at most so much


@pytest.mark.parametrize(("size", "n", "epsilon0"), [(2, 3, 1.0), (3, 4, 2.0), (2, 1, 0.5)])
@pytest.mark.parametrize("rounds", [1, 2, 4])
def test_lower_ends_are_below_the_product_of_one_pair_and_near_it(
    size: int, n: int, epsilon0: float, rounds: int
) -> None:
    """All others hold one value, in every round: products of views are enumerated."""
    rows = response_rows(size, epsilon0)
    together = compose([collection(RandomizedResponse(size=size, epsilon0=epsilon0), n, rounds)])
    for epsilon in (0.0, 0.1 * epsilon0, 0.3 * epsilon0, 0.9 * epsilon0, 1.5 * epsilon0):
        truths = []
        for third in range(size):
            first, second = (view(rows, [third] * (n - 1) + [value]) for value in (0, 1))
            p, q = np.ones(1), np.ones(1)
            for _ in range(rounds):
                p = np.outer(p, list(first.values())).ravel()
                q = np.outer(q, [second[key] for key in first]).ravel()
            truths += [float(np.maximum(a - math.exp(epsilon) * b, 0).sum()) for a, b in ((p, q), (q, p))]
        found = together.least_delta(epsilon)
        assert found is not None
        assert found <= max(truths) * (1 + 1e-12)
        if max(truths) > 1e-3:
            assert found >= min(truth for truth in truths if truth > 0) * 0.97
        assert found <= together.delta(epsilon)


def test_lower_ends_of_many_rounds_are_close_for_randomized_response() -> None:
    for rounds in (30, 1000, 10**6):
        together = compose([collection(RandomizedResponse(size=10, epsilon0=2.0), 10**5, rounds)])
        least = together.least_epsilon(1e-6)
        assert least is not None
        assert 0.995 < least / together.epsilon(1e-6) < 1
        delta = together.least_delta(least)
        assert delta is not None
        assert delta == pytest.approx(1e-6, rel=1e-6)


def test_there_is_no_lower_end_where_no_pair_of_datasets_is_known() -> None:
    dummies = Dummies(structure=Identity(size=100), dummies=0.8).blanket()
    several = Together(parts=(RandomizedResponse(size=2, gamma=0.5),) * 2).blanket()
    for blanket, bound in (
        (dummies, "best"),
        (several, "best"),
        (RR4.blanket(), "numeric"),
        (RR4.blanket(), "bennett"),
    ):
        one = Collection(blanket=blanket, n=10**4, rounds=2, bound=bound_named(bound))
        assert compose([one]).least_epsilon(1e-6) is None
        assert compose([collection(RR4, 1000, 1), one]).least_delta(0.1) is None


def test_rounds_of_what_says_nothing_cost_nothing() -> None:
    for nothing in (RandomizedResponse(size=3, gamma=1.0), Generic(epsilon0=0.0)):
        together = compose([collection(nothing, 10, 1000)])
        assert together.epsilon(1e-9) < 1e-6
        assert together.delta(0.01) < 1e-12
        assert (together.least_epsilon(1e-9) or 0.0) <= together.epsilon(1e-9)


def test_bad_rounds() -> None:
    with pytest.raises(InvalidInput, match="rounds"):
        collection(RandomizedResponse(size=4, epsilon0=1.0), 1000, 0)
    with pytest.raises(InvalidInput, match="nothing to compose"):
        compose([])


def test_what_all_messages_give_away_unshuffled_adds_up_over_rounds_and_collections() -> None:
    """In any order; and nothing is known of the sum if one of them is unbounded."""
    weak, strong = collection(RandomizedResponse(size=4, epsilon0=2.0), 30, 1), collection(RR4, 30, 3)
    dummies = Dummies(structure=Identity(size=100), dummies=0.8).blanket()
    unbounded = Collection(blanket=dummies, n=10**4, rounds=1, bound=bound_named("best"))
    for parts in ([weak, strong], [strong, weak]):
        total = Composition(collections=tuple(parts)).local_epsilon
        assert total is not None
        assert 5.0 <= total <= 5.0 * (1 + 1e-15)
        assert compose(parts).delta(total) == 0.0 < compose(parts).delta(4.99)
    for parts in ([unbounded, strong], [strong, unbounded], [strong, unbounded, weak]):
        assert Composition(collections=tuple(parts)).local_epsilon is None
        assert compose(parts).delta(5.1) > 0


def test_what_any_collection_assumes_is_assumed_by_all_of_them_together() -> None:
    gaussian = Collection(blanket=Gaussian(sigma=1.0).blanket(), n=1000, rounds=1, bound=bound_named("best"))
    plain = collection(RR4, 1000, 1)
    for parts in ((gaussian, plain), (plain, gaussian), (plain, gaussian, plain)):
        assert Composition(collections=parts).caveats == [gaussian.blanket.caveat]


def test_a_failure_that_no_epsilon_covers_is_handed_to_google_too() -> None:
    """Where some messages give a person away, delta never falls below a floor, in one round or in several."""
    bare = Channel([[0.9899, 0.01, 0.0001], [0.01, 0.99, 0.0]])
    one = Collection(blanket=bare.blanket(), n=10, rounds=1, bound=bound_named("numeric"))
    for rounds in (1, 3):
        floor = -math.expm1(rounds * math.log1p(-0.0001)) * (1 - 1e-12)
        ours = compose([replace(one, rounds=rounds)]).delta(30.0)
        theirs = to_pld(one)
        if rounds > 1:
            theirs = theirs.self_compose(rounds)
        assert floor <= ours <= 1.01 * floor
        assert floor <= theirs.get_delta_for_epsilon(30.0) <= 1.01 * floor


def test_a_round_number_next_above_a_composed_epsilon_is_stated_instead() -> None:
    """That for which the rounds were planned; one that is below, or farther away, is not."""
    together = compose(
        [
            Collection(
                blanket=RandomizedResponse(size=4, epsilon0=2.0).blanket(), n=2000, rounds=3, bound=bound_named("best")
            )
        ]
    )
    for near, stated in ((1 - 1.5e-5, True), (1 - 3e-5, False), (1 + 1e-6, False)):
        found = together.epsilon(together.delta(0.5 * near))
        assert found == pytest.approx(0.5 * near, rel=1e-4)
        assert (found == 0.5) == stated
        assert together.delta(found) <= together.delta(0.5 * near)
