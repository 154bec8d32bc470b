"""Design response: designs are balanced, decoding is exact, the blanket's claims hold where all datasets can be listed."""

import json
import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from oracles.enumeration import true_delta
from shuffledp import InvalidInput, RandomizedResponse, calibrate
from shuffledp.accounting.account import bound_named
from shuffledp.arithmetic.primes import is_prime, prime_from
from shuffledp.domains.whole_numbers import WholeNumbers
from shuffledp.protocols.frequencies import Frequencies
from shuffledp.randomizers.design_response import DesignResponse
from shuffledp.randomizers.hadamard_design import Hadamard
from shuffledp.randomizers.identity import Identity
from shuffledp.randomizers.local_hashing import LocalHashing
from shuffledp.randomizers.structure import Structure
from shuffledp.randomizers.structures import AffineSpace

GOLDEN: list[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "golden" / "plane.json").read_text())["values"]
SPACES = [AffineSpace(prime=q, dimension=d) for q, d in ((2, 2), (3, 2), (5, 2), (11, 2), (2, 3), (3, 3))]
HASHINGS = [LocalHashing(prime=p, range=h) for p, h in ((2, 2), (3, 2), (5, 3), (5, 5), (7, 2), (11, 4))]
STRUCTURES: list[Structure] = [*SPACES, *(Hadamard(order=k) for k in (4, 8, 32)), *HASHINGS]


def sets_of(structure: Structure) -> list[set[int]]:
    choices = np.arange(structure.choices, dtype=np.uint32)
    return [set(structure.member(np.full(len(choices), v), choices).tolist()) for v in range(structure.values)]


@pytest.mark.parametrize("structure", STRUCTURES, ids=str)
def test_designs_are_balanced(structure: Structure) -> None:
    """Every value has as many messages, every two share as many, no message belongs to everybody."""
    sets = sets_of(structure)
    assert {len(one) for one in sets} == {structure.choices}
    assert {len(one & other) for one, other in combinations(sets, 2)} == {structure.shared}
    assert max(message for one in sets for message in one) < structure.messages
    assert not set.intersection(*sets)
    if structure.values <= 32 and structure.triple is not None:
        common = {Fraction(len(one & other & third), structure.messages) for one, other, third in combinations(sets, 3)}
        assert structure.triple in common
        assert structure.triple == min(common) or structure not in SPACES


