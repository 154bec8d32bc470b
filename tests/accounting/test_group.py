"""A person with several reports: group privacy (tests/specification/test_claims.py has the truth)."""

import importlib
import math
from fractions import Fraction

import pytest

from shuffledp import InvalidInput, NoClaim, RandomizedResponse, account
from shuffledp.accounting.account import bound_named
from shuffledp.accounting.group import group


def test_one_row_is_the_plain_guarantee() -> None:
    randomizer = RandomizedResponse(size=5, epsilon0=2.0)
    plain = account(randomizer, n=10**4, delta=1e-6).epsilon
    assert plain <= group(randomizer, n=10**4, delta=1e-6, rows=1).epsilon <= plain * 1.002


def test_more_rows_cost_more_and_never_more_than_locally() -> None:
    randomizer = RandomizedResponse(size=5, epsilon0=2.0)
    found = [group(randomizer, n=10**4, delta=1e-6, rows=rows).epsilon for rows in (1, 2, 5, 20)]
    assert found == sorted(found)
    assert found[1] > 2 * found[0] * 0.999
    assert group(randomizer, n=30, delta=1e-9, rows=3).epsilon <= 6.0 + 1e-12
    with pytest.raises(InvalidInput):
        group(randomizer, n=30, delta=1e-9, rows=0)


@pytest.mark.parametrize("rows", [2, 3, 10])
@pytest.mark.parametrize("n", [10**3, 10**5])
def test_the_groups_delta_has_every_factor(n: int, rows: int) -> None:
    """With e of one report: d (1 + e^e + ... + e^((m - 1) e)) is at most delta, and no longer at an e that is 0.3 % smaller."""
    randomizer, delta = RandomizedResponse(size=5, epsilon0=2.0), 1e-6
    claim = group(randomizer, n=n, delta=delta, rows=rows)
    assert (claim.delta, claim.n) == (delta, n)

    def grown(epsilon: float) -> float:
        return account(randomizer, n=n, epsilon=epsilon).delta * math.fsum(math.exp(i * epsilon) for i in range(rows))

    assert grown(claim.epsilon / rows) <= delta * (1 + 1e-9)
    assert grown(claim.epsilon / rows * 0.997) > delta


def test_the_product_is_rounded_up(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("shuffledp.accounting.group")
    for one in (0.1, 0.3, 1 / 3, 0.7000000000000001):
        monkeypatch.setattr(module, "first_real", lambda *_, one=one, **__: one)
        for rows in (1, 3, 7, 10):
            found = group(RandomizedResponse(size=5, epsilon0=2.0), n=10**4, delta=1e-6, rows=rows).epsilon
            assert Fraction(one) * rows <= Fraction(found) <= Fraction(one) * rows * (1 + Fraction(1, 2**51))


@pytest.mark.parametrize("bound", ["numeric", "bennett", "hoeffding", "closed-form"])
@pytest.mark.parametrize("rows", [1, 3])
def test_the_bound_that_is_named_is_the_one_that_proves_it(bound: str, rows: int) -> None:
    """Each has other epsilons than the best one; what is asked outside a bound's regime is never granted."""
    randomizer, n, delta = RandomizedResponse(size=4, epsilon0=1.0), 10**6, 1e-6
    claim = group(randomizer, n=n, delta=delta, rows=rows, bound=bound)
    assert claim.bound.startswith(bound)
    assert claim.reference == bound_named(bound).reference
    one = claim.epsilon / rows
    grown = delta / math.fsum(math.exp(i * one) for i in range(rows))
    expected = account(randomizer, n=n, delta=grown, bound=bound).epsilon
    assert expected * (1 - 1e-9) <= one <= expected * 1.0011


def test_a_bound_that_says_nothing_here_grants_nothing() -> None:
    """Theorem 5.3 needs more users: no epsilon is better than the local one."""
    randomizer = RandomizedResponse(size=4, epsilon0=8.0)
    with pytest.raises(NoClaim):
        account(randomizer, n=100, delta=1e-6, bound="erlingsson")
    assert group(randomizer, n=100, delta=1e-6, rows=2, bound="erlingsson").epsilon >= 16.0
