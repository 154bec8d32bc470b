"""Dummies: sampled exactly, hidden as claimed wherever all that can happen can be listed, and a wrong law is noticed."""

import math
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from itertools import pairwise, permutations, product
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.signal import convolve
from scipy.stats import chisquare, poisson

from shuffledp import InvalidInput, KeyedRandomness, NoClaim, account, calibrate
from shuffledp.accounting.account import bound_named
from shuffledp.accounting.composition import Collection, compose
from shuffledp.core.randomness import DUMMIES, Lane
from shuffledp.randomizers.dummies import Dummies, DummyBlanket
from shuffledp.randomizers.identity import Identity
from shuffledp.randomizers.poisson import capped_poisson
from shuffledp.randomizers.structure import Structure
from shuffledp.randomizers.structures import AffineSpace

SIGNIFICANCE = 1e-9


# How many dummies


@pytest.mark.parametrize("mean", [1e-9, 0.05, 0.25, 1.0, 3.1, 100.0, 1000.0])
def test_the_number_of_dummies_is_as_close_to_poisson_as_is_charged(mean: float) -> None:
    """At 120 digits: thresholds are rounded down, what is left is the largest number's, and the distance is not understated."""
    found = capped_poisson(mean)
    with mp.workdps(120):
        chances = [mp.exp(-mp.mpf(mean))]
        for k in range(1, found.most + 400):
            chances.append(chances[-1] * mp.mpf(mean) / k)
        below = mp.mpf(0)
        for k, threshold in enumerate(found.thresholds):
            below += chances[k]
            assert threshold == int(mp.floor(below * 2**128))
        ends = [0, *found.thresholds, 2**128]
        ours = [mp.mpf(b - a) / 2**128 for a, b in pairwise(ends)]
        assert len(ours) == found.most + 1
        distance = (
            mp.fsum(abs(a - b) for a, b in zip(ours, chances, strict=False)) + mp.fsum(chances[len(ours) :])
        ) / 2
        assert distance <= found.distance <= distance * (1 + mp.mpf(10) ** -12)
        assert found.distance < 2.0**-118


class Dealt:
    """Words that were chosen beforehand."""

    private = False

    def __init__(self, numbers: list[int]) -> None:
        self._numbers = numbers

    def reserve(self) -> None:
        """They are not for releases."""

    def stream(self, first_row: int, count: int, lane: Lane) -> NDArray[np.uint8]:
        assert lane == DUMMIES
        return np.array([number >> 120 for number in self._numbers[first_row : first_row + count]], dtype=np.uint8)

    def blocks(self, rows: NDArray[np.uint64], draw: int) -> NDArray[np.uint64]:
        assert draw == 1 << 35
        chosen = [self._numbers[row] for row in rows.tolist()]
        high, low = ([n >> 64 << 8 & 2**64 - 1 for n in chosen], [n & 2**64 - 1 for n in chosen])
        return np.array([high, low], dtype=np.uint64).T


def test_every_threshold_decides_to_its_last_bit() -> None:
    law = capped_poisson(0.7)
    numbers = [end + step for end in law.thresholds for step in (-1, 0, 1)] + [0, 2**128 - 1]
    expected = [sum(end <= number for end in law.thresholds) for number in numbers]
    assert law.draw(0, len(numbers), Dealt(numbers)).tolist() == expected
    assert law.draw(3, 5, Dealt(numbers)).tolist() == expected[3:8]


# What is sent


STRUCTURES: list[Structure] = [Identity(size=5), AffineSpace(prime=3), AffineSpace(prime=2, dimension=3)]


@pytest.mark.parametrize("structure", STRUCTURES, ids=str)
def test_messages_follow_their_law(structure: Structure) -> None:
    """The number of dummies is Poisson and says nothing of the value, dummies are uniform, and so is the true message."""
    n, rate = 300_000, 0.6
    for value in (0, structure.values - 1):
        sent = Dummies(structure=structure, dummies=rate).randomize(
            np.full(n, value), KeyedRandomness.seeded(value), first_row=7
        )
        often = np.bincount(sent.each - 1, minlength=6)
        expected = poisson.pmf(np.arange(5), rate)
        chances = np.append(expected, 1 - expected.sum())
        assert chisquare(np.append(often[:5], often[5:].sum()), n * chances).pvalue > SIGNIFICANCE
        starts = np.cumsum(sent.each) - sent.each
        true, dummy = sent.values[starts], np.delete(sent.values, starts)
        assert chisquare(np.bincount(dummy, minlength=structure.messages)).pvalue > SIGNIFICANCE
        mine = structure.member(np.full(structure.choices, value), np.arange(structure.choices, dtype=np.uint32))
        assert set(true.tolist()) == set(mine.tolist())
        if structure.choices > 1:
            assert chisquare(np.bincount(true, minlength=structure.messages)[mine]).pvalue > SIGNIFICANCE
        # dummies of one user, and the true message, are independent
        two = sent.each >= 3
        pairs = sent.values[starts[two] + 1].astype(np.int64) * structure.messages + sent.values[starts[two] + 2]
        assert chisquare(np.bincount(pairs, minlength=structure.messages**2)).pvalue > SIGNIFICANCE


