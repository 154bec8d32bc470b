"""Every entry of every estimate by itself, at uneven data: worked out from the law of each person's message alone.

The suite of protocols looks at sums over entries; an error that is too small for one entry and too large for another passes it.
"""

import math
from collections.abc import Callable
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from oracles.chance import SIGNIFICANCE, p_mean, p_variance
from shuffledp.baselines.registry import protocols
from shuffledp.core.counts import Counts
from shuffledp.core.estimate import Estimate
from shuffledp.core.population import Population
from shuffledp.core.randomness import KeyedRandomness
from shuffledp.domains.cross_table import CrossTable
from shuffledp.domains.grouped_reals import GroupedReals
from shuffledp.domains.labels import Labels
from shuffledp.domains.reals import RealRange
from shuffledp.protocols.counting import Counting
from shuffledp.protocols.dummies import DummyCounts
from shuffledp.protocols.grouped import GroupedSummation
from shuffledp.protocols.histogram import Histogram
from shuffledp.protocols.one_message import OneMessage
from shuffledp.protocols.sampling import Sampleable, sampled_error
from shuffledp.protocols.summation import Summation
from shuffledp.protocols.survey import Asked
from shuffledp.protocols.survey_one import OneOfAll
from shuffledp.protocols.survey_table import JointTable
from shuffledp.randomizers.response import RandomizedResponse

Reals = NDArray[np.float64]
RUNS = 20_000
SEX, REGION = ("sex", Labels(("m", "f"))), ("region", Labels(("west", "east", "north")))
TABLE = CrossTable((SEX, REGION), Labels(("yes", "no", "rarely", "perhaps")))


def response(size: int, gamma: float) -> RandomizedResponse:
    return RandomizedResponse(size=size, gamma=gamma)


def means(low: float, high: float, total: Any) -> GroupedSummation:
    """On three steps, for groups of two columns."""
    return GroupedSummation(
        randomizer=response(24, 0.2), domain=GroupedReals((SEX, REGION), RealRange(low, high)), total=total
    )


def survey(low: float, high: float) -> JointTable:
    """Groups, a sum and a list, of different sizes."""
    asked = (
        Asked(name="by sex", protocol=GroupedSummation(
            randomizer=response(6, 0.2), domain=GroupedReals((SEX,), RealRange(low, high)), total="mean")),
        Asked(name="hours", protocol=Summation(randomizer=response(4, 0.2), low=low, high=high, total="sum"), weight=3),
        Asked(name="diet", protocol=Histogram(response(3, 0.2), Labels(("meat", "fish", "plants")))),
    )  # fmt: skip
    return JointTable(questions=asked)


LINEAR = [
    example
    for kind in protocols().values()
    for example in kind.examples()
    if isinstance(example, OneMessage) and not isinstance(example, OneOfAll) and example.alphabet < 5000
]
READ = [
    means(2.0, 7.0, "mean"), means(-5.0, -4.0, "mean"), means(2.0, 7.0, "sum"), means(-3.0, 1.0, "sum"), survey(1.0, 9.0),
    survey(-8.0, -2.0),
]  # fmt: skip


def name_of(protocol: Any) -> str:
    return f"{protocol.kind}, {protocol.alphabet} messages"


def crowd(protocol: OneMessage | DummyCounts, often: int = 1) -> Population:
    """Uneven numbers of people, few of the first value and many of the last, between the points of grids."""
    values = protocol.domain.clean(protocol.domain.samples()).values
    if isinstance(protocol.domain, RealRange):
        values = protocol.domain.low + np.array([0.03, 0.31, 0.84, 0.55]) * protocol.domain.span
    users = np.array([3, 11, 7, 26, 5, 14, 9, 17, 2, 8])
    return Population(values=values, users=often * np.resize(users, len(values)))


def rows(protocol: GroupedSummation | JointTable, often: int = 1) -> Population:
    """People in all groups, at uneven places of their ranges."""
    coins = np.random.default_rng(3)
    if isinstance(protocol, JointTable):
        asked = [one.by_one_message for one in protocol.questions]
        columns = [(rows(one, 1) if isinstance(one, GroupedSummation) else crowd(one)).values for one in asked]
        values = protocol.domain.joined([column[coins.integers(0, len(column), 40)] for column in columns])
    else:
        range_ = protocol.domain.value
        places = range_.low + range_.span * np.array([0.05, 0.4, 0.62, 0.9])
        pairs = [(group, place) for group in range(protocol.groups) for place in places]
        values = np.array(pairs, dtype=protocol.domain.dtype)
    return Population(values=values, users=often * coins.integers(1, 40, len(values)))


