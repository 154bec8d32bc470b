"""Thresholds for a stated number of false positives: exact, the least that will do, and kept in simulated runs."""

import numpy as np
import pytest
from scipy.stats import binom, norm

from shuffledp import InvalidInput, plan
from shuffledp.protocols.membership import Membership

LAWS = [
    (Membership(0.94, 1 / 1597), 10**6),
    (Membership(0.6, 0.2), 100),
    (Membership(0.5, 0.003), 10**4),
    (Membership(0.9, 0.3), 10**9),
]


@pytest.mark.parametrize(("law", "n"), LAWS)
@pytest.mark.parametrize(("values", "wanted"), [(1, 0.5), (10**6, 1.0), (10**6, 1e-6), (10, 4.0)])
def test_a_threshold_is_the_least_that_few_enough_reach(law: Membership, n: int, values: int, wanted: float) -> None:
    found = law.threshold(n, values, wanted)
    total = round(found.estimate * law.gap + n * law.other)
    assert law.unbiased(np.array(total), n) == found.estimate
    exact = values * binom.sf(total - 1, n, law.other)
    assert found.false_positives == pytest.approx(exact, rel=1e-6)
    assert exact <= wanted * (1 + 1e-9)
    if total > np.ceil(n * law.other):
        assert values * binom.sf(total - 2, n, law.other) > wanted


def test_a_normal_tail_would_let_too_many_through() -> None:
    law, n, values = Membership(0.6, 1 / 500), 10**4, 10**6
    found = law.threshold(n, values, 1.0)
    normal = norm.isf(1 / values) * float(np.sqrt(law.variance(np.array([0.0]), n)[0]))
    assert normal < found.estimate
    total = np.ceil(normal * law.gap + n * law.other)
    assert values * binom.sf(total - 1, n, law.other) > 3


def test_few_enough_are_found_by_chance() -> None:
    """A thousand values that nobody holds, 2,000 times: as many as stated, and half as many would be noticed."""
    law, n = Membership(0.7, 0.01), 10_000
    found = law.threshold(n, 1000, 1.0)
    drawn = law.drawn(np.zeros((2000, 1000), dtype=np.int64), n, np.random.default_rng(1))
    often = (law.unbiased(drawn, n) >= found.estimate).sum(axis=1).mean()
    assert often == pytest.approx(found.false_positives, abs=0.1)
    assert found.false_positives > 0.3


@pytest.mark.parametrize("wrong", [0.0, -1.0, float("nan"), float("inf")])
def test_a_number_of_false_positives_must_be_positive(wrong: float) -> None:
    with pytest.raises(InvalidInput, match="expected number of false positives"):
        Membership(0.9, 0.1).threshold(100, 5, wrong)


def test_histograms_have_thresholds_too() -> None:
    for size, kind in ((16, "histogram"), (5000, "frequencies")):
        found = plan("histogram", n=10**4, epsilon=1.0, delta=1e-6, size=size, objective="share")
        assert found.protocol.kind == kind
        counts = found.protocol.simulate(found.protocol.worst(10**4), np.random.default_rng(1), 1)[0]
        from shuffledp.core.estimate import Estimate

        estimate = Estimate(value=counts, standard_error=np.ones(size), n=10**4, names=found.protocol.names)
        statistics = found.protocol.reading.statistics(estimate)
        assert statistics is not None
        above = np.flatnonzero(counts >= statistics.threshold(0.001).estimate)
        assert above.tolist() == [0]
