"""The methods of verification against exact sums over all outcomes and all datasets, which share nothing with them."""

import itertools
import random
from fractions import Fraction
from math import comb, prod
from typing import Any

import mpmath
import pytest
from flint import acb, arb, ctx, fmpq

from oracles.scale import full
from shuffledp.certificates import binary_curve
from shuffledp.certificates.binary import covered, largest
from shuffledp.certificates.binary_curve import cover
from shuffledp.certificates.contour_nodes import Term
from shuffledp.certificates.effort import Effort
from shuffledp.certificates.positive_part import BITS, Crowd, chernoff, contour_bound, enumerated, thinned

POINTS = full(12, 100)
Values = list[tuple[Fraction, Fraction]]


def exact_expectation(law: Values, n: int) -> Fraction:
    """E[(l_1 + ... + l_n)_+] over all outcomes, in fractions."""
    zero = 1 - sum(mass for _, mass in law)
    atoms = [*law, (Fraction(0), zero)]
    total = Fraction(0)
    for counts in itertools.product(range(n + 1), repeat=len(law)):
        if sum(counts) <= n:
            held = [*counts, n - sum(counts)]
            reached = sum((c * v for c, (v, _) in zip(held, atoms, strict=True)), Fraction(0))
            if reached > 0:
                ways, left = 1, n
                for c in held:
                    ways *= comb(left, c)
                    left -= c
                total += ways * reached * prod((m**c for c, (_, m) in zip(held, atoms, strict=True)), start=Fraction(1))
    return total


def random_law(rng: random.Random) -> Values:
    """Two or three values of mean below 0, the largest above it."""
    k = rng.randint(2, 3)
    weights = [rng.randint(1, 20) for _ in range(k)]
    scale = sum(weights) + rng.randint(0, 60)
    values = [rng.randint(1, 12), -rng.randint(8, 30), rng.randint(-6, 2)][:k]
    return [(Fraction(v, 7), Fraction(w, scale)) for v, w in zip(values, weights, strict=True)]


def term(law: Values) -> Term:
    return Term([ball(v) for v, _ in law], [ball(m) for _, m in law])


def test_the_contour_is_above_the_exact_expectation_and_close_to_it() -> None:
    rng = random.Random(5)
    with ctx.workprec(BITS):
        for _ in range(POINTS):
            law, n = random_law(rng), rng.randint(2, 24)
            exact = arb(fmpq(*exact_expectation(law, n).as_integer_ratio()))
            found = contour_bound(term(law), Crowd(n), 0.005)
            assert exact <= found <= 1.03 * exact
            assert enumerated(term(law), Crowd(n)).overlaps(exact)
            assert exact <= chernoff(term(law), Crowd(n))


RARE: Values = [
    (Fraction(7), Fraction(1, 40)),
    (Fraction(-9), Fraction(1, 30)),
    (Fraction(-1, 3), Fraction(1, 50)),
    (Fraction(2), Fraction(1, 60)),
]


def test_where_few_values_differ_from_0_even_wide_noise_costs_little() -> None:
    """Outcomes with a few such values are summed up as they are."""
    poisson, often = Fraction(0), Fraction(1)
    for copies in range(1, 15):
        often *= Fraction(3, 2) / copies
        poisson += often * exact_expectation(RARE, copies)
    with ctx.workprec(BITS):
        for users in (1, 2, 9):
            truth = arb(fmpq(*exact_expectation(RARE, users).as_integer_ratio()))
            assert truth <= contour_bound(term(RARE), Crowd(users), 0.1) <= (1 + 1e-6) * truth
        nearly = arb(fmpq(*poisson.as_integer_ratio())) * (-arb(3) / 2).exp()  # of 15 copies and more there is 1e-10
        assert nearly <= contour_bound(term(RARE), Crowd(mean=arb(3) / 2), 0.1) <= (1 + 1e-6) * nearly
        whole = [*RARE, (Fraction(-1, 2), 1 - sum((mass for _, mass in RARE), Fraction(0)))]
        truth = arb(fmpq(*exact_expectation(whole, 4).as_integer_ratio()))
        assert truth <= contour_bound(term(whole), Crowd(4), 0.1) <= (1 + 1e-6) * truth
        # where a few are rare, noise costs what it costs
        often_more = [(value, 9 * mass) for value, mass in RARE]
        truth = arb(fmpq(*exact_expectation(often_more, 9).as_integer_ratio()))
        assert contour_bound(term(often_more), Crowd(9), 0.1) > (1 + 1e-3) * truth