def test_messages_depend_on_their_row_only() -> None:
    randomizer, randomness = Dummies(structure=AffineSpace(prime=5), dummies=1.5), KeyedRandomness.seeded(3)
    values = np.arange(60) % 25
    whole = randomizer.randomize(values, randomness, first_row=2**40)
    for cut in (0, 1, 17, 60):
        left = randomizer.randomize(values[:cut], randomness, first_row=2**40)
        right = randomizer.randomize(values[cut:], randomness, first_row=2**40 + cut)
        assert np.array_equal(np.concatenate([left.values, right.values]), whole.values)
        assert np.array_equal(np.concatenate([left.each, right.each]), whole.each)
    other = randomizer.randomize(values, randomness, first_row=0)
    assert not np.array_equal(other.each, whole.each)


def test_how_many_dummies_does_not_depend_on_the_values() -> None:
    randomizer, randomness = Dummies(structure=AffineSpace(prime=5), dummies=1.5), KeyedRandomness.seeded(4)
    first, second = (randomizer.randomize(np.full(500, value), randomness, first_row=0) for value in (3, 19))
    assert np.array_equal(first.each, second.each)
    true = np.cumsum(first.each) - first.each
    assert np.array_equal(np.delete(first.values, true), np.delete(second.values, true))


# What it hides: everything that can happen, listed


def user_law(structure: Structure, value: int, numbers: list[float]) -> NDArray[np.float64]:
    """The law of the counts of one user's messages, when k dummies have probability numbers[k]."""
    shape = (len(numbers) + 1,) * structure.messages
    law = np.zeros(shape)
    mine = structure.member(np.full(structure.choices, value), np.arange(structure.choices, dtype=np.uint32)).tolist()
    for counts in product(range(len(numbers)), repeat=structure.messages):
        k = sum(counts)
        if k < len(numbers):
            ways = math.factorial(k) / math.prod(math.factorial(c) for c in counts)
            for message in mine:
                seen = tuple(c + (y == message) for y, c in enumerate(counts))
                law[seen] += numbers[k] * ways / structure.messages**k / len(mine)
    return law


def true_delta(structure: Structure, n: int, epsilon: float, numbers: list[float]) -> float:
    """The largest divergence over all neighbouring datasets of n users; too small by what `numbers` leave out at most.

    Any value can be renamed to be the first, so one of the others holds that.
    """
    laws = [user_law(structure, value, numbers) for value in range(structure.values)]
    worst = 0.0
    for others in product(*[range(1), *[range(structure.values)] * (n - 2)][: n - 1]):
        crowd = reduce(convolve, [laws[other] for other in others]) if others else None
        seen = [law if crowd is None else convolve(law, crowd) for law in laws]
        for x, z in permutations(range(structure.values), 2):
            worst = max(worst, float(np.maximum(seen[x] - math.exp(epsilon) * seen[z], 0).sum()))
    return worst


def poisson_numbers(rate: float, most: int) -> list[float]:
    return poisson.pmf(np.arange(most + 1), rate).tolist()


SMALL: list[tuple[Structure, int, float, int, bool]] = [
    (Identity(size=2), 1, 1.0, 22, True),
    (Identity(size=2), 3, 0.8, 18, True),
    (Identity(size=3), 2, 0.9, 14, True),
    (Identity(size=4), 2, 0.5, 8, True),
    (AffineSpace(prime=2), 1, 0.4, 5, True),
    (AffineSpace(prime=2), 2, 0.2, 3, False),
]
"""Structure, users, dummies per user, the most that is listed, whether the claim is the truth itself."""


