"""Means of rows: the error that is stated, intervals that hold, and accuracy alone rests on the codebook."""

import json
import math
from collections.abc import Iterator
from itertools import combinations
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from oracles.chance import SIGNIFICANCE, p_mean, p_variance
from oracles.scale import examples, full
from shuffledp import InvalidInput, KeyedRandomness, Plan, audit, plan, run
from shuffledp.core.counts import Counts
from shuffledp.core.population import Population
from shuffledp.domains.domain import Policy
from shuffledp.domains.vectors import Ball, Box
from shuffledp.planning.error_targets import users_needed
from shuffledp.planning.release_cost import Spend, composed
from shuffledp.protocols.codebook_mean import VectorEstimate
from shuffledp.protocols.sampling import sampled_error, spread
from shuffledp.protocols.vector_mean import VectorMean
from shuffledp.randomizers import codewords
from shuffledp.randomizers.codebook_response import CodebookResponse
from shuffledp.results.simulation import simulate
from shuffledp.verification.verify import verify

Reals = NDArray[np.float64]
N, EPSILON, DELTA = 1_000_000, 1.0, 1e-6
TABLE = [
    (2, (0.0110, 0.0032, 0.0010)), (10, (0.0179, 0.0045, 0.00124)), (66, (0.0426, 0.0102, 0.00264)),
    (100, (0.0523, 0.0125, 0.00321)), (1000, (0.164, 0.0388, 0.0099)), (10_000, (0.518, 0.122, 0.0314)),
]  # fmt: skip
"""Rounded lengths of the error about a population's mean, worked out without this package, for 1e4, 1e5 and 1e6 users."""


def small(dimension: int, size: int, gamma: float, **changes: Any) -> VectorMean:
    randomizer = CodebookResponse.private(dimension=dimension, size=size, gamma=gamma, **changes)
    return VectorMean(randomizer=randomizer, domain=Ball(dimension, 1.0))


def rows_for(dimension: int, users: int, seed: int = 0) -> Reals:
    """Rows of many lengths and directions, around a mean that is not 0."""
    generator = np.random.default_rng(seed)
    rows = generator.standard_normal((users, dimension)) + 0.8
    return np.asarray(rows / np.linalg.norm(rows, axis=1)[:, None] * generator.random((users, 1)) ** 0.3)


def whole_runs(protocol: VectorMean, rows: Reals, runs: int) -> tuple[Reals, list[VectorEstimate]]:
    """Errors of runs by the code that really runs, and what was said."""
    values = protocol.domain.clean(rows).values
    users, said = len(values), []
    for start in range(0, runs, 50):
        some = min(50, runs - start)
        messages = protocol.randomize(np.tile(values, some), KeyedRandomness.seeded(5), first_row=users * start)
        said += [protocol.estimate(protocol.count(messages[users * j : users * (j + 1)])) for j in range(some)]
    return np.array([one.value for one in said]) - rows.mean(axis=0), said


@pytest.mark.parametrize(("dimension", "errors"), TABLE, ids=str)
@pytest.mark.parametrize(("place", "n"), [(0, 10_000), (1, 100_000), (2, 1_000_000)], ids=str)
def test_the_error_of_a_plan_is_what_was_worked_out_elsewhere(
    dimension: int, errors: tuple[float, ...], place: int, n: int
) -> None:
    found = plan.vector(dimension=dimension, n=n, epsilon=EPSILON, delta=DELTA)
    assert found.forecast.others["population_rmse"] == pytest.approx(errors[place], rel=0.03)
    assert found.rmse < found.forecast.others["population_rmse"]