def test_wider_noise_is_only_looser() -> None:
    law, n = term(random_law(random.Random(6))), 300
    with ctx.workprec(BITS):
        wide, narrow, narrower = (contour_bound(law, Crowd(n), fineness) for fineness in (0.1, 0.02, 0.004))
        assert narrower < narrow < wide < 2 * narrower


def test_a_node_left_out_and_a_missing_tail_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sum is above the truth by less than one node of the contour, so that this test can fail."""
    law = [(Fraction(2), Fraction(1, 5)), (Fraction(-3), Fraction(2, 5))]
    exact = exact_expectation(law, 12)
    real = Term.rises

    def without_one(*args: Any) -> list[acb]:
        return [rise if j != 1 else acb(0) for j, rise in enumerate(real(*args))]

    monkeypatch.setattr(Term, "rises", without_one)
    with ctx.workprec(BITS):
        found = contour_bound(term(law), Crowd(12), 0.02)
        assert not (arb(fmpq(*exact.as_integer_ratio())) <= found <= 1.02 * arb(fmpq(*exact.as_integer_ratio())))


def test_a_poisson_number_of_terms() -> None:
    """Against a sum over two independent Poisson numbers, by mpmath."""
    up, down, p, q, mean = 1.5, -2.25, 0.25, 0.5, 9.0
    with mpmath.workdps(40):

        def chance(k: int, rate: float) -> mpmath.mpf:
            return mpmath.exp(-rate) * mpmath.mpf(rate) ** k / mpmath.factorial(k)

        exact = sum(
            chance(i, p * mean) * chance(j, q * mean) * (up * i + down * j)
            for i in range(80)
            for j in range(80)
            if up * i + down * j > 0
        )
    with ctx.workprec(BITS):
        law = Term([arb(up), arb(down)], [arb(p), arb(q)])
        found = contour_bound(law, Crowd(mean=arb(mean)), 0.002)
        assert arb(str(exact)) <= found <= 1.01 * arb(str(exact))


def test_thinning_only_enlarges() -> None:
    rng = random.Random(8)
    with ctx.workprec(BITS):
        values = sorted(rng.uniform(-8, 4) for _ in range(200))
        law = Term([arb(v) for v in values], [arb(rng.uniform(0, 1)) / 400 for _ in values])
        exact = contour_bound(law, Crowd(400), 0.005)
        fewer = thinned(law, Crowd(400), exact, 1e-2)
        assert len(fewer.values) < len(law.values) // 2
        found = contour_bound(fewer, Crowd(400), 0.005)
        assert exact <= found <= exact * 1.02
        mean = [sum((v * m for v, m in zip(t.values, t.masses, strict=True)), arb(0)) for t in (law, fewer)]
        assert abs(mean[0] - mean[1]) < 1e-40


def worst_dataset(q: Fraction, r: Fraction, others: int, growth: Fraction) -> Fraction:
    """The largest divergence over all numbers of others with either coin, and both directions, in fractions."""

    def step(f: list[Fraction], coin: Fraction, j: int) -> Fraction:
        return (f[j] * (1 - coin) if j < len(f) else Fraction(0)) + (f[j - 1] * coin if j else Fraction(0))

    def divergence(more: Fraction, less: Fraction, ones: int) -> Fraction:
        f = [Fraction(1)]
        for coin in [more] * ones + [less] * (others - ones):
            f = [step(f, coin, j) for j in range(len(f) + 1)]

        gaps = (step(f, more, j) - growth * step(f, less, j) for j in range(others + 2))
        return sum((max(gap, Fraction(0)) for gap in gaps), Fraction(0))

    return max(divergence(x, y, a) for x, y in ((q, r), (1 - r, 1 - q)) for a in range(others + 1))


def test_the_cover_of_all_datasets_is_exact_where_it_can_be() -> None:
    rng = random.Random(7)
    with ctx.workprec(BITS):
        for _ in range(POINTS):
            r, q = sorted(Fraction(rng.randint(1, 99), 100) for _ in range(2))
            if q - r < Fraction(1, 50):
                continue
            others, growth = rng.randint(1, 9), 1 + Fraction(rng.randint(0, 60), 100)
            exact = worst_dataset(q, r, others, growth)
            if exact < Fraction(1, 10**7):
                continue
            coins = fmpq(*q.as_integer_ratio()), fmpq(*r.as_integer_ratio())
            target, a = arb(fmpq(*exact.as_integer_ratio())), arb(fmpq(*growth.as_integer_ratio()))
            assert covered(coins, others, a, target * (1 + arb(1e-9)), Effort())
            assert not covered(coins, others, a, target * (1 - arb(1e-9)), Effort())
            found = largest(coins, others, a, Effort())
            assert found is not None
            assert target * (1 - arb(1e-12)) <= found <= target * 1.001


@pytest.mark.parametrize("most", [1, 6, 20])
def test_a_cover_at_many_epsilons_is_never_below_the_worst_dataset(most: int) -> None:
    """Over all datasets in fractions: hardly above it, and where cells are wide, above it all the same."""
    rng = random.Random(most)
    for _ in range(POINTS // 2):
        others = rng.randint(0, most)
        r, q = sorted(rng.sample([Fraction(k, 100) for k in range(1, 100)], 2))
        growths = sorted(1 + Fraction(rng.randint(0, 200), 100) ** 2 for _ in range(3))
        exact = [ball(worst_dataset(q, r, others, growth)) for growth in growths]
        coins = fmpq(*q.as_integer_ratio()), fmpq(*r.as_integer_ratio())
        with ctx.workprec(BITS):
            balls = [ball(growth) for growth in growths]
            for found, truth in zip(cover(coins, others, balls, Effort()) or (), exact, strict=True):
                assert not found < truth
                assert found <= truth * (1 + 5e-4)


@pytest.mark.parametrize("bits", [12, 48])
def test_what_rounding_and_wide_cells_lose_is_charged(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rough probabilities, and cells that may be far above what is known: never below the worst dataset."""
    monkeypatch.setattr(binary_curve, "_FIRST_BITS", bits)
    monkeypatch.setattr(binary_curve, "_MOST_BITS", bits)
    monkeypatch.setattr(binary_curve, "_NEXT", 2.0)
    above = []
    for q, r in (
        (Fraction(3, 4), Fraction(1, 4)),
        (Fraction(9, 10), Fraction(3, 5)),
        (Fraction(2, 5), Fraction(1, 20)),
    ):
        growths = [1 + Fraction(k, 2) for k in range(3)]
        coins = fmpq(*q.as_integer_ratio()), fmpq(*r.as_integer_ratio())
        with ctx.workprec(BITS):
            found = cover(coins, 20, [ball(growth) for growth in growths], Effort())
            for bound, growth in zip(found or (), growths, strict=True):
                truth = ball(worst_dataset(q, r, 20, growth))
                assert not bound < truth
                above.append(float(bound) - float(truth))
    assert max(above) > 1e-3