@pytest.mark.parametrize("structure", SPACES, ids=str)
def test_hyperplanes_have_equally_many_points(structure: AffineSpace) -> None:
    often = np.bincount([message for one in sets_of(structure) for message in one], minlength=structure.messages)
    assert set(often.tolist()) == {structure.values // structure.prime}


@pytest.mark.parametrize("structure", STRUCTURES, ids=str)
def test_decoding_is_the_sum_over_a_values_messages(structure: Structure) -> None:
    counts = np.random.default_rng(1).integers(0, 10**6, structure.messages)
    direct = [int(counts[sorted(one)].sum()) for one in sets_of(structure)]
    assert structure.totals(counts).tolist() == direct
    assert structure.totals_of(counts, np.arange(structure.values)).tolist() == direct


@given(st.integers(2, 32), st.data())
def test_hadamard_members_are_the_rows_of_minus_one(bits: int, data: st.DataObject) -> None:
    """At the largest orders too; and different choices are different rows."""
    value = data.draw(st.integers(0, 2**bits - 2))
    choices = data.draw(st.lists(st.integers(0, 2 ** (bits - 1) - 1), min_size=2, max_size=2, unique=True))
    rows = Hadamard(order=2**bits).member(np.full(2, value), np.array(choices, dtype=np.uint32)).tolist()
    assert all(row < 2**bits and (row & (value + 1)).bit_count() % 2 == 1 for row in rows)
    assert rows[0] != rows[1]


@given(st.integers(-5, 70_000))
def test_primes_are_those_that_nothing_divides(number: int) -> None:
    assert is_prime(number) == (number > 1 and all(number % divisor for divisor in range(2, math.isqrt(number) + 1)))
    found = prime_from(number)
    assert is_prime(found)
    assert not any(is_prime(between) for between in range(number, found))


@given(st.sampled_from([3, 257, 4093, 65521]), st.data())
def test_lines_through_points(prime: int, data: st.DataObject) -> None:
    """In 32 bits as in whole numbers, at the largest order too."""
    point, choice = data.draw(st.integers(0, prime**2 - 1)), data.draw(st.integers(0, prime))
    u, w = divmod(point, prime)
    expected = choice * prime + ((w - choice * u) % prime if choice < prime else u)
    found = AffineSpace(prime=prime).member(np.array([point], dtype=np.uint32), np.array([choice], dtype=np.uint32))
    assert found.tolist() == [expected]


@pytest.mark.parametrize("row", GOLDEN, ids=lambda row: f"q={row['q']}, n={row['n']}")
def test_gamma_and_errors_are_those_computed_without_our_kernel(row: dict[str, Any]) -> None:
    structure = AffineSpace(prime=row["q"])
    found = calibrate(DesignResponse.family(structure), n=row["n"], epsilon=row["epsilon"], delta=row["delta"])
    assert row["gamma"] * (1 - 2e-6) <= found <= row["gamma"] * (1 + 1e-4)
    protocol = Frequencies(
        randomizer=DesignResponse.private(structure, gamma=row["gamma"]), domain=WholeNumbers(structure.values)
    )
    errors = np.sqrt(protocol.variance(np.array([0.0, 0.01, 0.1]) * row["n"], row["n"]))
    assert errors.tolist() == pytest.approx([row[f"rmse_{share}"] for share in ("absent", "1pct", "10pct")], rel=1e-5)


PLANE, HADAMARD, HASHED = AffineSpace(prime=2), Hadamard(order=4), LocalHashing(prime=3, range=2)


def rows_of(randomizer: DesignResponse) -> list[list[float]]:
    return [randomizer.probability(np.arange(randomizer.messages), v).tolist() for v in range(randomizer.symbols)]


@pytest.mark.parametrize(
    ("structure", "n"),
    [
        *((PLANE, n) for n in (2, 3, 4)),
        (AffineSpace(prime=3), 2),
        *((HADAMARD, n) for n in (2, 3, 4)),
        (Hadamard(order=8), 2),
        *((HASHED, n) for n in (2, 3)),
        (LocalHashing(prime=2, range=2), 4),
        (LocalHashing(prime=3, range=3), 2),
    ],
    ids=str,
)
@pytest.mark.parametrize("gamma", [0.1, 0.4])
def test_the_truth_is_inside_the_enclosure(structure: Structure, n: int, gamma: float) -> None:
    """All datasets of up to four users; a blanket 10 % larger, and a share or overlap 10 % off, would be caught."""
    randomizer = DesignResponse.private(structure, gamma=gamma)
    blanket, epsilon = randomizer.blanket(), 0.3
    truth = true_delta(rows_of(randomizer), n, epsilon)
    claim = bound_named("best").claim(blanket, n=n, epsilon=epsilon, side="both")
    assert math.exp(claim.log_delta.lower) <= truth * (1 + 1e-9)
    assert truth <= math.exp(claim.log_delta.upper) * (1 + 1e-9)


@pytest.mark.parametrize(
    "structure", [AffineSpace(prime=3), Hadamard(order=8), LocalHashing(prime=5, range=3)], ids=str
)
@pytest.mark.parametrize("wrong", ["share", "overlap", "given_gamma"])
def test_a_law_ten_percent_off_is_caught(structure: Structure, wrong: str) -> None:
    """One user alone: the bound is exact there, so any wrong parameter misses the truth."""
    randomizer = DesignResponse.private(structure, gamma=0.3)
    right, factor = randomizer.blanket(), Fraction(11, 10) if wrong != "overlap" else Fraction(9, 10)
    spoilt = replace(right, **{wrong: getattr(right, wrong) * factor})
    truth = true_delta(rows_of(randomizer), 1, 0.3)
    for blanket, accepted in ((right, True), (spoilt, False)):
        found = math.exp(bound_named("numeric").claim(blanket, n=1, epsilon=0.3, side="upper").log_delta.upper)
        assert (abs(found / truth - 1) < 2e-3) == accepted


@given(st.floats(0.01, 20.0), st.sampled_from(STRUCTURES))
def test_the_law_of_an_epsilon0_is_that_of_its_gamma(epsilon0: float, structure: Structure) -> None:
    """gamma = 1 / (1 + s (e^eps0 - 1)): by either parameter the same blanket, variable and pairs."""
    by_epsilon0 = DesignResponse.law(structure, epsilon0=epsilon0)
    gamma = 1 / (1 + float(structure.share) * math.expm1(epsilon0))
    assert float(by_epsilon0.gamma()) == pytest.approx(gamma, rel=1e-12)
    by_gamma = DesignResponse.law(structure, gamma=gamma)
    assert float(by_gamma.epsilon0()) == pytest.approx(epsilon0, rel=1e-9)
    for one, other in zip(by_epsilon0.amplification(arb(0.3)), by_gamma.amplification(arb(0.3)), strict=True):
        for name in ("mean", "lower", "upper", "second_moment"):
            assert float(getattr(one, name)) == pytest.approx(float(getattr(other, name)), rel=1e-6)
    for options, others in zip(by_epsilon0.pairs(), by_gamma.pairs(), strict=True):
        for one_pair, other_pair in zip(options, others, strict=True):
            for name in ("difference", "second", "masses"):
                assert getattr(one_pair, name) == pytest.approx(getattr(other_pair, name), rel=1e-6)


@given(st.floats(1e-6, 0.999), st.floats(0.01, 30.0), st.sampled_from(STRUCTURES))
def test_a_threshold_is_rounded_towards_more_blanket(gamma: float, epsilon0: float, structure: Structure) -> None:
    """At least the gamma asked for, and by less than 2^-64; for an epsilon0 the same, in 60 digits."""
    found = Fraction(DesignResponse.private(structure, gamma=gamma).threshold, 2**64)
    assert 0 <= found - Fraction(gamma) < Fraction(1, 2**64)
    with mpmath.workdps(60):
        share = mpmath.mpf(structure.share.numerator) / structure.share.denominator
        wanted = 2**64 / (1 + share * mpmath.expm1(mpmath.mpf(epsilon0)))
        assert 0 <= DesignResponse.private(structure, epsilon0=epsilon0).threshold - wanted < 1 + mpmath.mpf(10) ** -30


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (lambda: AffineSpace(prime=4), "must be a prime number"),
        (lambda: AffineSpace(prime=65537), "do not fit 32 bits"),
        (lambda: AffineSpace(prime=1627, dimension=3), "do not fit 32 bits"),
        (lambda: AffineSpace(prime=5, dimension=4), "2 or 3 coordinates"),
        (lambda: Hadamard(order=12), "a power of two"),
        (lambda: Hadamard(order=2), "from 4 to"),
        (lambda: LocalHashing(prime=9, range=2), "modulo a prime"),
        (lambda: LocalHashing(prime=7, range=1), "2 to 7 values"),
        (lambda: LocalHashing(prime=7, range=8), "2 to 7 values"),
        (lambda: LocalHashing(prime=2_147_483_659, range=2), "for up to"),
        (lambda: LocalHashing.holding(1, 2), "for 2 to"),
        (lambda: DesignResponse.private(LocalHashing.holding(10**6, 4), gamma=0.5), "do not fit 32 bits"),
        (lambda: DesignResponse.private(AffineSpace(prime=5)), "exactly one of them"),
        (lambda: DesignResponse.private(AffineSpace(prime=5), gamma=1.5), "gamma must be"),
        (lambda: DesignResponse(structure=AffineSpace(prime=5), threshold=0), "a threshold is"),
        (
            lambda: Frequencies(
                randomizer=DesignResponse.private(AffineSpace(prime=5), gamma=0.5), domain=WholeNumbers(26)
            ),
            "do not fit 25 points",
        ),
        (
            lambda: Frequencies(
                randomizer=DesignResponse.private(Hadamard(order=8), gamma=0.5), domain=WholeNumbers(7)
            ),
            "lines of a plane",
        ),
    ],
)
def test_bad_input(wrong: Any, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        wrong()


def test_two_values_have_no_third_one_and_are_randomized_response() -> None:
    assert Identity(size=2).triple is None
    assert Identity(size=3).triple == 0
    same = DesignResponse.private(Identity(size=2), gamma=0.25)
    for bound in ("numeric", "witness", "best"):
        found, known = (
            bound_named(bound).claim(one.blanket(), n=50, epsilon=0.2).log_delta
            for one in (same, RandomizedResponse(size=2, gamma=0.25))
        )
        assert found.lower <= known.upper
        assert known.lower <= found.upper