@pytest.mark.parametrize(("dimension", "size", "users"), [(3, 16, 100), (10, 16, 60), (66, 4, 30)])
def test_whole_runs_are_unbiased_and_err_as_stated(dimension: int, size: int, users: int) -> None:
    """Two thousand of them; the squared error is that of these very data, and not that of the worst."""
    protocol, rows = small(dimension, size, 0.15), rows_for(dimension, full(users, 4 * users))
    errors, _ = whole_runs(protocol, rows, examples(2000))
    population = Population(values=protocol.domain.clean(rows).values, users=np.ones(len(rows), dtype=np.int64))
    expected = protocol.expected_error(population)
    total = np.sqrt(np.square(errors).sum(axis=1))
    assert p_mean(errors) > SIGNIFICANCE
    assert p_mean(errors + 0.3 * np.sqrt(expected / dimension)) < SIGNIFICANCE
    assert p_variance(total, expected) > SIGNIFICANCE
    assert p_variance(total, 1.35 * expected) < SIGNIFICANCE
    assert float(np.square(total).mean()) == pytest.approx(expected, rel=full(12, 3) / 100)
    assert expected <= protocol.mean_squared_error(len(rows)) * (1 + 1e-9)


def test_intervals_hold_as_often_as_they_say() -> None:
    """Of 1,000 users: those at 95 % in 94 to 96 %, and intervals at 90 % not."""
    protocol, rows = small(3, 8, 0.2), rows_for(3, 1000)
    errors, said = whole_runs(protocol, rows, examples(2500))
    spread = np.array([one.standard_error for one in said])
    held = {level: float((np.abs(errors) <= z * spread).mean()) for level, z in ((0.95, 1.959964), (0.9, 1.644854))}
    assert 0.94 < held[0.95] < 0.96
    assert held[0.9] < 0.92
    mean = np.mean([np.asarray(one.covariance) for one in said], axis=0)
    assert mean == pytest.approx(np.cov(errors.T), abs=0.12 * float(np.diag(mean).mean()))


def test_long_rows_have_variances_only() -> None:
    protocol = small(300, 2, 0.3)
    messages = protocol.randomize(
        protocol.domain.clean(rows_for(300, 400)).values, KeyedRandomness.seeded(1), first_row=0
    )
    counts = protocol.count(messages)
    assert counts.size == 2 + 2 * 300
    said = protocol.estimate(counts)
    assert isinstance(said, VectorEstimate)
    assert said.covariance is None
    with patch("shuffledp.protocols.decoded_sums.MOST_WITH_COVARIANCE", 300):
        full_said = protocol.estimate(protocol.count(messages))
    assert isinstance(full_said, VectorEstimate)
    assert full_said.standard_error == pytest.approx(said.standard_error, rel=1e-9)


