"""What is read off a histogram: unbiased where it should be, exact variances, checked against the covariance matrix."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp import Histogram, InvalidInput, RandomizedResponse, Statistics
from shuffledp.core.counts import Counts
from shuffledp.core.estimate import Estimate

PROTOCOL = Histogram(RandomizedResponse(size=6, gamma=0.1))


def statistics(*counts: int) -> Statistics:
    return Statistics(PROTOCOL, PROTOCOL.estimate(Counts(np.array(counts, dtype=np.int64))))


@given(
    st.lists(st.integers(0, 1000), min_size=6, max_size=6).filter(lambda x: sum(x) > 10),
    st.integers(0, 5),
    st.integers(0, 5),
)
def test_a_range_has_the_variance_of_its_sum(users: list[int], one: int, other: int) -> None:
    """At the true histogram: the closed form is the quadratic form of the covariance matrix."""
    first, last = min(one, other), max(one, other)
    exact = Estimate(value=np.array(users, dtype=float), standard_error=np.zeros(6), n=sum(users))
    found = Statistics(PROTOCOL, exact).in_range(first, last)
    weights = np.zeros(6)
    weights[first : last + 1] = 1
    covariance = PROTOCOL.covariance(np.array(users, dtype=float))
    assert found.value[0] == pytest.approx(weights @ users)
    assert found.standard_error[0] ** 2 == pytest.approx(weights @ covariance @ weights, rel=1e-9, abs=1e-6)


def test_cumulative_counts_end_at_n() -> None:
    found = statistics(100, 200, 300, 50, 25, 325)
    below = found.cumulative()
    assert below.value[-1] == 1000
    assert below.standard_error[-1] == pytest.approx(0, abs=1e-6)
    assert below.value[2] == pytest.approx(found.in_range(0, 2).value[0])
    assert below.standard_error[2] == pytest.approx(found.in_range(0, 2).standard_error[0])


def test_frequencies_are_shares() -> None:
    found = statistics(100, 200, 300, 50, 25, 325)
    assert found.frequencies().value.sum() == pytest.approx(1)
    assert found.frequencies().standard_error[0] == pytest.approx(found.counts.standard_error[0] / 1000)


def test_quantiles_and_their_interval() -> None:
    found = statistics(1000, 2000, 3000, 3000, 600, 400)
    at, low, high = found.quantile(0.5)
    assert at == 2
    assert low <= at <= high
    assert found.quantile(0.3, 0.999)[1:] == (1, 2)  # 30 % is reached just where bin 1 ends: it could be either
    assert statistics(10, 0, 0, 0, 0, 990).quantile(0.5)[0] == 5


def test_quantile_intervals_cover() -> None:
    """The true median bin is inside the 95 % interval in at least 93 % of 2,000 runs."""
    users = np.array([200, 200, 95, 10, 200, 295])
    counts = PROTOCOL.simulated_counts(np.tile(users, (2000, 1)), np.random.default_rng(1))
    inside = 0
    for row in counts:
        _, low, high = Statistics(PROTOCOL, PROTOCOL.estimate(Counts(row))).quantile(0.5)
        inside += low <= 3 <= high
    assert inside >= 0.93 * 2000


def test_quantile_intervals_cover_where_the_curve_stays_just_below() -> None:
    """Hardly anybody is between two far ends: some lower limit is too high by chance, which must not rule out all after it."""
    size, n = 100, 2000
    protocol = Histogram(RandomizedResponse(size=size, gamma=0.7))
    users = np.zeros(size, dtype=np.int64)
    users[0], users[-1] = n // 2 - 10, n // 2 + 10  # so that the median is in the last bin
    counts = protocol.simulated_counts(np.tile(users, (1000, 1)), np.random.default_rng(1))
    inside, once_above = 0, 0
    for row in counts:
        found = Statistics(protocol, protocol.estimate(Counts(row)))
        inside += found.quantile(0.5)[2] == size - 1
        once_above += not (found.cumulative().interval(0.95)[0][:-1] >= n / 2).any()
    assert inside >= 0.93 * 1000
    assert once_above < 0.9 * 1000  # as the running maximum of the limits would have it


def test_largest_bins() -> None:
    assert statistics(5, 80, 3, 90, 80, 1).top(3).tolist() == [3, 1, 4]


@given(st.lists(st.integers(0, 500), min_size=6, max_size=6).filter(any))
def test_projection_is_the_nearest_possible_histogram(counts: list[int]) -> None:
    found = statistics(*counts)
    raw, near = found.counts.value, found.projected()
    assert (near >= 0).all()
    assert near.sum() == pytest.approx(sum(counts))
    # optimality: every positive entry moved by the same amount, and every zero one by at least that much
    shift = (raw - near)[near > 0]
    assert np.allclose(shift, shift[0])
    assert ((raw - near)[near == 0] <= shift[0] + 1e-9).all()
    assert (found.counts.value == raw).all()


@pytest.mark.parametrize(
    "wrong", [lambda s: s.in_range(3, 2), lambda s: s.in_range(0, 6), lambda s: s.top(0), lambda s: s.quantile(1.5)]
)
def test_bad_requests(wrong: object) -> None:
    with pytest.raises(InvalidInput):
        wrong(statistics(1, 2, 3, 4, 5, 6))  # type: ignore[operator]