def symbols(protocol: Any, value: NDArray[Any]) -> list[tuple[Any, float]]:
    """What a value in an array of one is encoded as, and how often: by hand where it is rounded in a group."""
    if isinstance(protocol, JointTable):
        each = [symbols(one.protocol, protocol.domain.column(value, t)) for t, one in enumerate(protocol.questions)]
        return [
            (int(np.ravel_multi_index([symbol for symbol, _ in cell], protocol.shape)), math.prod(p for _, p in cell))
            for cell in product(*each)
        ]
    if not isinstance(protocol, GroupedSummation):
        return list(protocol.symbol_law(value))
    group, number = value[0]
    scaled = (number - protocol.domain.value.low) / protocol.domain.value.span * protocol.precision
    floor = min(math.floor(scaled), protocol.precision - 1)
    first = int(group) * (protocol.precision + 1) + floor
    return [(first, 1 - (scaled - floor)), (first + 1, scaled - floor)]


def law_of(protocol: Any, population: Population, j: int) -> Reals:
    """How likely each message is for the j-th value."""
    messages = np.arange(protocol.alphabet)
    some = symbols(protocol, population.values[j : j + 1])
    return np.asarray(sum(often * protocol.randomizer.probability(messages, symbol) for symbol, often in some))


def moments(protocol: OneMessage, population: Population) -> tuple[Reals, Reals]:
    """The mean of every entry and their covariances, by adding up what each person's message says."""
    n, nothing = population.n, np.zeros((1, protocol.alphabet), dtype=np.int64)
    base = protocol.debias(nothing, n)[0]
    says = protocol.debias(np.eye(protocol.alphabet, dtype=np.int64), n) - base
    mean, covariance = base.copy(), np.zeros((len(base), len(base)))
    for j, users in enumerate(population.users.tolist()):
        law = law_of(protocol, population, j)
        assert law.sum() == pytest.approx(1)
        mine = law @ says
        mean += users * mine
        covariance += users * ((says * law[:, None]).T @ says - np.outer(mine, mine))
    return mean, covariance


@pytest.mark.parametrize("protocol", LINEAR, ids=name_of)
def test_every_entry_is_unbiased_and_errs_as_it_says(protocol: OneMessage) -> None:
    population = crowd(protocol)
    n, truth = population.n, protocol.expected(population)
    mean, covariance = moments(protocol, population)
    bias, variance = protocol.bias(population), np.diag(covariance)
    assert mean == pytest.approx(truth + bias, abs=1e-9 * max(1, n))
    assert protocol.expected_error(population) == pytest.approx(float(variance.sum() + (bias**2).sum()), rel=1e-9)
    stated = protocol.standard_error(truth, n) ** 2
    if not bias.any():  # an error over all keys says nothing of one key
        assert (stated >= variance * (1 - 1e-9)).all()
        if not protocol.description.errors_are_bounds and protocol.kind not in ("text-frequencies", "heavy-hitters"):
            assert stated == pytest.approx(variance, rel=1e-9)
    if isinstance(protocol, Counting):
        assert protocol.variance(protocol.held(population).astype(float), n) == pytest.approx(variance, rel=1e-9)
    found = protocol.simulate(population, np.random.default_rng(5), RUNS)
    assert p_mean(found - mean) > SIGNIFICANCE
    for j in range(len(truth)):
        assert p_variance(found[:, [j]] - mean[j], variance[[j]]) > SIGNIFICANCE
        assert p_variance(found[:, [j]] - mean[j], 1.2 * variance[[j]]) < SIGNIFICANCE


def slopes_of(read: Callable[[Reals], Reals], truth: Reals, n: int) -> Reals:
    """How much each number that is read changes with each entry."""
    step = 1e-5 * n
    return np.array([(read(truth + step * one) - read(truth - step * one)) / (2 * step) for one in np.eye(len(truth))])