def test_two_covers_of_all_datasets_agree() -> None:
    """Laws in whole numbers, and sums over a circle."""
    with ctx.workprec(BITS):
        for coins, others, ends in (
            ((fmpq(7, 8), fmpq(1, 8)), 999, (0.2, 0.8)),
            ((fmpq(3, 4), fmpq(1, 4)), 20_000, (0.03, 0.06)),
            ((fmpq(3, 5), fmpq(1, 1000)), 500, (0.3, 0.5)),
        ):
            growths = [arb(end).exp() for end in ends]
            for found, growth in zip(cover(coins, others, growths, Effort()) or (), growths, strict=True):
                other = largest(coins, others, growth, Effort())
                assert other is not None
                assert abs(found / other - 1) < (1e-3 if others < 2400 else 1e-2)


def ball(value: Fraction) -> arb:
    return arb(fmpq(value.numerator, value.denominator))


@pytest.mark.parametrize("others", [50_000, 10**9])
def test_the_cover_of_large_crowds_holds_near_the_worst_dataset(others: int) -> None:
    """A little above the divergence of a homogeneous dataset, by the normal approximation, and not below it."""
    from shuffledp import RandomizedResponse, account

    coin = RandomizedResponse.of_threshold(size=2, threshold=1 << 62)
    found = account(coin, n=others + 1, delta=1e-6)
    coins = fmpq(7, 8), fmpq(1, 8)
    with ctx.workprec(BITS):
        assert covered(coins, others, arb(found.epsilon).exp(), arb(1e-6), Effort())
        assert not covered(coins, others, arb(found.epsilon * 0.998).exp(), arb(1e-6), Effort())
        curve = largest(coins, others, arb(found.epsilon).exp(), Effort())
        assert curve is not None
        assert 0.99e-6 <= curve <= 1.005e-6


