"""Plans that the tests of engines share."""

import pytest

from shuffledp import Plan, plan


@pytest.fixture(scope="session")
def mean() -> Plan:
    return plan("mean", n=1000, epsilon=1.0, delta=1e-6, low=0.0, high=10.0)


@pytest.fixture(scope="session")
def histogram() -> Plan:
    return plan("histogram", n=1000, epsilon=1.0, delta=1e-6, labels=["red", "green", "blue"])


@pytest.fixture(scope="session")
def query() -> Plan:
    return plan("query", n=1000, epsilon=1.0, delta=1e-6)
