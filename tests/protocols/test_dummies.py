"""Counts with dummies: as accurate as forecast, planned within the messages allowed, and read back as certified."""

import json
import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import poisson

from oracles.process import assert_refused, called
from oracles.scale import full
from shuffledp import InvalidInput, KeyedRandomness, Plan, plan
from shuffledp.baselines.compare import compare
from shuffledp.core.guarantee import NOTHING_LOCAL
from shuffledp.core.population import Population
from shuffledp.core.ragged import Ragged
from shuffledp.domains.whole_numbers import WholeNumbers
from shuffledp.planning.error_targets import epsilon_possible
from shuffledp.planning.release_cost import Spend, composed
from shuffledp.protocols.dummies import DummyCounts
from shuffledp.randomizers.dummies import Dummies
from shuffledp.randomizers.identity import Identity
from shuffledp.randomizers.structures import AffineSpace

MILLION: dict[str, Any] = {"n": 10**6, "epsilon": 1.0, "delta": 1e-6}


def test_the_estimator_is_exactly_unbiased_with_the_exact_variance() -> None:
    """Two users on the plane of order 2 and all dummies that can happen, in fractions but for Poisson's law."""
    structure, rate = AffineSpace(prime=2), 0.4
    protocol = DummyCounts(randomizer=Dummies(structure=structure, dummies=rate), domain=WholeNumbers(4))
    mine = [
        structure.member(np.full(3, v), np.arange(3, dtype=np.uint32)).tolist() for v in range(4)
    ]  # the lines through each point
    held = np.array([1, 0])  # one user holds value 1, one value 0
    mean, square, chance = np.zeros(4), np.zeros(4), 0.0
    truth = np.array([1.0, 1.0, 0.0, 0.0])
    for number in range(4):
        weight = float(poisson.pmf(number, 2 * rate)) / 6**number / 9
        for dummies in product(range(6), repeat=number):
            often = np.bincount(dummies, minlength=6)
            for first, second in product(mine[held[0]], mine[held[1]]):
                counts = often.copy()
                counts[first] += 1
                counts[second] += 1
                found = protocol.debias(np.append(counts, 2), 2)
                mean += weight * found
                square += weight * (found - truth) ** 2
                chance += weight
    assert mean / chance == pytest.approx(truth, abs=1e-9)
    # the variance is that of as many dummies as there were, on average
    average = sum(k * poisson.pmf(k, 2 * rate) for k in range(4)) / chance
    p0, s = 1 / 3, 1 / 2
    expected = ((2 - truth) * p0 * (1 - p0) + average * s * (1 - s)) / (1 - p0) ** 2
    assert square / chance == pytest.approx(expected, rel=1e-9)
    others = protocol.variance(truth, 2)
    assert others == pytest.approx(((2 - truth) * p0 * (1 - p0) + 2 * rate * s * (1 - s)) / (1 - p0) ** 2)
    assert others.sum() == pytest.approx(protocol.mean_squared_error(2))


def test_subtracting_the_dummies_that_were_sent_is_better() -> None:
    """For two values by half: the estimate with the expected number has variance n d s."""
    protocol = DummyCounts(randomizer=Dummies(structure=Identity(size=2), dummies=2.0), domain=WholeNumbers(2))
    generator, n, runs = np.random.default_rng(3), 500, 40_000
    errors = protocol.simulate(Population(values=np.array([0]), users=np.array([n])), generator, runs)[:, 1]
    expected = generator.poisson(n * 2.0 * 0.5, runs) - n * 2.0 * 0.5
    assert np.square(errors).mean() == pytest.approx(protocol.variance(np.array([0.0]), n)[0], rel=0.05)
    assert np.square(errors).mean() == pytest.approx(np.square(expected).mean() / 2, rel=0.05)


def test_a_domain_of_a_million_values_with_a_quarter_message_more() -> None:
    """At most 16 at every share; a plan that is read back is proved again; an edited one is refused."""
    found = plan("histogram", size=1_800_000, messages_per_user=1.25, **MILLION)
    protocol = found.protocol
    assert isinstance(protocol, DummyCounts)
    assert protocol.messages_per_user <= 1.25
    errors = np.sqrt(protocol.variance(np.array([0.0, 0.01, 0.1, 1.0]) * 10**6, 10**6))
    assert errors.max() <= 16
    assert errors[0] == pytest.approx(14.6, abs=0.05)
    assert found.epsilon0 == math.inf
    assert NOTHING_LOCAL in found.explain()
    document = json.loads(json.dumps(found.document()))
    assert Plan.from_document(document) == found
    assert composed([Spend.of(found)], 1e-6) == pytest.approx(1.0, rel=0.01)


def test_runs_agree_with_the_forecast() -> None:
    """Within 3 %: for the smallest values 2,000 whole runs (messages drawn, counted, decoded), simulated ones for the rest."""
    truth = Population(values=np.array([0, 1, 5]), users=np.array([400, 80, 20]))
    values = np.repeat(truth.values, truth.users)
    protocol = DummyCounts(randomizer=Dummies(structure=AffineSpace(prime=3), dummies=0.3), domain=WholeNumbers(9))
    runs, n = full(500, 2000), truth.n
    messages = protocol.randomize(np.tile(values, runs), KeyedRandomness.seeded(8), first_row=0)
    held = protocol.held(truth)
    counts = np.array([protocol.count(messages[np.arange(n) + n * run]).values for run in range(runs)])
    errors = protocol.debias(counts, n) - held
    assert np.square(errors).mean(axis=0).sum() == pytest.approx(protocol.mean_squared_error(n), rel=0.06)
    large = plan("histogram", size=1_800_000, messages_per_user=1.25, **MILLION).protocol
    few = DummyCounts(randomizer=large.randomizer, domain=WholeNumbers(50))  # type: ignore[arg-type]
    everybody = Population(values=np.arange(3), users=np.array([900_000, 90_000, 10_000]))
    simulated = few.simulate(everybody, np.random.default_rng(1), 2000) - few.held(everybody)
    assert np.square(simulated).mean() * 50 == pytest.approx(few.mean_squared_error(10**6), rel=0.06)


