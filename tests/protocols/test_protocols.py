"""Estimators are exactly unbiased, their variances exact, and simulation follows both."""

import itertools
import math
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import norm

from shuffledp import InvalidInput, KeyedRandomness, RandomizedResponse, plan
from shuffledp.core.counts import Counts
from shuffledp.core.estimate import Estimate
from shuffledp.core.population import Population
from shuffledp.engines.tally import tally_rows
from shuffledp.protocols.histogram import Histogram
from shuffledp.protocols.summation import Summation

SIGNIFICANCE = 1e-9
Reals = NDArray[Any]


@given(st.lists(st.lists(st.integers(0, 4), max_size=20), min_size=1, max_size=5))
def test_counts_are_a_monoid(parts: list[list[int]]) -> None:
    whole = Counts.of(np.array(list(itertools.chain.from_iterable(parts)), dtype=np.int64), 5)
    total = Counts.none(5)
    for part in parts:
        total = total + Counts.of(np.array(part, dtype=np.int64), 5)
    assert (total.values == whole.values).all()
    assert whole.total == sum(len(part) for part in parts)


@pytest.mark.parametrize("size", [2, 34, 255, 256])
@pytest.mark.parametrize("rows", [0, 1, 40_000, 40_001])
def test_bytes_are_counted_in_pairs_or_one_by_one(size: int, rows: int) -> None:
    messages = np.random.default_rng(rows).integers(0, size, rows, dtype=np.uint8)
    expected = [int((messages == j).sum()) for j in range(size)]
    assert Counts.of(messages, size).values.tolist() == expected
    assert Counts.of(messages[::-1], size).values.tolist() == expected
    if rows and size < 256:
        with pytest.raises(InvalidInput, match="is outside"):
            Counts.of(np.append(messages, np.uint8(size)), size)


@pytest.mark.parametrize("users", [(2, 1, 0), (0, 0, 3), (1, 1, 1)])
def test_histogram_moments_by_enumeration(users: tuple[int, ...]) -> None:
    """All messages of three users: mean and covariance of the estimate are the formulas', exactly."""
    response = RandomizedResponse(size=3, gamma=0.4)
    protocol = Histogram(response)
    symbols = [j for j, count in enumerate(users) for _ in range(count)]
    mean, second = np.zeros(3), np.zeros((3, 3))
    for messages in itertools.product(range(3), repeat=3):
        mass = math.prod(float(response.probability(y, x)) for x, y in zip(symbols, messages, strict=True))
        value = protocol.estimate(Counts.of(np.array(messages), 3)).value
        mean += mass * value
        second += mass * np.outer(value, value)
    np.testing.assert_allclose(mean, users, atol=1e-12)
    np.testing.assert_allclose(
        second - np.outer(mean, mean), protocol.covariance(np.array(users, dtype=float)), atol=1e-12
    )
    assert protocol.mean_squared_error(3) == pytest.approx(np.trace(second - np.outer(mean, mean)))


@pytest.mark.parametrize(("precision", "gamma"), [(1, 0.2), (3, 0.5), (7, 0.05)])
def test_sum_moments_by_enumeration(precision: int, gamma: float) -> None:
    """One user: the mean of the estimate is the value and its variance the formula, for any value."""
    protocol = Summation(randomizer=RandomizedResponse(size=precision + 1, gamma=gamma), low=-2.0, high=3.0)
    worst = 0.0
    for value in np.linspace(-2, 3, 41):
        x = (value + 2) / 5 * precision
        low = min(math.floor(x), precision - 1)
        chances = np.zeros(precision + 1)
        chances[low], chances[low + 1] = 1 - (x - low), x - low
        law = gamma / (precision + 1) + (1 - gamma) * chances
        estimates = [
            protocol.estimate(Counts(np.eye(precision + 1, dtype=np.int64)[y])).value[0] for y in range(precision + 1)
        ]
        mean = float(law @ estimates)
        assert mean == pytest.approx(value, abs=1e-9)
        variance = float(law @ np.square(estimates)) - mean**2
        assert variance == pytest.approx(float(protocol.user_error(value)), rel=1e-9)
        worst = max(worst, variance)
    assert worst <= protocol.mean_squared_error(1) * (1 + 1e-9)
    assert protocol.mean_squared_error(1) == pytest.approx(float(protocol.user_error(protocol.worst_value)))


