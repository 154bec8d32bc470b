"""Other people's parameters of randomized response, and why ours are not these: docs/how-tight.md, formulas-to-distrust.md."""

import math
import re
from collections import defaultdict
from pathlib import Path

import pytest

from oracles.enumeration import response_rows, true_delta
from shuffledp import Generic, RandomizedResponse, account

DOCS = Path(__file__).parents[2] / "docs"


def variation_ratio(p: float, beta: float, q: float, *, n: int, epsilon: float) -> float:
    """The divergence of the pair of Wang et al. (2024): each other user is a clone of either input with probability r."""
    alpha = beta / (p - 1)
    r = alpha * p / q
    first: dict[tuple[int, int], float] = defaultdict(float)
    second: dict[tuple[int, int], float] = defaultdict(float)
    for clones in range(n):
        some = math.comb(n - 1, clones) * (2 * r) ** clones * (1 - 2 * r) ** (n - 1 - clones)
        for a in range(clones + 1):
            mass = some * math.comb(clones, a) / 2**clones
            for here, there, share in ((1, 0, alpha * p), (0, 1, alpha), (0, 0, 1 - alpha * (p + 1))):
                first[a + here, clones - a + there] += mass * share
                second[a + there, clones - a + here] += mass * share
    return math.fsum(max(0.0, mass - math.exp(epsilon) * second[seen]) for seen, mass in first.items())


def test_the_parameters_of_randomized_response_are_below_the_truth() -> None:
    """5-RR, two users: the truth is over all datasets, and our claim is not below it."""
    size, epsilon0, n, epsilon = 5, 1.0, 2, 0.7
    p = math.exp(epsilon0)
    theirs = variation_ratio(p, (p - 1) / (p + size - 1), p, n=n, epsilon=epsilon)
    truth = true_delta(response_rows(size, epsilon0), n, epsilon)
    assert theirs == pytest.approx(0.0219, abs=5e-5)
    assert truth == pytest.approx(0.0424, abs=5e-5)
    assert (
        truth <= account(RandomizedResponse(size=size, epsilon0=epsilon0), n=n, epsilon=epsilon).delta < truth * 1.001
    )


@pytest.mark.parametrize("n", [2, 3, 6])
def test_the_parameters_of_any_randomizer_are_our_generic_bound(n: int) -> None:
    p = math.exp(1.0)
    theirs = variation_ratio(p, (p - 1) / (p + 1), p, n=n, epsilon=0.3)
    assert account(Generic(epsilon0=1.0), n=n, epsilon=0.3, bound="generic").delta == pytest.approx(theirs, rel=1e-3)
    assert true_delta(response_rows(3, 1.0), n, 0.3) <= theirs


def test_each_formula_to_distrust_is_below_the_lower_bound_shown_under_it() -> None:
    page, errata = ((DOCS / f"{name}.md").read_text(encoding="utf-8") for name in ("formulas-to-distrust", "errata"))
    claims = re.findall(r"delta of (0\.\d+)\..*?^best +\S+ +(\S+)", page, re.MULTILINE | re.DOTALL)
    assert all(float(claimed) < float(lower) for claimed, lower in claims)
    (printed,) = re.findall(r"print\(round\(claimed, 4\), round\(delta, 4\)\)  # (\S+)", errata)  # a block that is run
    p = math.exp(1.0)
    theirs = variation_ratio(p, (p - 1) / (p + 4), p, n=2, epsilon=0.7)
    assert [claimed for claimed, _ in claims] == [printed, f"{theirs:.4f}"]
