"""Distributions: exact errors against the channel itself, the plan that is chosen, and what is read off the curve."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from shuffledp import Histogram, InvalidInput, KeyedRandomness, Plan, plan
from shuffledp.core.counts import Counts
from shuffledp.core.estimate import Estimate
from shuffledp.core.population import Population
from shuffledp.domains.intervals import Intervals
from shuffledp.planning.choose import certified
from shuffledp.planning.families.distribution import DistributionFamily, DistributionQuestion
from shuffledp.protocols.distribution import Distribution
from shuffledp.protocols.quantiles import Curve
from shuffledp.protocols.statistics import Statistics, monotone
from shuffledp.protocols.tree import Tree
from shuffledp.randomizers.response import RandomizedResponse

Reals = NDArray[np.float64]
TREES = [Tree(7, (1,)), Tree(10, (4, 1)), Tree(3, (2, 1)), Tree(16, (8, 4, 2, 1)), Tree(20, (12, 4, 1))]


def distribution(**numbers: object) -> tuple[Plan, Distribution]:
    asked: dict[str, object] = {"n": 20_000, "epsilon": 1.0, "delta": 1e-6, "low": 0.0, "high": 1.0, "resolution": 50}
    found = plan("distribution", **(asked | numbers))
    assert isinstance(found.protocol, Distribution)
    return found, found.protocol


def exact(protocol: Distribution, users: NDArray[np.int64]) -> Curve:
    """The curve of an answer without any noise."""
    n, below = int(users.sum()), protocol.true_answer(users)
    return Curve(protocol, Estimate(value=below, standard_error=protocol.standard_error(below, n), n=n))


# The tree


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: f"{tree.size}-{tree.widths}")
def test_every_leaf_is_set_apart_from_an_edge_at_one_level(tree: Tree) -> None:
    """Against the definition, interval by interval."""
    levels = [np.random.default_rng(level).normal(size=size) for level, size in enumerate(tree.sizes)]
    expected: dict[int, list[float]] = {1: [], -1: []}
    for edge in range(1, tree.size):
        seen = np.zeros(tree.size)
        total = {1: 0.0, -1: 0.0}
        for level, width in enumerate(tree.widths):
            signs = tree.signs(level, edge)
            for v in range(tree.sizes[level]):
                leaves = np.arange(v * width, min((v + 1) * width, tree.size))
                if signs[v]:
                    assert (leaves < edge).all() if signs[v] > 0 else (leaves >= edge).all()
                    seen[leaves] += 1
                for right in (1, -1):
                    total[right] += levels[level][v] * (1 if signs[v] > 0 else right if signs[v] < 0 else 0)
        assert seen.tolist() == [1] * tree.size
        for right in (1, -1):
            expected[right].append(total[right])
    assert tree.around(levels, 1) == pytest.approx(np.array(expected[1]))
    assert tree.around(levels, -1) == pytest.approx(np.array(expected[-1]))


@pytest.mark.parametrize("widths", [(), (2,), (1, 1), (3, 2, 1), (10, 1), (1.0,), (0,), (True,)])
def test_widths_that_are_no_tree_are_refused(widths: tuple[int, ...]) -> None:
    with pytest.raises(InvalidInput, match="width"):
        Tree(10, widths)


# Exact errors


@pytest.mark.parametrize("protocol", Distribution.examples(), ids=lambda one: str(one.widths))
def test_the_variance_of_every_edge_and_range_is_that_of_the_channel(protocol: Distribution) -> None:
    """One user, all messages: what an estimate would be, and how likely it is."""
    size, messages = protocol.domain.size, np.arange(protocol.alphabet)
    estimates = protocol.debias(np.eye(protocol.alphabet, dtype=np.int64), 1)
    below = np.concatenate([np.zeros((len(messages), 1)), estimates, np.ones((len(messages), 1))], axis=1)
    for x in range(size):
        symbol = np.array([x // width for width in protocol.widths])
        chance = protocol.randomizer.probability(messages, symbol)
        held = np.eye(size, dtype=np.int64)[x]

        def variance(values: Reals, chance: Reals = chance) -> Reals:
            return np.asarray(chance @ values**2 - (chance @ values) ** 2)

        assert chance @ estimates == pytest.approx(protocol.true_answer(held))
        assert protocol.variance(held) == pytest.approx(variance(estimates))
        at_most = protocol.standard_error(protocol.true_answer(held), 1) ** 2
        assert (at_most >= variance(estimates) - 1e-12).all()
        if protocol.tree.levels == 1:
            assert at_most == pytest.approx(variance(estimates), abs=1e-12)
        for first in range(size):
            for last in range(first, size):
                values = below[:, last + 1] - below[:, first]
                assert protocol.range_variances(first, last)[x] == pytest.approx(float(variance(values)), abs=1e-9)


@pytest.mark.parametrize("protocol", Distribution.examples(), ids=lambda one: str(one.widths))
def test_no_data_with_a_quantile_at_an_edge_err_more_than_is_forecast(protocol: Distribution) -> None:
    rng, n, size = np.random.default_rng(3), 40, protocol.domain.size
    for _ in range(60):
        users = rng.multinomial(n, rng.dirichlet(np.full(size, 0.2)))
        for below, variance in zip(protocol.true_answer(users), protocol.variance(users), strict=True):
            assert variance <= n * protocol.rank_variance(float(below) / n, n) * (1 + 1e-9)


def test_one_level_is_a_histogram_and_what_is_read_off_it() -> None:
    protocol = Distribution.of(Intervals(6, 0.0, 6.0), (1,), (1,), (1 << 62,))
    other = Histogram(RandomizedResponse(size=6, gamma=0.25), Intervals(6, 0.0, 6.0))
    counts = Counts(np.array([100, 200, 300, 50, 25, 325]))
    ours, theirs = protocol.estimate(counts), Statistics(other, other.estimate(counts))
    assert ours.value == pytest.approx(theirs.cumulative().value[:-1])
    assert ours.standard_error == pytest.approx(theirs.cumulative().standard_error[:-1])
    found, same = protocol.reading.statistics(ours).in_range(1, 3), theirs.in_range(1, 3)
    assert found.value == pytest.approx(same.value)
    assert found.standard_error == pytest.approx(same.standard_error)


# Plans


def test_a_coarse_grid_is_asked_at_once_and_a_fine_one_level_by_level() -> None:
    """And the other way would err more, each certified."""
    n = 2000
    for resolution, levels in ((20, 1), (512, 2)):
        found, protocol = distribution(n=n, resolution=resolution)
        assert protocol.tree.levels == levels
        asked = DistributionQuestion(
            name="distribution", n=n, epsilon=1.0, delta=1e-6, domain=Intervals(resolution, 0.0, 1.0)
        )
        proposals = [DistributionFamily(levels=some).propose(asked) for some in (range(1, 2), range(2, 5))]
        errors = [proposal.rank_error(n) for proposal in proposals]
        assert all(certified(asked, proposal).holds() for proposal in proposals)
        assert protocol.rank_error(n) == min(errors) < 0.9 * max(errors)
        assert f"{100 * min(errors):.2g} percentage points of its rank" in found.explain()
        assert found.document()["forecast"]["rank_error"] == min(errors)


def test_a_level_with_a_little_less_noise_is_not_certified() -> None:
    found, protocol = distribution(n=2000, resolution=512)
    for level in range(2):
        thresholds = [part.threshold for part in protocol.randomizer.parts]  # type: ignore[attr-defined]
        thresholds[level] = thresholds[level] * 97 // 100
        wrong = Distribution.of(protocol.domain, protocol.widths, protocol.randomizer.weights, thresholds)
        assert not replace(found, protocol=wrong).holds()


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"resolution": None}, "needs its range"),
        ({"low": None}, "needs its range"),
        ({"resolution": 1}, "from 2 to 65,536"),
        ({"resolution": 10**6}, "from 2 to 65,536"),
        ({"low": 1.0}, "low must be below high"),
        ({"size": 5}, "a distribution has no `size`"),
    ],
)
def test_questions_that_make_no_sense_are_refused(options: dict[str, object], error: str) -> None:
    with pytest.raises(InvalidInput, match=error):
        distribution(**options)


# What is read off


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=40))
def test_the_nearest_curve_that_never_falls_is_the_isotonic_regression(values: list[float]) -> None:
    assert monotone(np.array(values)) == pytest.approx(isotonic_regression(values).x, abs=1e-9)


@given(st.lists(st.integers(0, 50), min_size=8, max_size=8).filter(any), st.floats(0.01, 0.99))
def test_quantiles_of_an_exact_curve_are_exact(users: list[int], share: float) -> None:
    protocol, held = Distribution.examples()[2], np.array(users)
    found = exact(protocol, held).quantile(share)
    reached = int(np.searchsorted(np.cumsum(held), share * held.sum()))
    edges = protocol.domain.edges
    assert edges[found.bin] <= found.value <= edges[found.bin + 1]
    assert found.low <= edges[found.bin]
    assert found.high >= edges[found.bin + 1]
    if held.sum() * share not in np.cumsum(held):
        assert found.bin == reached


def test_a_consistent_curve_never_falls_and_has_no_negative_steps() -> None:
    protocol = Distribution.examples()[1]
    noisy = Estimate(value=np.array([-3.0, 5.0, 2.0, 12.0]), standard_error=np.ones(4), n=10)
    found = Curve(protocol, noisy)
    assert found.projected().tolist() == [0.0, 3.5, 3.5, 10.0]
    assert found.histogram().tolist() == [0.0, 3.5, 0.0, 6.5, 0.0]
    with pytest.raises(InvalidInput, match="no largest bins"):
        found.top(2)


def rank_errors(protocol: Distribution, users: NDArray[np.int64], estimates: Reals) -> Reals:
    """By what share of the users the quartiles are off in each run, the worst of the three."""
    n = int(users.sum())
    share = np.concatenate([[0], np.cumsum(users)]) / n
    found = []
    for value in estimates:
        curve = Curve(protocol, Estimate(value=value, standard_error=protocol.standard_error(value, n), n=n))
        bins = [(wanted, curve.quantile(wanted).bin) for wanted in curve.usual_quantiles]
        found.append(max(max(share[at] - wanted, wanted - share[at + 1], 0.0) for wanted, at in bins))
    return np.array(found)


@pytest.mark.parametrize(("resolution", "levels"), [(200, 1), (1000, 2)])
def test_the_quartiles_of_a_real_column_are_within_the_forecast_in_95_of_100_runs(resolution: int, levels: int) -> None:
    """400 collections of the RAND health insurance experiment's participation incentives, one report per row."""
    origin = importlib.util.find_spec("statsmodels")
    assert origin is not None
    assert origin.origin is not None
    file = Path(origin.origin).parent / "datasets" / "randhie" / "randhie.csv"
    header = file.read_text().splitlines()[0].replace('"', "").split(",")
    column = np.loadtxt(file, delimiter=",", skiprows=1, usecols=header.index("lpi"))
    n = len(column)
    _, protocol = distribution(n=n, low=0.0, high=8.0, resolution=resolution)
    assert protocol.tree.levels == levels
    values, randomness = protocol.domain.clean(column).values, KeyedRandomness.seeded(5)
    runs = [protocol.count(protocol.randomize(values, randomness, first_row=n * run)).values for run in range(400)]
    errors = rank_errors(protocol, protocol.truth(values), protocol.debias(np.array(runs), n))
    assert (errors <= protocol.rank_error(n)).mean() >= 0.95
    assert (errors <= protocol.rank_error(n) / 4).mean() < 0.95