def test_rounding_keeps_the_mean_exactly() -> None:
    """Grid points: accepted at 1e-9 for the true probability and rejected for one 10 % off."""
    protocol = Summation(randomizer=RandomizedResponse(size=5, gamma=0.1))
    n, value = 400_000, 0.33
    symbols = protocol.encode(np.full(n, value), KeyedRandomness.seeded(1), first_row=0)
    assert set(symbols.tolist()) == {1, 2}
    up = int((symbols == 2).sum())
    for chance, accepted in ((0.32, True), (0.352, False)):
        z = (up - n * chance) / math.sqrt(n * chance * (1 - chance))
        assert (2 * norm.sf(abs(z)) > SIGNIFICANCE) == accepted


def test_the_ends_and_grid_points_are_not_rounded() -> None:
    protocol = Summation(randomizer=RandomizedResponse(size=5, gamma=0.1), low=0.0, high=4.0)
    values = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    assert protocol.encode(values, KeyedRandomness.seeded(2), first_row=0).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("bad", [[-0.1], [1.1], [math.nan], [0.5, math.inf]])
def test_values_outside_the_range_are_refused_without_being_shown(bad: list[float]) -> None:
    protocol = Summation(randomizer=RandomizedResponse(size=5, gamma=0.1))
    with pytest.raises(InvalidInput, match="outside") as refused:
        protocol.encode(np.array([0.777, *bad]), KeyedRandomness.seeded(3), first_row=0)
    assert "777" not in str(refused.value)
    assert "1.1" not in str(refused.value)


RUNS = 100_000