@pytest.mark.parametrize("protocol", READ, ids=lambda one: f"{one.kind}, {one.domain}"[:70])
def test_what_is_read_off_entries_errs_as_it_says(protocol: Any) -> None:
    """Means, sums and surveys: to first order, wherever the range begins and however uneven the groups are."""
    population = rows(protocol, 3000)
    n, truth = population.n, protocol.expected(population)
    mean, covariance = moments(protocol, population)
    assert mean == pytest.approx(truth, abs=1e-9 * n)

    def estimated(entries: Reals) -> Estimate:
        return Estimate(value=entries, standard_error=protocol.standard_error(entries, n), n=n)

    def varies(slopes: Reals) -> Reals:
        return np.asarray(np.einsum("ij,ik,kj->j", slopes, covariance, slopes))

    said = protocol.reading.of(estimated(truth))
    assert protocol.reading.exactly(truth) == pytest.approx(said.value, rel=1e-9)
    variance = varies(slopes_of(lambda entries: np.asarray(protocol.reading.of(estimated(entries)).value), truth, n))
    assert (said.standard_error**2 >= variance * (1 - 1e-5)).all()
    assert (said.standard_error**2 <= variance * 3).all()
    assert protocol.reading.beside(estimated(truth))  # how many users each group has
    for title, one in protocol.reading.beside(estimated(truth)).items():

        def users(entries: Reals, name: str = title) -> Reals:
            return np.asarray(protocol.reading.beside(estimated(entries))[name].value)

        beside = slopes_of(users, truth, n)
        assert one.standard_error**2 == pytest.approx(varies(beside), rel=1e-5)
    stated = protocol.reading.error(population)
    if isinstance(protocol, JointTable):
        variance = np.array([part.sum() for part in np.split(variance, [2, 3])])
    assert stated == pytest.approx(variance, rel=1e-4)


@pytest.mark.parametrize("protocol", READ, ids=lambda one: f"{one.kind}, {one.domain}"[:70])
@pytest.mark.parametrize("times", [1, 5])
def test_no_false_reports_move_what_is_read_by_more_than_is_stated(protocol: Any, times: int) -> None:
    """All ways to exchange one message for another, so many times; and the worst of them comes near."""
    population = rows(protocol, 200)
    law = sum(users * law_of(protocol, population, j) for j, users in enumerate(population.users.tolist()))
    counts = np.round(law).astype(np.int64)
    counts[0] += population.n - counts.sum()
    before = protocol.reading.of(protocol.estimate(Counts(counts)))
    coins = np.random.default_rng(1)
    pairs = [(int(a), int(b)) for a, b in coins.integers(0, protocol.alphabet, (1500, 2)) if a != b]
    moved = np.zeros(len(before.value))
    for a, b in pairs:
        other = counts.copy()
        other[[a, b]] += np.array([-times, times])
        after = protocol.reading.of(
            Estimate(value=protocol.debias(other, population.n), standard_error=before.value, n=population.n)
        )
        moved = np.maximum(moved, np.abs(after.value - before.value))
    assert (
        0.3 * protocol.reading.shift(before, times=times) <= moved.max() <= protocol.reading.shift(before, times=times)
    )


def test_the_margins_and_shares_of_an_uneven_table_are_those_of_its_cells() -> None:
    """Cell by cell: names, counts, and errors by the covariance matrix; no two columns have as many values."""
    protocol = Histogram(response(24, 0.3), TABLE)
    users = np.random.default_rng(2).integers(5_000, 90_000, 24)  # no labels are in the order of the alphabet
    n = int(users.sum())
    truth, covariance = users.astype(float), protocol.covariance(users.astype(float))
    found = protocol.reading.beside(Estimate(value=truth, standard_error=np.zeros(24), n=n))
    sexes, regions, values = ("m", "f"), ("west", "east", "north"), ("yes", "no", "rarely", "perhaps")
    cells = list(product(sexes, regions, values))
    columns = {"sex": 0, "region": 1, "value": 2}
    asked = {title.removeprefix("users by "): one for title, one in found.items() if title.startswith("users by ")}
    assert set(asked) == {"sex", "region", "value", "sex and region", "sex and value", "region and value"}
    for title, estimate in asked.items():
        kept = [columns[name] for name in title.split(" and ")]
        for name, value, error in zip(estimate.names, estimate.value, estimate.standard_error, strict=True):
            inside = np.array([", ".join(cell[j] for j in kept) == name for cell in cells], dtype=float)
            assert inside.sum() == 24 / len(estimate.names), name
            assert value == pytest.approx(inside @ truth)
            assert error**2 == pytest.approx(inside @ covariance @ inside, rel=1e-9)
    (within,) = (one for title, one in found.items() if not title.startswith("users by "))
    for cell, name, value, error in zip(cells, within.names, within.value, within.standard_error, strict=True):
        assert name == TABLE.names[cells.index(cell)]
        group = np.array([other[:2] == cell[:2] for other in cells], dtype=float)
        share = truth[cells.index(cell)] / (group @ truth)
        assert value == pytest.approx(share)
        weights = (np.array([other == cell for other in cells], dtype=float) - share * group) / (group @ truth)
        assert error**2 == pytest.approx(weights @ covariance @ weights, rel=1e-9)