@pytest.mark.parametrize("resolution", [50, 400])
def test_not_even_data_made_for_it_exceed_the_forecast_more_often(resolution: int) -> None:
    """Nobody between the points, so that any edge of a long way may deceive; just beyond the forecast on one side."""
    n = 5000
    _, protocol = distribution(n=n, resolution=resolution)
    assert protocol.tree.levels == (1 if resolution < 100 else 2)
    beyond = 1.02 * protocol.rank_error(n)
    users = np.zeros(resolution, dtype=np.int64)
    for place, share in zip((0.02, 0.35, 0.65, 0.98), (0.25 - beyond, 0.25, 0.25, 0.25 + beyond), strict=True):
        users[int(place * resolution)] = round(n * share)
    held = Population(values=np.arange(resolution), users=users)
    estimates = protocol.simulate(held, np.random.default_rng(1), 1000)
    assert (rank_errors(protocol, users, estimates) <= protocol.rank_error(n)).mean() >= 0.95


@pytest.mark.parametrize("resolution", [50, 400])
def test_intervals_of_quantiles_cover(resolution: int) -> None:
    """In 95 % of runs or more; an interval half as wide would not."""
    n, runs = 5000, 600
    _, protocol = distribution(n=n, resolution=resolution)
    users = np.random.default_rng(2).multinomial(n, np.full(resolution, 1 / resolution))
    held = Population(values=np.arange(resolution), users=users)
    truth = np.searchsorted(np.cumsum(users), 0.5 * n)
    inside = {0.95: 0, 0.5: 0}
    for value in protocol.simulate(held, np.random.default_rng(8), runs):
        curve = Curve(protocol, Estimate(value=value, standard_error=protocol.standard_error(value, n), n=n))
        for confidence in inside:
            found = curve.quantile(0.5, confidence)
            inside[confidence] += (
                found.low <= protocol.domain.edges[truth] and found.high > protocol.domain.edges[truth]
            )
    assert inside[0.95] >= 0.93 * runs
    if resolution > 100:
        assert inside[0.5] < 0.75 * runs


def test_no_rank_is_off_by_more_than_all_of_them() -> None:
    assert [one.rank_error(1) for one in Distribution.examples()] == [1.0, 1.0, 1.0]