def simulated(
    question: Literal["histogram", "sum"], n: int, runs: int, seed: int
) -> tuple[Histogram | Summation, Reals, Reals]:
    """A plan's protocol, the counts of many runs at its worst data, one run per row, and the truth."""
    found = plan(question, n=n, epsilon=1.0, delta=1e-6, size=10 if question == "histogram" else None)
    protocol, generator = found.protocol, np.random.default_rng(seed)
    if isinstance(protocol, Histogram):
        users = np.array([n // 2, n // 4, n // 8, n - n // 2 - n // 4 - n // 8, *[0] * 6])
        counts = protocol.simulated_counts(np.tile(users, (runs, 1)), generator)
        return protocol, counts, users.astype(float)
    assert isinstance(protocol, Summation)
    counts = protocol.simulated_counts(protocol.worst(n), generator, runs)
    return protocol, counts, np.array([n * protocol.worst_value])


@pytest.mark.parametrize("question", ["histogram", "sum"])
@pytest.mark.parametrize("n", [10**4, 10**6])
def test_simulated_error_agrees_with_the_forecast(question: Literal["histogram", "sum"], n: int) -> None:
    """100,000 runs at worst-case data: within 3 %, and the forecast for a gamma 10 % off is not."""
    protocol, counts, truth = simulated(question, n, RUNS, 7)
    errors = protocol.debias(counts, n) - truth
    squared = float(np.square(errors).sum(axis=1).mean())
    assert squared == pytest.approx(protocol.mean_squared_error(n), rel=0.03)
    other = type(protocol)(randomizer=RandomizedResponse(size=protocol.randomizer.size, gamma=1.1 * protocol.gamma))
    assert abs(other.mean_squared_error(n) / squared - 1) > 0.03


@pytest.mark.parametrize("question", ["histogram", "sum"])
def test_estimates_are_unbiased_and_a_gamma_ten_percent_off_is_noticed(question: Literal["histogram", "sum"]) -> None:
    runs, n = 20_000, 10**6
    protocol, counts, truth = simulated(question, n, runs, 9)
    wrong = type(protocol)(randomizer=RandomizedResponse(size=protocol.randomizer.size, gamma=1.1 * protocol.gamma))
    for judge, accepted in ((protocol, True), (wrong, False)):
        errors = judge.debias(counts, n) - truth
        z = errors.mean(axis=0) / (errors.std(axis=0) / math.sqrt(runs))
        smallest = float(np.min(2 * norm.sf(np.abs(z)))) * len(z)
        assert (smallest > SIGNIFICANCE) == accepted


@pytest.mark.parametrize("question", ["histogram", "sum"])
def test_coverage_of_the_interval(question: Literal["histogram", "sum"]) -> None:
    """95 % accepted and 93 % rejected at 1e-9 over 20,000 runs."""
    runs, n = 20_000, 10**4
    protocol, counts, truth = simulated(question, n, runs, 8)
    inside = 0
    for row in counts:
        low, high = protocol.estimate(Counts(row)).interval(0.95)
        inside += bool(low[0] <= truth[0] <= high[0])
    for coverage, accepted in ((0.95, True), (0.93, False)):
        z = (inside - runs * coverage) / math.sqrt(runs * coverage * (1 - coverage))
        assert (2 * norm.sf(abs(z)) > SIGNIFICANCE) == accepted


def test_simulation_has_the_law_of_the_real_thing() -> None:
    """Mean counts of 4,000 real and 4,000 simulated runs, by a two-sample test; a gamma 10 % off is noticed."""
    protocol = Summation(randomizer=RandomizedResponse(size=4, gamma=0.2))
    values, users = np.array([0.1, 0.15, 0.8]), np.array([400, 300, 300])
    everyone, randomness = np.repeat(values, users), KeyedRandomness.seeded(3)
    real = np.array(
        [tally_rows(protocol, everyone, randomness, first_row=1000 * run).counts.values for run in range(4000)]
    )
    for gamma, accepted in ((0.2, True), (0.22, False)):
        other = Summation(randomizer=RandomizedResponse(size=4, gamma=gamma))
        fake = other.simulated_counts(Population(values=values, users=users), np.random.default_rng(5), 4000)
        smallest = 1.0
        for j in range(4):
            z = (real[:, j].mean() - fake[:, j].mean()) / math.sqrt((real[:, j].var() + fake[:, j].var()) / 4000)
            smallest = min(smallest, float(2 * norm.sf(abs(z))))
        assert (smallest > SIGNIFICANCE) == accepted
        if accepted:
            assert np.allclose(np.cov(real.T), np.cov(fake.T), rtol=0.15, atol=12)  # four standard deviations


@given(st.integers(1, 300), st.lists(st.floats(0, 1), min_size=1, max_size=40), st.integers(0, 2**40))
def test_rounding_never_leaves_the_neighbouring_points(precision: int, values: list[float], first_row: int) -> None:
    protocol = Summation(randomizer=RandomizedResponse(size=precision + 1, gamma=0.1))
    array = np.array(values)
    symbols = protocol.encode(array, KeyedRandomness.seeded(4), first_row=first_row).astype(float)
    assert (symbols >= np.floor(array * precision)).all()
    assert (symbols <= np.ceil(array * precision)).all()


def test_data_dependent_error_is_at_most_the_worst() -> None:
    protocol = Summation(randomizer=RandomizedResponse(size=5, gamma=0.1), low=-1.0, high=1.0)
    anybody = Population(values=np.linspace(-1, 1, 100), users=np.ones(100, dtype=np.int64))
    worst = Population(values=np.full(100, protocol.worst_value), users=np.ones(100, dtype=np.int64))
    assert 0 < protocol.expected_error(anybody) < protocol.mean_squared_error(100)
    assert protocol.expected_error(worst) == pytest.approx(protocol.mean_squared_error(100))


def test_simultaneous_intervals_are_wider() -> None:
    estimate = Estimate(value=np.zeros(10), standard_error=np.ones(10), n=5)
    assert estimate.interval()[1][0] == pytest.approx(1.959964, rel=1e-6)
    assert estimate.interval(simultaneous=True)[1][0] == pytest.approx(2.807034, rel=1e-6)


def test_mismatched_counts_and_gamma_one_are_refused() -> None:
    protocol = Histogram(RandomizedResponse(size=4, gamma=0.1))
    with pytest.raises(InvalidInput, match="another protocol"):
        protocol.estimate(Counts.none(5))
    with pytest.raises(InvalidInput, match="gamma is 1"):
        Histogram(RandomizedResponse(size=4, gamma=1.0))
    with pytest.raises(InvalidInput, match="low must be below high"):
        Summation(randomizer=RandomizedResponse(size=4, gamma=0.1), low=1.0, high=1.0)
    with pytest.raises(InvalidInput, match="no reports"):
        Summation(randomizer=RandomizedResponse(size=4, gamma=0.1)).estimate(Counts.none(4))
