"""What is read off a histogram: unbiased where it should be, exact variances, checked against the covariance matrix."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp import Histogram, InvalidInput, RandomizedResponse, Statistics
from shuffledp.core.counts import Counts
from shuffledp.core.estimate import Estimate
from shuffledp.protocols.bins import Bins

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
    counts = PROTOCOL.simulate(np.tile(users, (2000, 1)), np.random.default_rng(1))
    inside = 0
    for row in counts:
        _, low, high = Statistics(PROTOCOL, PROTOCOL.estimate(Counts(row))).quantile(0.5)
        inside += low <= 3 <= high
    assert inside >= 0.93 * 2000


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


def test_bins() -> None:
    labelled = Bins(size=3, labels=("a", "b", "c"))
    assert labelled.encode(["c", "a"]).tolist() == [2, 0]
    assert labelled.index("b") == 1
    numbers = Bins(size=4, low=-1.0, high=1.0)
    assert numbers.encode([-1.0, -0.5, 0.999, 1.0]).tolist() == [0, 1, 3, 3]
    hundred = Bins(size=100, low=0.0, high=1.0)
    assert hundred.encode([0.29, 0.57, 0.58, 0.0, 1.0]).tolist() == [29, 57, 58, 0, 99]
    assert (hundred.encode(hundred.edges[:-1]) == np.arange(100)).all()
    assert Bins(size=22, low=0.0, high=22.0).encode(np.arange(22)).tolist() == list(range(22))
    assert len(set(Bins(size=40, low=1e6, high=1e6 + 1).names)) == 40
    for size in range(2, 300):
        assert Bins(size=size, low=0.1, high=1.1).encode([0.1, 1.1]).tolist() == [0, size - 1]
    assert Bins(size=3).encode(np.array([2, 0])).tolist() == [2, 0]
    assert Bins(size=3).names == ("0", "1", "2")
    assert Bins(size=3).edges.tolist() == [-0.5, 0.5, 1.5, 2.5]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Bins(size=2, labels=("a", "a")),
        lambda: Bins(size=3, labels=("a", "b")),
        lambda: Bins(size=2, low=0.0),
        lambda: Bins(size=2, labels=("a", "b"), low=0.0, high=1.0),
        lambda: Bins(size=2, low=1.0, high=0.0),
        lambda: Bins(size=2, labels=("a", "b")).index("secret"),
        lambda: Bins(size=2, labels=("a", "b")).encode(["secret"]),
        lambda: Bins(size=2, low=0.0, high=1.0).encode([77.0]),
        lambda: Bins(size=2, low=0.0, high=1.0).encode([np.nan]),
        lambda: Bins(size=2).encode(np.array([77])),
        lambda: Histogram(RandomizedResponse(size=3, gamma=0.1), Bins(size=4)),
    ],
)
def test_bad_bins(wrong: object) -> None:
    with pytest.raises(InvalidInput) as refused:
        wrong()  # type: ignore[operator]
    assert "77" not in str(refused.value)