@pytest.mark.parametrize(("structure", "n", "rate", "most", "exact"), SMALL, ids=str)
@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.0])
def test_the_truth_is_inside_the_enclosure(
    structure: Structure, n: int, rate: float, most: int, exact: bool, epsilon: float
) -> None:
    """All datasets and all counts, from each user's own law: neither that dummies add up to a process nor Mecke is assumed."""
    left_out = n * float(poisson.sf(most, rate))
    truth = true_delta(structure, n, epsilon, poisson_numbers(rate, most))
    claim = bound_named("best").claim(Dummies(structure=structure, dummies=rate).blanket(), n=n, epsilon=epsilon)
    low, high = math.exp(claim.log_delta.lower), math.exp(claim.log_delta.upper)
    assert low <= truth + left_out + 1e-12
    assert truth <= high * (1 + 1e-9)
    assert not exact or high <= (truth + left_out) * (1 + 1e-3)
    assert structure.shared or high <= low * (1 + 1e-3)


@pytest.mark.parametrize("change", ["dummies", "share", "overlap"])
def test_a_law_ten_percent_off_is_caught(change: str) -> None:
    """One user on a plane: the claim is the truth, so too many dummies, too large a share or overlap miss it."""
    structure, rate, most = AffineSpace(prime=2), 0.4, 5
    truth, left_out = true_delta(structure, 1, 0.4, poisson_numbers(rate, most)), float(poisson.sf(most, rate))
    right = Dummies(structure=structure, dummies=rate).blanket()
    value: Any = getattr(right, change) * (Fraction(11, 10) if change != "dummies" else 1.1)
    for blanket, accepted in ((right, True), (replace(right, **{change: value}), False)):
        found = math.exp(bound_named("numeric").claim(blanket, n=1, epsilon=0.4, side="upper").log_delta.upper)
        assert (truth <= found <= (truth + left_out) * (1 + 1e-3)) == accepted


def test_what_a_cap_costs_is_charged_and_needed() -> None:
    """At most one dummy per user, where Poisson has more: less private than the law, by no more than is charged."""
    structure, n, rate, epsilon = Identity(size=2), 3, 0.8, 0.5
    numbers = [math.exp(-rate), -math.expm1(-rate)]
    distance = float(poisson.sf(1, rate))
    truth = true_delta(structure, n, epsilon, numbers)
    law = Dummies(structure=structure, dummies=rate).blanket()
    uncharged, charged = (
        bound_named("numeric").claim(replace(law, distance=d), n=n, epsilon=epsilon, side="upper")
        for d in (0.0, distance)
    )
    assert math.exp(uncharged.log_delta.upper) < truth
    assert charged.regime is not None or truth <= math.exp(charged.log_delta.upper)
    assert replace(law, distance=distance).shortfall(n, epsilon) >= (1 + math.exp(epsilon)) * n * distance
    slightly = replace(law, distance=1e-9)
    low, high = (bound_named(name).claim(slightly, n=n, epsilon=epsilon) for name in ("witness", "numeric"))
    plain = bound_named("witness").claim(replace(law, distance=0.0), n=n, epsilon=epsilon)
    more = (1 + math.exp(epsilon)) * n * 1e-9
    assert math.exp(high.log_delta.upper) - math.exp(uncharged.log_delta.upper) == pytest.approx(more, rel=1e-6)
    assert math.exp(plain.log_delta.lower) - math.exp(low.log_delta.lower) == pytest.approx(more, rel=1e-6)


# What it buys


@pytest.mark.parametrize(
    ("structure", "rate", "rmse"),
    [
        (Identity(size=10_000), 0.4266, 6.53),
        (AffineSpace(prime=5237), 0.2234, 15.28),
        (AffineSpace(prime=65521), 2.7949, 7.61),
    ],
    ids=str,
)
def test_a_million_users(structure: Structure, rate: float, rmse: float) -> None:
    """Epsilon 1, delta 1e-6: the least dummies that are certified, both ends of delta within a percent of each other."""
    found = calibrate(Dummies.family(structure), n=10**6, epsilon=1.0, delta=1e-6)
    assert found == pytest.approx(rate, rel=2e-4)
    claim = bound_named("best").claim(Dummies(structure=structure, dummies=found).blanket(), n=10**6, epsilon=1.0)
    assert claim.log_delta.upper <= math.log(1e-6)
    assert claim.log_delta.upper - claim.log_delta.lower < 0.01
    p0, dummies = structure.shared / structure.choices, 1e6 * found * float(structure.share)
    assert math.sqrt(1e6 * p0 * (1 - p0) + dummies) / (1 - p0) == pytest.approx(rmse, rel=1e-3)