@pytest.mark.parametrize("protocol", OneOfAll.examples(), ids=lambda one: ", ".join(q.name for q in one.questions))
def test_one_of_several_questions_errs_entry_by_entry_as_it_says(protocol: OneOfAll) -> None:
    """Simulated: no entry errs by more than is stated at the truth, and each question by what is forecast for these people."""
    coins = np.random.default_rng(8)
    parts = [crowd(one.by_one_message).values for one in protocol.questions]
    values = protocol.domain.joined([part[coins.integers(0, len(part), 12)] for part in parts])
    population = Population(values=values, users=coins.integers(20, 200, 12))
    truth = protocol.expected(population)
    error = protocol.simulate(population, np.random.default_rng(9), RUNS) - truth
    assert p_mean(error - protocol.bias(population)) > SIGNIFICANCE
    squared = np.square(error).mean(axis=0)
    assert (protocol.standard_error(truth, population.n) ** 2 >= 0.93 * squared).all()
    for part, forecast in zip(protocol.answers_of(squared), protocol.errors_for(population), strict=True):
        assert part.sum() == pytest.approx(forecast, rel=0.05)


@pytest.mark.parametrize("protocol", DummyCounts.examples(), ids=name_of)
def test_a_liar_with_as_many_messages_as_are_taken_moves_a_count_by_no_more_than_is_stated(
    protocol: DummyCounts,
) -> None:
    """All of them the worst one, in place of an honest user who sent one; each value's estimate in turn."""
    honest = crowd(protocol)
    counts = protocol.count(
        protocol.randomize(np.repeat(honest.values, honest.users), KeyedRandomness.seeded(2), first_row=0)
    ).values
    messages = np.eye(protocol.counters, dtype=np.int64)[:-1]
    before = protocol.debias(counts, honest.n)
    moved = [
        np.abs(protocol.debias(counts - messages[gone] + protocol.most_messages * sent, honest.n) - before).max()
        for gone in np.flatnonzero(counts[:-1])
        for sent in messages
    ]
    assert 0.5 * protocol.max_shift(honest.n) <= max(moved) <= protocol.max_shift(honest.n) * (1 + 1e-9)
    assert protocol.tallied(counts[:-1], honest.n).values.tolist() == counts.tolist()


@pytest.mark.parametrize("protocol", DummyCounts.examples(), ids=name_of)
def test_what_dummies_and_true_messages_show_by_chance_is_counted_for_a_threshold(protocol: DummyCounts) -> None:
    """Of a value that nobody holds, n true messages belong to it with one chance, D dummies with another: at most so often."""
    honest = crowd(protocol, 30)
    counts = protocol.count(
        protocol.randomize(np.repeat(honest.values, honest.users), KeyedRandomness.seeded(3), first_row=0)
    )
    n, dummies, size = honest.n, int(counts.values[:-1].sum()) - honest.n, len(protocol.names)
    structure = protocol.randomizer.structure
    taken, share = structure.shared / structure.choices, float(structure.share)
    statistics: Any = protocol.reading.statistics(protocol.estimate(counts), counts)
    for allowed in (0.3, 2.0):
        found = statistics.threshold(allowed)
        total = round(found.estimate * (1 - taken) + n * taken + dummies * share)
        true_ones, others = np.arange(n + 1), binom.sf(total - 1 - np.arange(n + 1), dummies, share)
        exact = size * float(binom.pmf(true_ones, n, taken) @ others)
        assert exact <= found.false_positives * (1 + 1e-9) <= allowed * (1 + 1e-9)
        if not taken:
            assert exact == pytest.approx(found.false_positives, rel=1e-6)


SAMPLED = [one for one in LINEAR if isinstance(one, Sampleable) and one.kind != "text-frequencies"]
"""Of texts the error depends on who shares a point."""


@pytest.mark.parametrize("protocol", SAMPLED, ids=name_of)
@pytest.mark.parametrize(("n", "asked"), [(5, 2), (6, 5), (7, 1)])
def test_asking_a_part_of_few_people_errs_as_forecast(protocol: Any, n: int, asked: int) -> None:
    """All parts of the people, one after the other: the error of their answer as one about everybody."""
    worst = protocol.worst_sampled(n, 1 - asked / n)
    people = np.repeat(np.arange(len(worst.values)), worst.users)
    assert len(people) == n
    truth, scale = protocol.expected(worst), 1.0 if protocol.averages else n / asked
    squared = []
    for chosen in combinations(people.tolist(), asked):
        some = Population(values=worst.values[list(chosen)], users=np.ones(asked, dtype=np.int64))
        off = float(np.square(scale * protocol.expected(some) - truth).sum())
        squared.append(scale**2 * protocol.expected_error(some) + off)
    assert sampled_error(protocol, asked, n) == pytest.approx(np.mean(squared), rel=1e-9)
