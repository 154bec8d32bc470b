"""The second method for several releases against laws that are composed exactly, and against closed forms."""

import math
import random
from fractions import Fraction
from itertools import product
from math import comb

import pytest
from flint import arb, ctx, fmpq

from oracles.scale import full
from shuffledp import Certificate, Gaussian, Guarantee, RandomizedResponse, verify
from shuffledp.accounting.composition import Collection, compose
from shuffledp.accounting.numeric import Numeric
from shuffledp.certificates.composition import Release, composed_delta, contour_delta, enumerated_delta
from shuffledp.certificates.effort import Effort
from shuffledp.certificates.loss import loss_law
from shuffledp.certificates.positive_part import BITS
from shuffledp.certificates.randomizers import law_of

RESPONSE = RandomizedResponse(size=4, epsilon0=1.0).as_run()
POINTS = full(6, 40)


def normal(x: arb) -> arb:
    return (-x / arb(2).sqrt()).erfc() / 2


def gaussian_curve(signal: float, epsilon: float) -> arb:
    """Of a Gaussian mechanism whose signal has so many standard deviations."""
    mu, e = arb(signal), arb(epsilon)
    return normal(mu / 2 - e / mu) - e.exp() * normal(-mu / 2 - e / mu)


@pytest.mark.parametrize(("signal", "rounds"), [(0.1, 1), (0.1, 30), (0.01, 4000), (1.0, 3)])
def test_gaussian_curves_compose_to_a_gaussian_curve(signal: float, rounds: int) -> None:
    with ctx.workprec(BITS):
        epsilons = [k * 9 * signal / 300 for k in range(301)]
        law = loss_law(epsilons, [gaussian_curve(signal, epsilon) for epsilon in epsilons])
        for deviations in (0.5, 2.0, 4.0):
            epsilon = deviations * signal * math.sqrt(rounds) + signal**2 * rounds / 2
            exact = gaussian_curve(signal * math.sqrt(rounds), epsilon)
            assert exact <= contour_delta([(law, rounds)], epsilon) <= exact * 1.004


def test_outcomes_of_several_laws_are_listed() -> None:
    """Each loss of each law apart, infinite ones as well."""
    with ctx.workprec(BITS):
        first = loss_law([0.0, 0.4, 1.0], [arb(0.4), arb(0.15), arb(0.05)])
        second = loss_law([0.0, 0.7], [arb(0.3), arb(0.01)])
        losses = [
            [
                *zip(map(float, law.finite.values), map(float, law.finite.masses), strict=True),
                (math.inf, float(law.infinite)),
            ]
            for law in (first, first, second, second, second)
        ]
        for epsilon in (0.0, 0.3, 1.7, 4.2):
            exact = math.fsum(
                math.prod(mass for _, mass in outcome)
                * max(0.0, -math.expm1(epsilon - sum(loss for loss, _ in outcome)))
                for outcome in product(*losses)
            )
            assert float(enumerated_delta([(first, 2), (second, 3)], epsilon)) == pytest.approx(exact, rel=1e-12)


def exact_rounds(keep: Fraction, rounds: int, growth: Fraction) -> Fraction:
    """The delta of a biased coin that is thrown so often, q = 1 - p for the other value."""
    total = Fraction(0)
    for heads in range(rounds + 1):
        p = keep**heads * (1 - keep) ** (rounds - heads)
        q = (1 - keep) ** heads * keep ** (rounds - heads)
        total += comb(rounds, heads) * max(Fraction(0), p - growth * q)
    return total


