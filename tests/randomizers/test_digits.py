"""Digits and dummies: sent as stated, hidden as claimed where all that can happen can be listed, and a wrong law is noticed."""

from itertools import product
from math import exp

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import poisson

from shuffledp import InvalidInput, KeyedRandomness, account
from shuffledp.accounting.account import bound_named
from shuffledp.core.blanket import Blanket
from shuffledp.randomizers.digit_by_digit import Digits
from shuffledp.randomizers.poisson import capped_poisson

Reals = NDArray[np.float64]
N, MOST = 3, 33
"""Users, and dummies of one symbol that are listed."""
RATES = (7.5, 5.0)


def noise(rate: float) -> Reals:
    """How many dummies of one of two symbols N users send: Poisson's law, up to where next to nothing is left."""
    return np.asarray(poisson.pmf(np.arange(MOST), N * rate / 2))


def seen(rates: tuple[float, ...], values: tuple[int, ...]) -> Reals:
    """How likely all counts are if users hold these numbers of two digits in base 2: symbol by symbol, digit by digit."""
    laws = []
    for j, rate in enumerate(rates):
        ones = sum(value >> j & 1 for value in values)
        for true in (N - ones, ones):
            law = np.zeros(MOST + N)
            law[true : true + MOST] = noise(rate)
            laws.append(law)
    found = laws[0]
    for law in laws[1:]:
        found = np.multiply.outer(found, law)
    return found


def true_delta(rates: tuple[float, ...], epsilon: float) -> float:
    """Over all datasets of N users and their neighbours: the others are listed up to their order."""
    worst = 0.0
    for others in {tuple(sorted(held)) for held in product(range(4), repeat=N - 1)}:
        laws = {x: seen(rates, (x, *others)) for x in range(4)}
        for x, z in product(range(4), repeat=2):
            worst = max(worst, float(np.maximum(laws[x] - exp(epsilon) * laws[z], 0).sum()))
    return worst


def claimed(blanket: Blanket, epsilon: float) -> float:
    claim = bound_named("best").claim(blanket, n=N, epsilon=epsilon, side="upper")
    assert claim.regime is None
    return exp(claim.log_delta.upper)


def test_three_users_of_two_digits_are_hidden_as_claimed() -> None:
    """All datasets, the dummies that are not listed charged; and a claim for 2 % more dummies would not cover the truth."""
    epsilon, left = 1.0, 4 * max(1 - noise(rate).sum() for rate in RATES)
    truth = true_delta(RATES, epsilon)
    assert left * (1 + exp(epsilon)) < 1e-4 * truth
    found = claimed(Digits(base=2, dummies=RATES).blanket(), epsilon)
    assert truth <= found <= 1.01 * truth + left * (1 + exp(epsilon))
    assert claimed(Digits(base=2, dummies=(1.02 * RATES[0], 1.02 * RATES[1])).blanket(), epsilon) < truth
    alone = claimed(Digits(base=2, dummies=RATES[:1]).blanket(), epsilon)
    assert alone < truth  # whoever forgets a digit claims too much privacy


def test_a_user_sends_each_digit_and_its_dummies() -> None:
    randomizer = Digits(base=3, dummies=(2.0, 0.5), groups=2)
    symbols = np.arange(18).repeat(4000)
    sent = randomizer.randomize(symbols, KeyedRandomness.seeded(3), first_row=5)
    rows = np.repeat(np.arange(len(symbols)), sent.each)
    low = sent.values < 6
    assert np.bincount(rows[low], minlength=len(symbols)).mean() == pytest.approx(3.0, rel=0.03)
    assert np.bincount(rows[~low], minlength=len(symbols)).mean() == pytest.approx(1.5, rel=0.03)
    starts = np.cumsum(sent.each) - sent.each
    group, number = np.divmod(symbols, 9)
    assert (sent.values[starts] == 3 * group + number % 3).all()  # the true message of the first digit comes first
    for symbol in range(18):
        often = np.bincount(sent.values[np.isin(rows, np.flatnonzero(symbols == symbol))], minlength=12) / 4000
        mean = randomizer.true_law(np.array([symbol])) + randomizer.attacker_view().dummies_of_each()
        assert np.abs(often - mean).max() < 7 * np.sqrt(1 / 4000)
    assert sent.each.max() <= 2 + randomizer.most
    assert randomizer.most == sum(capped_poisson(rate).most for rate in (2.0, 0.5))


def test_digits_have_words_of_their_own() -> None:
    """With the same words for both, users with a dummy of one digit would have one of the other."""
    randomizer = Digits(base=2, dummies=(0.5, 0.5))
    sent = randomizer.randomize(np.zeros(20_000, dtype=int), KeyedRandomness.seeded(1), first_row=0)
    rows = np.repeat(np.arange(20_000), sent.each)
    first, second = (np.bincount(rows[(sent.values < 2) == low], minlength=20_000) for low in (True, False))
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.05


def test_one_digit_is_dummies_with_messages_of_their_own() -> None:
    one = Digits(base=12, dummies=(0.05,))
    assert one.blanket() == one.parts[0].blanket()
    found = account(Digits(base=12, dummies=(0.0064562, 0.00053804)), n=10**6, delta=1e-6)
    assert found.epsilon == pytest.approx(1.0, rel=2e-3)


@pytest.mark.parametrize(
    ("given", "why"),
    [({"base": 1}, "from 2"), ({"base": 2.5}, "whole number"), ({"dummies": ()}, "at least one digit"),
     ({"dummies": (0.1,) * 31}, "2\\^30 levels"), ({"dummies": (0.0,)}, "from 1e-9"), ({"groups": 0}, "groups"),
     ({"groups": 2**31, "base": 3}, "32 bits")],
)  # fmt: skip
def test_what_cannot_be_is_refused(given: dict[str, object], why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        Digits(**({"base": 2, "dummies": (0.5,)} | given))  # type: ignore[arg-type]