def test_a_direct_sum_over_both_counts_agrees() -> None:
    """Values of their own: delta is E[(A - e^epsilon B)_+] / mean, A and B Poisson. Summed without the kernel."""
    mean, epsilon, k = 30.0, 0.8, np.arange(400)
    chances = poisson.pmf(k, mean)
    table = np.maximum(k[:, None] - math.exp(epsilon) * k, 0)
    truth = float(chances @ table @ chances) / mean
    claim = bound_named("best").claim(
        Dummies(structure=Identity(size=50), dummies=0.3).blanket(), n=5000, epsilon=epsilon
    )
    assert math.exp(claim.log_delta.lower) <= truth * (1 + 1e-9)
    assert truth <= math.exp(claim.log_delta.upper) * (1 + 1e-9)
    assert claim.log_delta.upper - claim.log_delta.lower < 0.005


def test_every_quantity_is_solved_for() -> None:
    randomizer = Dummies(structure=AffineSpace(prime=101), dummies=0.5)
    epsilon = account(randomizer, n=20_000, delta=1e-6).epsilon
    assert account(randomizer, n=20_000, epsilon=epsilon).delta <= 1e-6
    assert account(randomizer, epsilon=epsilon, delta=1e-6).n == pytest.approx(20_000, abs=2)
    assert calibrate(Dummies.family(randomizer.structure), n=20_000, epsilon=epsilon, delta=1e-6) == pytest.approx(
        0.5, rel=1e-4
    )
    # half the users honest, twice the dummies: the same process
    liars = Dummies(structure=randomizer.structure, dummies=1.0)
    assert account(liars, n=10_000, delta=1e-6).epsilon == pytest.approx(epsilon, rel=1e-9)


def test_rounds_compose() -> None:
    blanket = Dummies(structure=Identity(size=100), dummies=0.8).blanket()
    one = Collection(blanket=blanket, n=10_000, rounds=1, bound=bound_named("best"))
    twice = compose([replace(one, rounds=2)]).epsilon(1e-6)
    alone = compose([one]).epsilon(1e-6)
    assert account(Dummies(structure=Identity(size=100), dummies=0.8), n=10_000, delta=1e-6).epsilon <= alone * 1.001
    assert alone < twice < 2 * alone
    few = Collection(blanket=blanket, n=100, rounds=2, bound=bound_named("best"))
    with pytest.raises(NoClaim, match="negligible"):
        compose([few])
    # nobody's dummies may hide a value, with a probability that never falls below this: so much is lost in every round
    some = Collection(blanket=blanket, n=2500, rounds=2, bound=bound_named("best"))
    lost = math.exp(-0.8 * 2500 / 100)
    assert some.delta_up(20.0) == pytest.approx(lost, rel=1e-3)
    assert max(some.grid().epsilons) < 20
    assert compose([some]).delta(30.0) >= 2 * lost * (1 - 1e-6)
    assert (
        compose([replace(some, rounds=1)]).epsilon(1e-4)
        >= account(Dummies(structure=Identity(size=100), dummies=0.8), n=2500, delta=1e-4).epsilon
    )


@pytest.mark.parametrize("bound", ["bennett", "hoeffding", "closed-form", "generic", "binary"])
def test_formulas_of_lies_say_nothing_of_dummies(bound: str) -> None:
    claim = bound_named(bound).claim(Dummies(structure=Identity(size=2), dummies=0.8).blanket(), n=1000, epsilon=1.0)
    assert claim.regime is not None


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (lambda: Dummies(structure=Identity(size=3), dummies=0.0), "dummies must be"),
        (lambda: Dummies(structure=Identity(size=3), dummies=math.nan), "dummies must be"),
        (lambda: Dummies(structure=Identity(size=3), dummies=1e4), "dummies must be"),
        (lambda: Identity(size=1), "at least 2"),
        (lambda: Dummies.from_document({"kind": "dummies", "structure": {"kind": "identity", "size": 3}}), "dummies"),
    ],
)
def test_bad_input(wrong: Any, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        wrong()


def test_nothing_local_is_claimed() -> None:
    randomizer = Dummies(structure=Identity(size=3), dummies=0.4)
    assert randomizer.epsilon0 is None
    assert "no local guarantee" in randomizer.sentence()
    assert isinstance(randomizer.blanket(), DummyBlanket)