def test_coins_compose_to_the_exact_curve() -> None:
    """Kinks and all: the points are on them."""
    rng = random.Random(4)
    with ctx.workprec(BITS):
        for _ in range(POINTS):
            keep, rounds = Fraction(rng.randint(55, 95), 100), rng.randint(1, 12)
            top = float(keep / (1 - keep))
            epsilons = [0.0, math.nextafter(math.log(top), 9)]
            law = loss_law(epsilons, [arb(fmpq(*(2 * keep - 1).as_integer_ratio())), arb(0)])
            epsilon = rng.uniform(0.05, 0.95) * rounds * math.log(top)
            growth = Fraction(float(arb(epsilon).exp()))
            exact = arb(fmpq(*exact_rounds(keep, rounds, growth).as_integer_ratio()))
            found = contour_delta([(law, rounds)], epsilon)
            assert exact * (1 - 1e-12) <= found <= exact * 1.05
            listed = enumerated_delta([(law, rounds)], epsilon)
            assert exact * (1 - 1e-12) <= listed <= exact * (1 + 1e-12)
            halves = contour_delta([(law, rounds - rounds // 2), (law, rounds // 2)], epsilon) if rounds > 1 else found
            assert exact * (1 - 1e-12) <= halves <= exact * 1.05


def view(crowd: int, cells: tuple[Fraction, ...], other: tuple[Fraction, ...]) -> dict[tuple[int, ...], Fraction]:
    """The law of the histogram of one user with law `cells` and so many with law `other`."""
    found: dict[tuple[int, ...], Fraction] = {}
    for outcome in product(range(len(cells)), repeat=crowd + 1):
        chance = cells[outcome[0]]
        for message in outcome[1:]:
            chance *= other[message]
        seen = tuple(outcome.count(k) for k in range(len(cells)))
        found[seen] = found.get(seen, Fraction(0)) + chance
    return found


def test_no_dataset_has_a_larger_delta_than_what_is_proved() -> None:
    """Three users, two rounds: all pairs of rounds of the worst homogeneous datasets, in fractions."""
    gamma = Fraction(RESPONSE.threshold, 2**64)
    rows = [tuple(gamma / 4 + (1 - gamma if k == z else 0) for k in range(4)) for z in range(3)]
    views = [[view(2, rows[x], rows[z]) for x in (0, 1)] for z in range(3)]
    losses = [(p, q) for p, q in views]
    with ctx.workprec(BITS):
        law = law_of(RESPONSE.document())
        for epsilon in (0.2, 0.7, 1.4):
            growth = Fraction(float(arb(epsilon).exp()))
            worst = max(
                sum(max(Fraction(0), a * c - growth * b * d) for a, b in _joint(one) for c, d in _joint(two))
                for one in losses
                for two in losses
            )
            proved = composed_delta([Release(law, 2)], 3, epsilon, arb(0), Effort())
            assert arb(fmpq(*worst.as_integer_ratio())) <= proved * (1 + arb(1e-12))


def _joint(views: tuple[dict[tuple[int, ...], Fraction], ...]) -> list[tuple[Fraction, Fraction]]:
    return [(chance, views[1].get(seen, Fraction(0))) for seen, chance in views[0].items()]


def test_rounds_that_lower_the_claim_are_refused() -> None:
    """One round more than what was accounted for."""
    together = compose([Collection(blanket=RESPONSE.blanket(), n=1000, rounds=20, bound=Numeric())])
    claim = Guarantee(epsilon=together.epsilon(1e-6), delta=1e-6, n=1000, bound="numeric", reference="")
    assert verify(Certificate.of(RESPONSE, claim, rounds=20).document()).confirmed
    more = verify(Certificate.of(RESPONSE, claim, rounds=21).document())
    assert more.verdict == "refused"
    assert more.reached is not None
    assert more.reached > 1e-6


def test_what_there_is_no_method_for_is_said() -> None:
    claim = Guarantee(epsilon=1.0, delta=1e-6, n=10_000, bound="best", reference="", caveat=None)
    found = verify(Certificate.of(Gaussian(sigma=2.0), claim, rounds=5).document())
    assert found.verdict == "cannot be verified"
    assert "no method here for the composition of continuous Gaussian noise" in found.reason