@pytest.mark.parametrize(("size", "messages", "structure"), [(4, 1.25, Identity), (20_000, 1.25, AffineSpace)])
def test_the_planner_gives_values_messages_of_their_own_if_it_can(size: int, messages: float, structure: type) -> None:
    found = plan("histogram", size=size, messages_per_user=messages, **MILLION)
    assert isinstance(found.protocol, DummyCounts)
    assert isinstance(found.protocol.randomizer.structure, structure)
    assert found.protocol.messages_per_user <= messages
    one = plan("histogram", size=size, **MILLION)
    assert one.protocol.messages_per_user == 1
    assert found.protocol.worst_variance(0.01, 10**6) < one.protocol.worst_variance(0.01, 10**6)  # type: ignore[attr-defined]


def test_with_liars_only_honest_dummies_count() -> None:
    honest, half = (
        plan("histogram", size=50, messages_per_user=1.25, honest_fraction=h, **MILLION) for h in (1.0, 0.5)
    )
    rates = [found.protocol.messages_per_user - 1 for found in (honest, half)]
    assert rates[1] == pytest.approx(2 * rates[0], rel=1e-5)


def test_dummies_that_are_too_few_leave_one_message() -> None:
    """A thousand users cannot hide a thousand values with a tenth of a message more, and nobody is given more than is allowed."""
    found = plan("histogram", n=1000, epsilon=1.0, delta=1e-6, size=1000, messages_per_user=1.1)
    assert found.protocol.messages_per_user == 1
    assert plan("histogram", size=4, **MILLION).protocol.messages_per_user == 1


def test_an_error_is_turned_into_dummies() -> None:
    found = epsilon_possible("histogram", n=100_000, delta=1e-6, rmse=20.0, size=3, messages_per_user=1.25)
    assert isinstance(found.protocol, DummyCounts)
    assert found.rmse == pytest.approx(20.0, rel=1e-6)
    assert (
        found.guarantee.epsilon
        < epsilon_possible("histogram", n=100_000, delta=1e-6, rmse=20.0, size=3).guarantee.epsilon
    )


def test_compare_has_a_row_for_dummies() -> None:
    (row,) = compare("histogram", size=8, only=("shuffledp, dummies",), **MILLION)
    assert row.rmse is not None
    assert 1 < (row.messages or 0) <= 1.25
    assert row.epsilon0 is None


def test_a_users_messages_do_not_tell_which_is_the_true_one_by_their_order() -> None:
    protocol = DummyCounts(randomizer=Dummies(structure=Identity(size=4), dummies=3.0), domain=WholeNumbers(4))
    sent = protocol.randomize(np.full(50, 2), KeyedRandomness.seeded(1), first_row=0)
    for messages in protocol.by_user(sent, 50):
        assert messages == sorted(messages)
        assert 2 in messages
        assert len(messages) <= protocol.most_messages


@pytest.mark.parametrize(
    ("often", "users"), [([1, 0, 0], 2), ([60, 0, 0], 2), ([1, 1], 2)], ids=["too few", "too many", "another alphabet"]
)
def test_counts_that_cannot_be_are_refused(often: list[int], users: int) -> None:
    protocol = DummyCounts.examples()[0]
    with pytest.raises(InvalidInput, match="cannot have sent"):
        protocol.tallied(np.array(often), users)
    assert protocol.reports(protocol.tallied(np.array([3, 2, 1]), 4).values) == 4


def test_rows_of_ragged_messages_are_chosen_by_arrays_only() -> None:
    messages = Ragged(np.array([7, 8, 9]), np.array([2, 1]))
    assert messages[np.array([True, False])].values.tolist() == [7, 8]
    with pytest.raises(TypeError):
        messages[0]  # type: ignore[index]


@pytest.mark.parametrize(
    ("messages", "why"), [("0.5", "from 1 to 1001"), ("2000", "from 1 to 1001"), ("nan", "not a usable number")]
)
def test_messages_that_make_no_sense_are_refused(messages: str, why: str) -> None:
    done = called(f"plan histogram --size 4 --n 1e4 --epsilon 1 --delta 1e-6 --messages-per-user {messages}")
    assert_refused(done, why)


def test_the_command_says_what_the_messages_buy_and_what_they_cost() -> None:
    done = called("plan histogram --labels a,b --n 1e4 --epsilon 1 --delta 1e-6 --messages-per-user 1.25")
    assert done.returncode == 0
    assert "NO LOCAL GUARANTEE" in done.stdout
    assert "messages per user instead of 1: expected error" in done.stdout
    few = called("plan histogram --size 1000 --n 1000 --epsilon 1 --delta 1e-6 --messages-per-user 1.1")
    assert "would not make the error smaller" in few.stdout