def test_values_whose_squares_are_no_doubles() -> None:
    """As they are at an epsilon of hundreds, up to which a curve of dummies may be followed."""
    with ctx.workprec(BITS):
        for crowd in (Crowd(users=3), Crowd(mean=arb(3))):
            law = Term([arb(1), -arb(600).exp()], [arb(0.1), arb(0.1)])
            assert 0 < chernoff(law, crowd) < 1


@pytest.mark.parametrize("others", [1, 4, 19])
@pytest.mark.parametrize("ratio", [Fraction(1), Fraction(101, 100), Fraction(6, 5)], ids=str)
def test_the_cover_is_exact_where_two_thresholds_are_as_good(others: int, ratio: Fraction) -> None:
    """As at epsilon 0, where laws have two modes: over all datasets in fractions, never below, and hardly above."""
    coins = Fraction(5, 8), Fraction(3, 8)
    truth = Fraction(0)
    for ones in range(others + 1):
        crowd = [Fraction(1)]
        for chance in [coins[0]] * ones + [coins[1]] * (others - ones):
            crowd = with_one_more(crowd, chance)
        for mine, other in (coins, coins[::-1]):
            pairs = zip(with_one_more(crowd, mine), with_one_more(crowd, other), strict=True)
            truth = max(truth, sum((max(Fraction(0), one - ratio * two) for one, two in pairs), Fraction(0)))
    with ctx.workprec(200):
        chances = (fmpq(5, 8), fmpq(3, 8))
        growth = ball(ratio)
        found = [largest(chances, others, growth, Effort()), *(cover(chances, others, [growth], Effort()) or ())]
    assert len(found) == 2
    for bound in found:
        assert bound is not None
        assert float(truth) * (1 - 1e-15) <= float(bound.upper()) <= float(truth) * (1 + 1e-7)


def with_one_more(crowd: list[Fraction], chance: Fraction) -> list[Fraction]:
    """The law of how many ones there are, with one more user who sends one with this chance."""
    return [
        (crowd[j] * (1 - chance) if j < len(crowd) else Fraction(0)) + (crowd[j - 1] * chance if j else Fraction(0))
        for j in range(len(crowd) + 1)
    ]
