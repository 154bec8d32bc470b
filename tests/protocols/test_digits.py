"""Sums from digits among dummies: exactly unbiased, with the error that is stated, and refused where they make no sense."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import poisson

from oracles.chance import p_variance
from oracles.scale import full
from shuffledp import InvalidInput, KeyedRandomness, plan
from shuffledp.core.estimate import Estimate
from shuffledp.core.population import Population
from shuffledp.domains.grouped_reals import GroupedReals
from shuffledp.domains.labels import Labels
from shuffledp.domains.reals import RealRange
from shuffledp.protocols.digit_sums import DigitSums
from shuffledp.protocols.grouped_digits import GroupedDigits
from shuffledp.randomizers.digit_by_digit import Digits


def test_the_estimate_is_exactly_unbiased_with_the_exact_variance() -> None:
    """Two users on the grid of 4 points and all dummies that can happen; the rest of Poisson's law is too small to see."""
    rates, n, most = (0.6, 0.3), 2, 16
    protocol = DigitSums(randomizer=Digits(base=2, dummies=rates), low=-1.0, high=2.0)
    values = np.array([-1.0, 1.5])
    laws = [poisson.pmf(np.arange(most), n * rate / 2) for rate in rates]
    dummies = np.array(list(product(range(most), repeat=4)))
    chances = np.prod([laws[j // 2][dummies[:, j]] for j in range(4)], axis=0)
    mean = square = total = 0.0
    for up in (0, 1):  # 1.5 is 2.5 steps of the grid
        symbols = np.array([0, 2 + up])
        counts = dummies.copy()
        for j in range(2):
            for digit in symbols >> j & 1:
                counts[:, 2 * j + digit] += 1
        found = protocol.debias(np.column_stack([counts, np.full(len(counts), n)]), n)[:, 0]
        mean += float(chances @ found) / 2
        square += float(chances @ (found - values.sum()) ** 2) / 2
        total += chances.sum() / 2
    assert total == pytest.approx(1, abs=1e-12)
    assert mean == pytest.approx(values.sum(), abs=1e-9)
    stated = protocol.expected_error(Population(values=values, users=np.array([1, 1])))
    assert square == pytest.approx(stated, rel=1e-9)
    noise = 9 * sum(n * rate * (2**j / 3) ** 2 * (2**2 - 1) / 12 for j, rate in enumerate(rates))
    assert stated == pytest.approx(noise + 9 * 0.5 * 0.5 / 9, rel=1e-12)


def test_counting_from_the_middle_of_the_dummies_that_were_sent_is_better() -> None:
    """Subtracting those expected has the variance of the squares of what dummies say, not of their distance from the middle."""
    protocol, n, runs = DigitSums(randomizer=Digits(base=12, dummies=(0.5,))), 1000, 20_000
    generator = np.random.default_rng(5)
    dummies = protocol.drawn_dummies(n, generator, runs)
    expected = dummies @ np.arange(12) / 11 - n * 0.5 / 2
    centred = protocol.from_the_middle(dummies)[:, 0]
    assert np.square(centred).mean() == pytest.approx(n * protocol.spread_of_digits, rel=0.05)
    assert np.square(expected).mean() > 3 * n * protocol.spread_of_digits


def test_messages_do_not_tell_by_their_order_which_are_true() -> None:
    protocol = DigitSums.examples()[1]
    sent = protocol.randomize(np.full(50, 2.0), KeyedRandomness.seeded(1), first_row=0)
    for messages in protocol.by_user(sent, 50):
        assert messages == sorted(messages)
        assert 2 <= len(messages) <= protocol.most_messages


def test_messages_that_carry_groups_are_no_sum() -> None:
    with pytest.raises(InvalidInput, match="carry no group"):
        DigitSums(randomizer=Digits(base=2, dummies=(0.5,), groups=2))


PLANNED = plan("mean", n=4000, epsilon=1.0, delta=1e-6, low=-10.0, high=40.0, messages_per_user=2.5)
GROUPED = GroupedDigits(
    randomizer=Digits(base=4, dummies=(1.2, 0.3), groups=3),
    domain=GroupedReals((("g", Labels(("a", "b", "c"))),), RealRange(-10.0, 40.0)),
)


def test_whole_runs_err_as_forecast_at_the_worst_data() -> None:
    """Values rounded, digits and dummies sent, counted, estimated; and estimates that forget the middle are noticed."""
    protocol, n, runs = PLANNED.protocol, PLANNED.min_batch, full(400, 2000)
    assert isinstance(protocol, DigitSums)
    errors, forgetful = np.empty(runs), np.empty(runs)
    values, some = np.full(n, protocol.worst_value), 50
    dummies = n * np.array(protocol.randomizer.dummies) @ protocol.weights * (protocol.randomizer.base - 1) / 2
    said = np.outer(protocol.weights, np.arange(protocol.randomizer.base)).ravel()
    for first in range(0, runs, some):
        sent = protocol.randomize(np.tile(values, some), KeyedRandomness.seeded(4), first_row=n * first)
        ends = np.cumsum(sent.each)[n - 1 :: n]
        for j, messages in enumerate(np.split(sent.values, ends[:-1])):
            often = np.bincount(messages, minlength=protocol.alphabet)
            counts = protocol.tallied(often, n).values
            errors[first + j] = protocol.debias(counts, n)[0] - protocol.worst_value
            forgetful[first + j] = protocol.low + 50 * (often @ said - dummies) / n - protocol.worst_value
    mean_squared = protocol.mean_squared_error(n)
    assert p_variance(errors, mean_squared) > 1e-9
    assert p_variance(forgetful, mean_squared) < 1e-9  # it subtracts the dummies that are expected
    assert np.square(errors).mean() == pytest.approx(mean_squared, rel=6 * (2 / runs) ** 0.5)


def test_simulated_runs_agree_with_the_forecast_within_2_percent() -> None:
    """10,000 of them: the error's error is 0.7 % of it."""
    protocol, n = PLANNED.protocol, PLANNED.min_batch
    found = protocol.simulate(protocol.worst(n), np.random.default_rng(3), 10_000)
    assert np.sqrt(np.square(found - protocol.expected(protocol.worst(n))).mean()) == pytest.approx(
        PLANNED.rmse, rel=0.02
    )


def test_intervals_cover_the_truth_at_the_stated_rate() -> None:
    """Exact standard errors, normal by the number of dummies: at the worst data about 95 %, elsewhere no less."""
    protocol, n = PLANNED.protocol, PLANNED.min_batch
    for values in (np.array([protocol.domain.samples()[0]]), protocol.worst(n).values):
        population = Population(values=values, users=np.array([n]))
        found = protocol.simulate(population, np.random.default_rng(9), 20_000)
        inside = np.abs(found - protocol.expected(population)) <= 1.96 * protocol.standard_error(found, n)
        assert 0.943 < inside.mean() < (0.957 if values[0] == protocol.worst(n).values[0] else 1.0)


def held() -> Population:
    values = np.array([(0, 3.0), (0, 31.5), (1, 40.0), (1, -10.0), (2, 11.1)], dtype=GROUPED.domain.dtype)
    return Population(values=values, users=np.array([700, 400, 500, 300, 100]))


def test_users_and_sums_of_groups_have_the_stated_covariance() -> None:
    """Also of both together, on which the error of a mean depends."""
    population = held()
    n, moments = population.n, GROUPED.moments_of(population)
    found = GROUPED.simulate(population, np.random.default_rng(2), 40_000) - GROUPED.expected(population)
    users, sums = found[:, :3], found[:, 3:]
    for a, b in ((1.0, 0.0), (0.0, 1.0), (-0.3, 1.0), (-0.9, 1.0)):
        off = a * users + b * sums
        stated = np.broadcast_to(GROUPED.covariance((a, b), (a, b), moments, n), 3)
        assert p_variance(off, stated) > 1e-9
        assert p_variance(off, 1.06 * stated) < 1e-9


def test_intervals_of_group_means_cover_the_truth() -> None:
    population, inside = held(), []
    truth = GROUPED.reading.exactly(GROUPED.expected(population))
    for value in GROUPED.simulate(population, np.random.default_rng(7), full(400, 3000)):
        estimate = Estimate(
            value=value, standard_error=GROUPED.standard_error(value, population.n), n=population.n, names=GROUPED.names
        )
        low, high = GROUPED.reading.of(estimate).interval(0.95)
        inside.append((low <= truth) & (truth <= high))
    assert (np.mean(inside, axis=0)[:2] > 0.92).all()