@pytest.mark.parametrize(("ranges", "repeats"), [(False, 1), (True, 1), (False, 3)])
def test_simulated_runs_have_the_law_of_real_ones(ranges: bool, repeats: int) -> None:
    """For few users drawn one by one, for many by a normal law: the same error."""
    protocol = VectorMean.examples()[1 if ranges else 2 if repeats > 1 else 0]
    for users in (60, 60_000):
        population = Population(values=protocol.domain.landmarks()[[0, 3]], users=np.array([users, users // 3]))
        found = protocol.simulate(population, np.random.default_rng(2), 4000) - protocol.expected(population)
        total, expected = np.sqrt(np.square(found).sum(axis=1)), protocol.expected_error(population)
        assert p_mean(found) > SIGNIFICANCE
        assert p_variance(total, expected) > SIGNIFICANCE
        assert p_variance(total, 1.2 * expected) < SIGNIFICANCE


def test_a_simulated_plan() -> None:
    made = plan.vector(dimension=4, n=20_000, epsilon=1.0, delta=1e-6)
    population = Population(
        values=made.protocol.domain.clean(rows_for(4, 3)).values, users=np.array([9000, 9000, 2000])
    )
    found = simulate(made, population, trials=2000, generator=np.random.default_rng(1))
    assert found.rmse == pytest.approx(found.expected_rmse, rel=0.06)
    assert found.coverage > 0.94


def in_batch(protocol: VectorMean, messages: NDArray[np.uint64], users: int) -> Counts:
    """As the analyzer counts them: different messages, and how often each occurs."""
    totals = np.zeros(protocol.batch_counters, dtype=np.int64)
    protocol.add_batch(totals, *np.unique(messages, return_counts=True))
    return protocol.tallied(totals, users)


@pytest.fixture
def one_codebook() -> Iterator[None]:
    """The same codewords under every seed."""
    right = codewords.codewords
    with patch.object(
        codewords, "codewords", lambda seeds, numbers, dimension: right(seeds * np.uint64(0), numbers, dimension)
    ):
        yield


def shown(randomness: int) -> float:
    made = plan.vector(dimension=3, n=50, epsilon=1.0, delta=1e-2)
    found = audit(made, trials=6000, randomness=KeyedRandomness.seeded(randomness))
    assert found.verdict != "violated"
    assert found.claimed.epsilon == 1.0
    return found.epsilon


def test_privacy_does_not_rest_on_the_codebook(one_codebook: None) -> None:
    """A constant codebook: an audit shows what it showed before, and not more than is claimed; but the mean is wrong."""
    with patch.object(codewords, "codewords", codewords.codewords):
        constant = shown(3)
    protocol, rows = small(3, 16, 0.15), rows_for(3, 200)
    errors, _ = whole_runs(protocol, rows, 100)
    assert p_mean(errors) < SIGNIFICANCE
    assert 0.1 < constant < 1.0


def test_an_audit_shows_much_of_what_is_claimed() -> None:
    assert 0.1 < shown(3) < 1.0


@pytest.mark.parametrize("repeats", [1, 2])
def test_an_audit_finds_a_leak(repeats: int) -> None:
    """A randomizer with far less blanket than it says."""
    made = plan.vector(dimension=2, n=40, epsilon=1.0, delta=1e-2, messages_per_user=repeats)
    assert isinstance(made.protocol, VectorMean)
    right = CodebookResponse._once

    def leaking(self: CodebookResponse, *given: Any) -> Any:
        return right(self.with_gamma(0.02), *given)

    with patch.object(CodebookResponse, "_once", leaking):
        assert audit(made, trials=4000, randomness=KeyedRandomness.seeded(1)).verdict == "violated"


@pytest.mark.parametrize("changes", [{}, {"messages_per_user": 2}, {"honest_fraction": 0.7, "dropout": 0.2}])
def test_plans_are_read_again_verified_and_booked(changes: dict[str, Any]) -> None:
    made = plan.vector(columns=["a", "b"], norm=2.0, n=100, epsilon=1.0, delta=1e-2, **changes)
    document = json.loads(json.dumps(made.document()))
    assert Plan.from_document(document) == made
    assert verify(document).confirmed
    stronger = json.loads(json.dumps(document))
    stronger["protocol"]["randomizer"]["threshold"] = "1"
    with pytest.raises(InvalidInput):
        Plan.from_document(stronger)
    spend = Spend.of(made)
    assert composed([spend], 1e-2) <= 1.001
    assert 1.2 < composed([spend, spend], 1e-2) < 2.0


def test_rounds_and_targets() -> None:
    weekly = plan.vector(dimension=5, n=50_000, epsilon=1.0, delta=1e-6, rounds=4)
    assert weekly.over_time is not None
    assert weekly.guarantee.epsilon < 0.7
    by_error = plan.vector(dimension=5, n=50_000, rmse=0.02, delta=1e-6)
    assert by_error.rmse == pytest.approx(0.02, rel=0.03)
    assert by_error.rmse <= 0.02
    fewest = users_needed("vector", rmse_share=0.05, epsilon=1.0, delta=1e-6, dimension=5)
    assert 0.045 < fewest.rmse <= 0.05


def test_more_messages_err_less() -> None:
    errors = [plan.vector(dimension=20, n=2000, epsilon=1.0, delta=1e-4, messages_per_user=t).rmse for t in (1, 2, 4)]
    assert errors[0] > 1.2 * errors[1] > 1.3 * errors[2]


def test_the_plan_is_near_the_best_size() -> None:
    made = plan.vector(dimension=30, n=100_000, epsilon=1.0, delta=1e-6)
    assert isinstance(made.protocol, VectorMean)
    size = made.protocol.randomizer.size
    assert 2 * size * made.protocol.randomizer.gamma_as_run < size
    assert made.rmse == pytest.approx(0.0063, rel=0.05)


FRAME = {"a": [0.5, -0.5, 0.0] * 3000, "b": [0.1, 0.2, 0.3] * 3000}


def test_rows_of_every_kind_give_the_same_answer() -> None:
    made = plan.vector(columns=["a", "b"], n=8000, epsilon=1.0, delta=1e-6)
    matrix = np.array([FRAME["a"], FRAME["b"]]).T
    pairs = matrix.tolist()
    records = np.array([tuple(row) for row in pairs], dtype=[("b2", "f4"), ("b", "f8")])[["b"]]
    expected = run(made, matrix, randomness=KeyedRandomness.seeded(2)).estimate.value
    for given in (
        pairs, FRAME, pa.table(FRAME), pa.array(pairs, pa.list_(pa.float64(), 2)), pa.array(pairs),
        [f"{a},{b}" for a, b in pairs], [{"b": b, "a": a} for a, b in pairs], matrix.astype(np.float64, order="F"),
    ):  # fmt: skip
        assert (run(made, given, randomness=KeyedRandomness.seeded(2).replayed()).estimate.value == expected).all()
    listed = pa.table({"row": pa.array(pairs, pa.list_(pa.float64(), 2))})
    found = run(made, listed, column="row", randomness=KeyedRandomness.seeded(2).replayed())
    assert (found.estimate.value == expected).all()
    with pytest.raises(InvalidInput, match="columns"):
        made.protocol.domain.clean(records)


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (np.zeros((5, 2)), "rows have 2 numbers, and the plan is for 3"),
        ([[0.0, 0.0, 0.0], [0.0, 0.0]], "in data row 2 the value is no row of 3 numbers"),
        ([[0.0, math.nan, 0.0]], "is missing"),
        ([[0.0, math.inf, 0.0]], "is infinite"),
        ([[9.0, 0.0, 0.0]], "is outside the ball of radius 1"),
        (np.zeros(7), "no|rows of 3"),
        ("abc", "in memory"),
    ],
)  # fmt: skip
def test_bad_rows_are_refused(rows: Any, why: str) -> None:
    made = plan.vector(dimension=3, n=1000, epsilon=1.0, delta=1e-6)
    with pytest.raises(InvalidInput, match=why):
        run(made, rows)


def test_what_is_clipped_is_counted_and_zeros_are_rows() -> None:
    made = plan.vector(dimension=2, n=1000, epsilon=1.0, delta=1e-6, norm=2.0)
    rows = np.zeros((2000, 2))
    rows[:500] = (30.0, 40.0)
    found = run(made, rows, outside="clamp", truth=True)
    assert found.adjusted == {"clamped": 500}
    assert found.truth == pytest.approx([0.3, 0.4])
    assert "500 clamped" in str(found)
    huge = Ball(2, 1.0).clean([[1e300, -1e300]], Policy(outside="clamp")).values
    assert huge["row"][0] == pytest.approx([math.sqrt(0.5), -math.sqrt(0.5)])


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({}, "Give `dimension`"), ({"dimension": 0}, "1 to"), ({"dimension": 3, "norm": 0.0}, "above 0"),
        ({"dimension": 3, "norm": -1.0}, "above 0"), ({"dimension": 2**21}, "1 to"),
        ({"columns": ["a", "a"]}, "different names"), ({"columns": ["a"], "dimension": 2}, "Leave it out"),
        ({"ranges": {"a": [1, 0]}}, "larger"), ({"ranges": {"a": [0, 1]}, "norm": 1.0}, "not both"),
        ({"ranges": {"a": ["x", 1]}}, "not two numbers"), ({"ranges": {"a": [0, 1]}, "columns": ["b"]}, "different columns"),
        ({"dimension": 3, "messages_per_user": 0}, "1 to"), ({"dimension": 3, "messages_per_user": 1.5}, "whole"),
        ({"dimension": 3, "low": 0.0}, "has no `low`"),
    ],
)  # fmt: skip
def test_bad_questions_are_refused(asked: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        plan.vector(**({"n": 1000, "epsilon": 1.0, "delta": 1e-6} | asked)) if "low" not in asked else plan(
            "vector", n=1000, epsilon=1.0, delta=1e-6, **asked
        )


def test_one_number_and_a_million() -> None:
    """One column is a mean of numbers; a million fit, and say what memory they take."""
    one = plan.vector(dimension=1, n=5000, epsilon=1.0, delta=1e-6)
    values = np.linspace(-0.9, 0.9, 10_000) + 0.05
    found = run(one, values)
    assert found.estimate.value[0] == pytest.approx(0.05, abs=6 * found.estimate.standard_error[0])
    long = plan.vector(dimension=1_000_000, n=1000, epsilon=1.0, delta=1e-6)
    assert long.protocol.counters == 2 + 2 * 1_000_000
    assert 3e7 < long.protocol.decoding_memory < 1e8
    messages = np.arange(3, dtype=np.uint64) * np.uint64(12345)
    assert long.protocol.count(messages).values[:2].tolist() == [3, 3]


def test_batches_of_liars_are_counted() -> None:
    """More or fewer messages than users can have sent are refused; those of liars spoil nothing."""
    protocol = small(3, 4, 0.3, repeats=2)
    messages = protocol.randomize(protocol.domain.landmarks()[[0, 1, 2]], KeyedRandomness.seeded(1), first_row=0).values
    assert (
        in_batch(protocol, messages, 3).values
        == protocol.count(
            protocol.randomize(protocol.domain.landmarks()[[0, 1, 2]], KeyedRandomness.seeded(1), first_row=0)
        ).values
    ).all()
    assert protocol.reports(in_batch(protocol, messages[:4], 3).values) == 3
    with pytest.raises(InvalidInput, match="cannot have sent"):
        in_batch(protocol, messages, 7)
    with pytest.raises(InvalidInput, match="not one of this protocol"):
        in_batch(protocol, np.array([protocol.alphabet], dtype=np.uint64), 1)
    with pytest.raises(InvalidInput, match="no reports"):
        protocol.estimate(Counts.none(protocol.counters))


def test_boxes_are_scaled_into_the_ball() -> None:
    box = Box((0.0, -5.0), (10.0, 5.0), ("a", "b"))
    corners = box.into_ball(box.clean([[0, -5], [10, 5], [10, -5], [5, 0]]).values)
    assert np.linalg.norm(corners, axis=1) == pytest.approx([1, 1, 1, 0], abs=1e-12)


@pytest.mark.parametrize("protocol", VectorMean.examples(), ids=["ball", "box", "several"])
@pytest.mark.parametrize(("n", "asked"), [(5, 2), (6, 5)])
def test_asking_a_part_of_the_people_errs_as_forecast(protocol: VectorMean, n: int, asked: int) -> None:
    """All parts of them, one after the other; and no other data that are looked at err more."""
    worst = protocol.worst_sampled(n, 1 - asked / n)
    assert worst.n == n
    people = np.repeat(np.arange(len(worst.values)), worst.users)
    squared = []
    for chosen in combinations(people.tolist(), asked):
        some = Population(values=worst.values[list(chosen)], users=np.ones(asked, dtype=np.int64))
        off = float(np.square(protocol.expected(some) - protocol.expected(worst)).sum())
        squared.append(protocol.expected_error(some) + off)
    stated = sampled_error(protocol, asked, n)
    assert stated is not None
    assert stated == pytest.approx(np.mean(squared), rel=1e-9)
    landmarks = protocol.domain.landmarks()
    for j, k in combinations(range(4), 2):
        other = Population(values=landmarks[[j, k]], users=np.array([n - n // 2, n // 2]))
        error = n / asked * protocol.expected_error(other) + (1 / asked - 1 / n) * spread(protocol, other)
        assert error <= stated * (1 + 1e-9)
    ends = protocol.domain.rows(landmarks[:2])
    most = float(np.square(ends - ends.mean(axis=0)).sum()) * n / (n - 1)
    assert float(protocol.most_spread(np.asarray(0.0 * ends[0] + protocol.domain.middle), n).max()) <= most * (1 + 1e-6)
