"""Design response: designs are balanced, decoding is exact, the blanket's claims hold where all datasets can be listed."""

import json
import math
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.enumeration import true_delta
from shuffledp import InvalidInput, calibrate
from shuffledp.accounting.account import bound_named
from shuffledp.domains.whole_numbers import WholeNumbers
from shuffledp.protocols.frequencies import Frequencies
from shuffledp.randomizers.design import DesignBlanket, DesignResponse
from shuffledp.randomizers.structures import AffineSpace

GOLDEN: list[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "golden" / "plane.json").read_text())["values"]
SPACES = [AffineSpace(prime=q, dimension=d) for q, d in ((2, 2), (3, 2), (5, 2), (11, 2), (2, 3), (3, 3))]


def sets_of(structure: AffineSpace) -> list[set[int]]:
    choices = np.arange(structure.choices, dtype=np.uint32)
    return [set(structure.member(np.full(len(choices), v), choices).tolist()) for v in range(structure.values)]


@pytest.mark.parametrize("structure", SPACES, ids=str)
def test_designs_are_balanced(structure: AffineSpace) -> None:
    """Every value has as many messages, every two share as many, every message belongs to as many values."""
    sets = sets_of(structure)
    assert {len(one) for one in sets} == {structure.choices}
    assert {len(one & other) for one, other in combinations(sets, 2)} == {structure.shared}
    often = np.bincount([message for one in sets for message in one], minlength=structure.messages)
    assert set(often.tolist()) == {structure.values // structure.prime}
    if structure.values <= 32:
        fewest = min(len(one & other & third) for one, other, third in combinations(sets, 3))
        assert Fraction(fewest, structure.messages) == structure.triple


@pytest.mark.parametrize("structure", SPACES, ids=str)
def test_decoding_is_the_sum_over_a_values_messages(structure: AffineSpace) -> None:
    counts = np.random.default_rng(1).integers(0, 10**6, structure.messages)
    direct = [int(counts[sorted(one)].sum()) for one in sets_of(structure)]
    assert structure.totals(counts).tolist() == direct
    assert structure.totals_of(counts, np.arange(structure.values)).tolist() == direct


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
        randomizer=DesignResponse.private(structure, gamma=row["gamma"]), listed=WholeNumbers(structure.values)
    )
    errors = np.sqrt(protocol.variance(np.array([0.0, 0.01, 0.1]) * row["n"], row["n"]))
    assert errors.tolist() == pytest.approx([row[f"rmse_{share}"] for share in ("absent", "1pct", "10pct")], rel=1e-5)


@pytest.mark.parametrize(("prime", "n"), [(2, 2), (2, 3), (2, 4), (3, 2)])
@pytest.mark.parametrize("gamma", [0.1, 0.4])
def test_the_truth_is_inside_the_enclosure(prime: int, n: int, gamma: float) -> None:
    """All datasets of up to four users; a blanket 10 % larger, and a share or overlap 10 % off, would be caught."""
    randomizer = DesignResponse.private(AffineSpace(prime=prime), gamma=gamma)
    rows = [randomizer.probability(np.arange(randomizer.messages), v).tolist() for v in range(prime**2)]
    blanket, epsilon = randomizer.blanket(), 0.3
    truth = true_delta(rows, n, epsilon)
    claim = bound_named("best").claim(blanket, n=n, epsilon=epsilon, side="both")
    assert math.exp(claim.log_delta.lower) <= truth * (1 + 1e-9)
    assert truth <= math.exp(claim.log_delta.upper) * (1 + 1e-9)


@pytest.mark.parametrize("wrong", ["share", "overlap", "given_gamma"])
def test_a_law_ten_percent_off_is_caught(wrong: str) -> None:
    """One user alone: the bound is exact there, so any wrong parameter misses the truth."""
    randomizer = DesignResponse.private(AffineSpace(prime=3), gamma=0.3)
    rows = [randomizer.probability(np.arange(randomizer.messages), v).tolist() for v in range(9)]
    right = randomizer.blanket()
    factor = Fraction(11, 10) if wrong != "overlap" else Fraction(9, 10)
    changed = {
        name: getattr(right, name) * (factor if name == wrong else 1)
        for name in ("share", "overlap", "triple", "given_gamma")
    }
    for blanket, accepted in ((right, True), (DesignBlanket(name="wrong", **changed), False)):
        found = math.exp(bound_named("numeric").claim(blanket, n=1, epsilon=0.3, side="upper").log_delta.upper)
        assert (abs(found / true_delta(rows, 1, 0.3) - 1) < 2e-3) == accepted


@given(st.floats(1e-6, 0.999), st.floats(0.01, 30.0), st.sampled_from(SPACES))
def test_a_threshold_is_rounded_towards_more_blanket(gamma: float, epsilon0: float, structure: AffineSpace) -> None:
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
        (lambda: DesignResponse.private(AffineSpace(prime=5)), "exactly one of them"),
        (lambda: DesignResponse.private(AffineSpace(prime=5), gamma=1.5), "gamma must be"),
        (lambda: DesignResponse(structure=AffineSpace(prime=5), threshold=0), "a threshold is"),
        (
            lambda: Frequencies(
                randomizer=DesignResponse.private(AffineSpace(prime=5), gamma=0.5), listed=WholeNumbers(26)
            ),
            "do not fit 25 points",
        ),
    ],
)
def test_bad_input(wrong: Any, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        wrong()
