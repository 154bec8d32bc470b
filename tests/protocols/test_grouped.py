"""Means by group and tables: exact covariances, forecasts, intervals, and no number where a group is too small to say."""

import dataclasses
import json
import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binomtest

from oracles.chance import SIGNIFICANCE
from shuffledp import InvalidInput, KeyedRandomness, RandomizedResponse, plan, run
from shuffledp.baselines.compare import compare
from shuffledp.core.estimate import Estimate
from shuffledp.core.population import Population
from shuffledp.core.ratio import Ratios
from shuffledp.domains.cross_table import CrossTable
from shuffledp.domains.grouped_reals import GroupedReals
from shuffledp.domains.labels import Labels
from shuffledp.domains.reals import RealRange
from shuffledp.figures.result_page import page
from shuffledp.planning.error_targets import epsilon_possible, users_needed
from shuffledp.protocols.grouped import GroupedSummation
from shuffledp.protocols.histogram import Histogram
from shuffledp.protocols.margins import margin, shares

ASKED: dict[str, Any] = {"n": 100_000, "epsilon": 1.0, "delta": 1e-6}
RUNS = 100_000
Reals = NDArray[np.float64]


def held_between_points(protocol: GroupedSummation, users: list[int]) -> Population:
    """Groups of so many users whose values are in the middle of two steps of the grid: the most rounding."""
    r = protocol.precision
    values = [(group, (step + 0.5) / r) for group in range(len(users)) for step in (0, r // 2)]
    each = [round(count * part) for count in users for part in (0.6, 0.4)]
    return Population(values=np.array(values, dtype=protocol.domain.dtype), users=np.array(each))


def simulated(protocol: GroupedSummation, population: Population) -> Estimate:
    found = protocol.simulate(population, np.random.default_rng(7), RUNS)
    return protocol.reading.of(
        Estimate(value=found, standard_error=protocol.standard_error(found, population.n), n=population.n)
    )


def check_intervals(estimate: Estimate, truth: Reals) -> None:
    """95 % of the intervals hold the truth, and intervals of another confidence are told apart from that."""
    for confidence, right in ((0.95, True), (0.9, False), (0.98, False)):
        low, high = estimate.interval(confidence)
        for inside in ((low <= truth) & (truth <= high)).sum(axis=0):
            assert (binomtest(int(inside), RUNS, 0.95).pvalue > SIGNIFICANCE) == right


# The law


@pytest.mark.parametrize("protocol", GroupedSummation.examples(), ids=lambda one: one.total)
def test_the_covariance_is_that_of_all_messages_of_a_user(protocol: GroupedSummation) -> None:
    """By enumeration, and a formula without the covariance of rounding would be found out."""
    r, g, size = protocol.precision, protocol.gamma, protocol.randomizer.size
    for group, x in product(range(protocol.groups), (0.0, 0.31, 0.5, 1.0)):
        law = np.full(size, g / size)
        floor = min(math.floor(x * r), r - 1)
        f = x * r - floor
        law[group * (r + 1) + floor] += (1 - g) * (1 - f)
        law[group * (r + 1) + floor + 1] += (1 - g) * f
        value = protocol.domain.value.low + x * protocol.domain.value.span
        one = Population(values=np.array([(group, value)], dtype=protocol.domain.dtype), users=np.array([1]))
        moments = protocol.moments_of(one)
        weights = {(a, b): np.zeros((protocol.groups, size)) for a, b in ((1.0, 0.0), (0.0, 1.0), (-0.3, 1.0))}
        for (a, b), table in weights.items():
            for other in range(protocol.groups):
                table[other, other * (r + 1) : (other + 1) * (r + 1)] = a + b * np.arange(r + 1) / r
        for first, second in product(weights, weights):
            both = (weights[first] * weights[second]) @ law - (weights[first] @ law) * (weights[second] @ law)
            found = protocol.covariance(first, second, moments, 1)
            assert found == pytest.approx(both / (1 - g) ** 2, rel=1e-9, abs=1e-12)
        if 0 < f < 1:
            without = protocol.covariance((0.0, 1.0), (0.0, 1.0), moments._replace(rounding=np.zeros(1)), 1)
            true = weights[0.0, 1.0] ** 2 @ law - (weights[0.0, 1.0] @ law) ** 2
            assert without != pytest.approx(true / (1 - g) ** 2, rel=0.05)


def test_means_of_groups_err_as_forecast_and_their_intervals_hold() -> None:
    protocol = plan("mean", **ASKED, by={"g": ["a", "b", "c", "d"]}, share=0.1).protocol
    assert isinstance(protocol, GroupedSummation)
    population = held_between_points(protocol, [70_000, 20_000, 9_000, 1_000])
    truth = protocol.reading.exactly(protocol.expected(population))
    found = simulated(protocol, population)
    assert truth == pytest.approx([(0.6 * 0.5 + 0.4 * (protocol.precision // 2 + 0.5)) / protocol.precision] * 4)
    error = np.sqrt(np.square(found.value - truth).mean(axis=0))
    assert error == pytest.approx(np.sqrt(protocol.reading.error(population)), rel=0.03)
    check_intervals(found, truth)
    for share, most in protocol.forecast(population.n).by_share.items():
        users = round(share * population.n)
        low = [(group, 0.5 / protocol.precision) for group in (0, 1)]  # a mean near the end of the range is the hardest
        near = Population(
            values=np.array(low, dtype=protocol.domain.dtype), users=np.array([population.n - users, users])
        )
        assert 0.85 * most <= math.sqrt(protocol.reading.error(near)[1]) <= most


def test_intervals_that_forget_the_covariance_are_found_out() -> None:
    protocol = plan("mean", **ASKED, by={"g": ["a", "b"]}, share=0.1).protocol
    assert isinstance(protocol, GroupedSummation)
    population = held_between_points(protocol, [95_000, 5_000])
    found, truth = simulated(protocol, population), protocol.reading.exactly(protocol.expected(population))
    assert isinstance(found, Ratios)
    check_intervals(found, truth)
    above, across, below = found.variances
    with pytest.raises(AssertionError):
        check_intervals(dataclasses.replace(found, variances=(above, 0 * across, below)), truth)


RANGES = [(0.0, 1.0), (-2.0, 3.0), (2.0, 2.5), (-7.0, -4.0), (10.0, 30.0)]


@pytest.mark.parametrize(("low", "high"), RANGES)
def test_sums_by_group_err_as_they_say_wherever_their_range_begins(low: float, high: float) -> None:
    """By the covariance matrix of the messages of all users: a sum is low times the users of a group, and more."""
    protocol = grouped("sum", low, high)
    r, g, size, span = protocol.precision, protocol.gamma, protocol.randomizer.size, high - low
    at = low + span * np.array([0.1, 0.55, 1.0, 0.3])
    values = list(zip([0, 0, 1, 2], at.tolist(), strict=True))
    population = Population(values=np.array(values, dtype=protocol.domain.dtype), users=np.array([50, 20, 25, 5]))
    points = low + span * np.arange(r + 1) / r
    weights = np.zeros((3, size))
    for group in range(3):
        weights[group, group * (r + 1) : (group + 1) * (r + 1)] = points
    variance = np.zeros(3)
    for (group, value), users in zip(values, population.users, strict=True):
        scaled = (value - low) / span * r
        floor = min(math.floor(scaled), r - 1)
        law = np.full(size, g / size)
        law[group * (r + 1) + floor] += (1 - g) * (1 - (scaled - floor))
        law[group * (r + 1) + floor + 1] += (1 - g) * (scaled - floor)
        variance += users * (weights**2 @ law - (weights @ law) ** 2) / (1 - g) ** 2
    assert protocol.reading.error(population) == pytest.approx(variance, rel=1e-9)
    truth = protocol.reading.exactly(protocol.expected(population))
    assert truth == pytest.approx([50 * at[0] + 20 * at[1], 25 * at[2], 5 * at[3]])
    exact = protocol.reading.of(Estimate(value=protocol.expected(population), standard_error=np.zeros(size), n=100))
    assert exact.value == pytest.approx(truth)
    assert (exact.standard_error**2 >= variance * (1 - 1e-9)).all()  # at the most rounding
    most_rounding = np.array([70, 25, 5]) * span**2 / (4 * r * r)
    assert (exact.standard_error**2 <= variance + most_rounding / (1 - g)).all()


@pytest.mark.parametrize(("low", "high"), RANGES)
@pytest.mark.parametrize("total", ["mean", "sum"])
def test_no_data_exceed_the_forecast_of_a_group_wherever_its_range_begins(total: str, low: float, high: float) -> None:
    """Whatever a tenth of the users hold; and some data nearly reach it."""
    protocol = grouped(total, low, high)
    most, reached = protocol.group_variance(0.1, 1000), 0.0
    for share in np.linspace(0, 1, 41):
        values = np.array([(0, low), (1, low + share * (high - low))], dtype=protocol.domain.dtype)
        error = protocol.reading.error(Population(values=values, users=np.array([900, 100])))[1]
        assert error <= most * (1 + 1e-9)
        reached = max(reached, error)
    assert reached >= 0.9 * most


@pytest.mark.parametrize(("low", "high"), RANGES)
def test_one_false_report_shifts_a_sum_by_group_by_no_more_than_is_stated(low: float, high: float) -> None:
    """Whatever is sent in place of whatever: the largest shift of all is the one that is stated."""
    protocol = grouped("sum", low, high)
    size = protocol.randomizer.size
    counts = np.full(size, 10, dtype=np.int64)

    def read(counts: NDArray[np.int64]) -> Estimate:
        n = int(counts.sum())
        return protocol.reading.of(Estimate(value=protocol.debias(counts, n), standard_error=np.zeros(size), n=n))

    before, shifts = read(counts), []
    for true, false in product(range(size), repeat=2):
        other = counts.copy()
        other[true] -= 1
        other[false] += 1
        shifts.append(float(np.abs(read(other).value - before.value).max()))
    stated = protocol.reading.shift(
        Estimate(value=protocol.debias(counts, 10 * size), standard_error=np.zeros(size), n=10 * size)
    )
    assert max(shifts) == pytest.approx(stated, rel=1e-9)


def grouped(total: Any, low: float, high: float) -> GroupedSummation:
    domain = GroupedReals((("g", Labels(("a", "b", "c"))),), RealRange(low, high))
    return GroupedSummation(randomizer=RandomizedResponse(size=15, gamma=0.2).as_run(), domain=domain, total=total)


def test_shares_within_groups_err_as_forecast_and_their_intervals_hold() -> None:
    protocol = plan(
        "histogram", n=10_000, epsilon=1.0, delta=1e-6, by={"g": ["a", "b", "c"]}, labels=["no", "perhaps", "yes"]
    ).protocol
    assert isinstance(protocol, Histogram)
    held = np.array([4000, 2000, 1000, 1000, 500, 500, 300, 500, 200])
    counts = protocol.simulate(Population(values=np.arange(9), users=held), np.random.default_rng(5), RUNS)
    found, true = (_shares(protocol, value) for value in (counts, held.astype(np.float64)))
    assert true.value == pytest.approx(held / held.reshape(3, 3).sum(axis=1).repeat(3))
    error = np.sqrt(np.square(found.value - true.value).mean(axis=0))
    assert error == pytest.approx(true.standard_error, rel=0.03)
    check_intervals(found, true.value)


def _shares(protocol: Histogram, value: Reals) -> Ratios:
    table = protocol.domain
    assert isinstance(table, CrossTable)
    counts = Estimate(value=value, standard_error=np.zeros_like(value), n=10_000)
    return shares(table, protocol.reading.statistics(counts))


def test_variances_of_margins_and_shares_are_those_of_the_covariance_matrix() -> None:
    protocol = plan(
        "histogram", n=1000, epsilon=1.0, delta=1e-3, by={"a": ["x", "y"], "b": ["u", "v", "w"]}, size=2
    ).protocol
    assert isinstance(protocol, Histogram)
    table = protocol.domain
    assert isinstance(table, CrossTable)
    held = np.arange(12.0) * 10 + 30
    statistics = protocol.reading.statistics(
        Estimate(value=held, standard_error=np.zeros(12), n=round(held.sum()), names=table.names)
    )
    matrix = protocol.covariance(held)
    joint = held.reshape(table.shape)
    for kept in ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2)):
        found = margin(table, statistics, kept)
        others = tuple({0, 1, 2} - {*kept})
        assert found.value == pytest.approx(joint.sum(axis=others).ravel())
        sets = [
            np.arange(12).reshape(table.shape)[_at(kept, place)].ravel()
            for place in np.ndindex(*(table.shape[j] for j in kept))
        ]
        assert found.standard_error**2 == pytest.approx([matrix[np.ix_(cells, cells)].sum() for cells in sets])
        assert len(set(found.names)) == len(found.names) == len(sets)
    for cell, across in enumerate(shares(table, statistics).variances[1]):
        group = [cell // 2 * 2, cell // 2 * 2 + 1]
        assert across == pytest.approx(matrix[cell, group].sum())


def _at(kept: tuple[int, ...], place: tuple[int, ...]) -> tuple[Any, ...]:
    chosen = dict(zip(kept, place, strict=True))
    return tuple(chosen.get(j, slice(None)) for j in range(3))


# What is answered


def people(n: int, shares_of_groups: list[float]) -> dict[str, Any]:
    generator = np.random.default_rng(1)
    group = generator.choice(len(shares_of_groups), size=n, p=shares_of_groups)
    late = generator.random(n) * (group + 1) * 10
    return {"carrier": np.array(["AA", "B6", "DL", "HA"])[group], "delay": late}


def test_a_group_that_is_too_small_gets_a_reason_instead_of_a_number() -> None:
    asked = plan("mean", **ASKED, low=0, high=40, by={"carrier": ["AA", "B6", "DL", "HA"]})
    data = people(100_000, [0.5, 0.3, 0.2, 0.0])
    result = run(asked, data, column="delay", truth=True)
    document = result.document()
    json.dumps(document, allow_nan=False)
    estimate = document["estimate"]
    assert estimate["names"] == ["AA", "B6", "DL", "HA"]
    assert (
        estimate["value"][3] is estimate["standard_error"][3] is estimate["interval"][3] is document["truth"][3] is None
    )
    assert list(estimate["refused"]) == ["HA"]
    assert "too few users" in estimate["refused"]["HA"]
    for j, name in enumerate(("AA", "B6", "DL")):
        mean = data["delay"][data["carrier"] == name].mean()
        assert document["truth"][j] == pytest.approx(mean)
        assert abs(estimate["value"][j] - mean) < 6 * estimate["standard_error"][j] < 0.5
        low, high = estimate["interval"][j]
        assert low < estimate["value"][j] < high
    for shown in (page(document), result._repr_html_()):
        assert "HA: too few users to say" in shown
        assert ">nan<" not in shown
    users = document["also"]["users"]
    assert users["value"] == pytest.approx([50_000, 30_000, 20_000, 0], abs=600)
    assert 0 < document["max_shift_per_false_report"] < 40 / 15_000


def test_sums_and_queries_by_group() -> None:
    data = people(20_000, [0.5, 0.3, 0.1, 0.1])
    by = {"carrier": ["AA", "B6", "DL", "HA"]}
    sums = run(plan("sum", n=20_000, epsilon=1.0, delta=1e-6, high=40, by=by), data, column="delay", truth=True)
    assert sums.truth == pytest.approx([data["delay"][data["carrier"] == name].sum() for name in by["carrier"]])
    assert (np.abs(sums.estimate.value - sums.truth) < 6 * sums.estimate.standard_error).all()
    late = run(plan("query", n=20_000, epsilon=1.0, delta=1e-6, by=by), data, query="delay > 9", truth=True)
    assert late.truth is not None
    assert late.truth == pytest.approx([(data["delay"][data["carrier"] == name] > 9).mean() for name in by["carrier"]])
    assert (np.abs(late.estimate.value - late.truth) < 6 * late.estimate.standard_error).all()


def test_a_table_has_margins_and_shares() -> None:
    by = {"carrier": ["AA", "B6", "DL", "HA"]}
    data = people(50_000, [0.4, 0.3, 0.3, 0.0]) | {"late": np.where(np.arange(50_000) % 4 == 0, "yes", "no")}
    asked = plan("histogram", n=50_000, epsilon=1.0, delta=1e-6, labels=["no", "yes"], by=by)
    result = run(asked, data, column="late", truth=True)
    assert result.names[:3] == ("AA, no", "AA, yes", "B6, no")
    also = result.document()["also"]
    assert list(also) == ["users by carrier", "users by value", "share of each value within carrier"]
    assert also["users by value"]["value"] == pytest.approx([37_500, 12_500], abs=200)
    within = also["share of each value within carrier"]
    assert within["value"][1] == pytest.approx(0.25, abs=0.02)
    assert list(within["refused"]) == ["HA, no", "HA, yes"]
    assert within["value"][6:] == [None, None]


# Planning


def test_the_grid_is_the_best_one_for_groups_of_the_named_share() -> None:
    by = {"g": [str(j) for j in range(16)]}
    for share in (0.01, 0.2):
        best = plan("mean", **ASKED, by=by, share=share)
        error = best.protocol.group_variance(share, 100_000)  # type: ignore[attr-defined]
        for steps in {max(1, best.protocol.precision + by_) for by_ in (-2, -1, 1, 2)}:  # type: ignore[attr-defined]
            other = plan("mean", **ASKED, by=by, share=share, precision=steps).protocol
            assert other.group_variance(share, 100_000) >= error  # type: ignore[attr-defined]
    coarse, fine = (plan("mean", **ASKED, by=by, share=share).protocol.alphabet for share in (0.01, 0.2))
    assert coarse < fine


def test_errors_can_be_asked_for() -> None:
    by: dict[str, Any] = {"by": {"g": ["a", "b"]}, "share": 0.25}
    few = users_needed("mean", rmse_share=0.02, epsilon=1.0, delta=1e-6, **by)
    assert math.sqrt(few.protocol.group_variance(0.25, few.min_batch)) <= 0.02  # type: ignore[attr-defined]
    found = epsilon_possible("mean", n=few.min_batch, rmse=0.02, delta=1e-6, **by)
    assert found.guarantee.epsilon == pytest.approx(1.0, rel=0.05)


@pytest.mark.parametrize(
    ("question", "options", "what"),
    [
        ("mean", {"by": {"g": ["a"]}}, "at least two"),
        ("mean", {"by": {"g": ["a", "a"]}}, "different texts"),
        ("mean", {"by": {"value": ["a", "b"]}}, "name of its own"),
        ("mean", {"by": {"": ["a", "b"]}}, "needs a name"),
        ("mean", {"by": {}}, "labels by column"),
        ("mean", {"by": ["a", "b"]}, "labels by column"),
        ("mean", {"by": {"g": "ab"}}, "several texts"),
        ("mean", {"by": {"g": ["a", "b"]}, "share": 0.0}, "less than one"),
        ("mean", {"by": {"g": ["a", "b"]}, "share": 2.0}, "from 0 to 1"),
        ("mean", {"share": 0.1}, "only by groups"),
        ("query", {"by": {"g": ["a", "b"]}, "high": 2.0}, "answered in"),
        ("histogram", {"by": {"g": ["a", "b"]}}, "needs the values to count"),
        ("texts", {"by": {"g": ["a", "b"]}}, "not answered by group"),
    ],
)
def test_groups_that_make_no_sense_are_refused(question: str, options: dict[str, Any], what: str) -> None:
    with pytest.raises(InvalidInput, match=what):
        plan(question, **ASKED, **options)


def test_only_families_that_know_of_groups_are_compared() -> None:
    by: dict[str, Any] = {"by": {"g": ["a", "b"]}}
    rows = compare("mean", **ASKED, **by)
    assert {row.name for row in rows} == {"shuffledp", "shuffledp, digits"}
    assert all("of a group with 25 % of the users" in row.note for row in rows)
    one = next(row for row in rows if row.name == "shuffledp")
    assert one.rmse == pytest.approx(math.sqrt(plan("mean", **ASKED, **by).protocol.group_variance(0.25, ASKED["n"])))  # type: ignore[attr-defined]
    tables = compare("histogram", **ASKED, **by, size=2, only=("shuffledp",))
    alone = compare("histogram", **ASKED, size=4, only=("shuffledp",))
    assert [row.rmse for row in tables] == [row.rmse for row in alone]


def test_messages_are_those_of_the_pair() -> None:
    """A group and a grid point are one symbol: without a blanket they are sent as they are."""
    protocol = GroupedSummation.examples()[1]
    values = np.array([(3, -2.0), (0, 3.0), (2, 0.5)], dtype=protocol.domain.dtype)
    assert protocol.encode(values, KeyedRandomness.seeded(1), first_row=0).tolist() == [9, 2, 7]
