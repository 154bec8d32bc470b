"""The certified accountant: golden values, widths, all datasets, extremes."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from oracles.enumeration import divergence, true_delta, view
from oracles.scale import full
from shuffledp import Channel, Gaussian, Generic, Laplace, RandomizedResponse, account
from shuffledp.accounting.account import bound_named
from shuffledp.accounting.best import Best
from shuffledp.accounting.bound import Claim
from shuffledp.accounting.solve import Problem, Solution, solve
from shuffledp.arithmetic.enclosure import Enclosure
from shuffledp.core.blanket import HasBlanket
from shuffledp.errors import Contradiction

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "accounting.json").read_text())


def best(randomizer: HasBlanket, *, n: int, delta: float = 1e-6, bound: str = "best") -> Solution:
    return solve(bound_named(bound), Problem(randomizer=randomizer.blanket(), n=n, delta=delta))


def ends(solution: Solution) -> tuple[float, float]:
    assert solution.lower is not None
    assert solution.upper is not None
    return float(solution.lower), float(solution.upper)


def make(row: dict[str, Any]) -> HasBlanket:
    if row["randomizer"] == "rr":
        return RandomizedResponse(size=row["size"], epsilon0=row["epsilon0"])
    return (Generic if row["randomizer"] == "generic" else Laplace)(epsilon0=row["epsilon0"])


@pytest.mark.parametrize("row", [r for r in GOLDEN if r["bound"] in ("pair", "lower")], ids=str)
def test_explicit_pairs_are_below_the_upper_end(row: dict[str, Any]) -> None:
    lower, upper = ends(best(make(row), n=row["n"], delta=row["delta"]))
    assert row["epsilon"] <= upper * (1 + 1e-7)
    assert lower <= upper
    if row["randomizer"] == "rr" and row["size"] >= 3:
        assert (upper - lower) / upper <= 0.005


@pytest.mark.parametrize("row", [r for r in GOLDEN if r["bound"] == "generic-pair"], ids=str)
def test_generic_is_within_1e_4_of_the_strongest_published_bound(row: dict[str, Any]) -> None:
    ours = account(make(row), n=row["n"], delta=row["delta"]).epsilon
    if row["randomizer"] == "laplace":  # the variation-ratio number of Laplace: its own blanket does better
        assert ours < row["epsilon"]
    else:
        assert row["epsilon"] * (1 - 1e-7) <= ours <= row["epsilon"] * (1 + 1e-4)


@pytest.mark.parametrize(("n", "most"), [(10**3, 0.3258), (10**5, 0.02743), (10**6, 0.007847), (10**8, 0.0005976)])
def test_laplace(n: int, most: float) -> None:
    lower, upper = ends(best(Laplace(epsilon0=2.0), n=n))
    assert 0 < lower <= upper <= most


@pytest.mark.parametrize(("epsilon0", "truth"), [(1.0, 0.12661), (2.0, 0.32332)])
def test_binary_contains_the_exact_maximum(epsilon0: float, truth: float) -> None:
    lower, upper = ends(best(RandomizedResponse(size=2, epsilon0=epsilon0), n=1000))
    assert lower - 1e-5 <= truth <= upper + 1e-5
    assert round(lower, 5) <= truth <= round(upper, 5)


@pytest.mark.parametrize("epsilon0", [0.2, 1.0, 2.0, 4.0])
@pytest.mark.parametrize(("n", "width"), [(50, 1e-3), (1000, 1e-3), (10**4, 1e-3), (10**6, 1e-2), (10**8, 1e-2)])
def test_binary_is_narrow(epsilon0: float, n: int, width: float) -> None:
    found = best(RandomizedResponse(size=2, epsilon0=epsilon0), n=n)
    lower, upper = ends(found)
    assert (upper - lower) / upper <= width
    assert found.claim is not None
    assert found.claim.upper_by in ("binary", None)


@settings(max_examples=150, deadline=None)
@given(st.floats(0.05, 6), st.floats(0.01, 0.97), st.integers(2, 9))
def test_binary_against_all_datasets(epsilon0: float, fraction: float, n: int) -> None:
    p = math.exp(epsilon0)
    truth = true_delta([[p / (p + 1), 1 / (p + 1)], [1 / (p + 1), p / (p + 1)]], n, fraction * epsilon0)
    assume(truth > 1e-13)
    for name in ("binary", "best"):
        claim = bound_named(name).claim(
            RandomizedResponse(size=2, epsilon0=epsilon0).blanket(), n=n, epsilon=fraction * epsilon0
        )
        assert math.exp(claim.log_delta.lower) * (1 - 1e-9) <= truth <= math.exp(claim.log_delta.upper) * (1 + 1e-9)
        assert claim.log_delta.upper - claim.log_delta.lower < 1e-3


@pytest.mark.parametrize("n", [40, 300])
@pytest.mark.parametrize("epsilon0", [0.3, 1.5, 4.0])
def test_binary_cover_holds_for_every_number_of_ones(n: int, epsilon0: float) -> None:
    """The divergence of each dataset, by direct convolution, is below the upper end."""
    q = math.exp(epsilon0) / (1 + math.exp(epsilon0))
    for fraction in (0.1, 0.4, 0.8):
        epsilon = fraction * epsilon0
        claim = bound_named("binary").claim(
            RandomizedResponse(size=2, epsilon0=epsilon0).blanket(), n=n, epsilon=epsilon
        )
        for ones in range(n):
            law = np.ones(1)
            for chance in [q] * ones + [1 - q] * (n - 1 - ones):
                law = np.convolve(law, [1 - chance, chance])
            first = q * np.append(0, law) + (1 - q) * np.append(law, 0)
            second = (1 - q) * np.append(0, law) + q * np.append(law, 0)
            assert (
                np.maximum(first - math.exp(epsilon) * second, 0).sum()
                <= math.exp(claim.log_delta.upper) * (1 + 1e-9) + 1e-14
            )


# Channels: enumeration over all datasets.


def _extremal(rng: np.random.Generator) -> tuple[list[list[float]], float]:
    """Entries 1 or e^epsilon0, normalised: the corners of all epsilon0-LDP channels."""
    epsilon0 = float(rng.uniform(0.1, 4))
    size, messages = int(rng.integers(2, 4)), int(rng.integers(2, 4))
    table = np.where(rng.random((size, messages)) < 0.5, math.exp(epsilon0), 1.0)
    return (table / table.sum(axis=1, keepdims=True)).tolist(), epsilon0


def _check_extremal(seed: int, count: int) -> int:
    rng, checked = np.random.default_rng(seed), 0
    numeric, generic = bound_named("numeric"), bound_named("generic")
    while checked < count:
        rows, _ = _extremal(rng)
        channel = Channel(rows)
        if not channel.epsilon0:
            continue
        checked += 1
        n, epsilon = int(rng.integers(1, 4)), float(rng.uniform(0.02, 0.95)) * channel.epsilon0
        truth = true_delta(rows, n, epsilon)
        blanket = channel.blanket()
        upper = numeric.claim(blanket, n=n, epsilon=epsilon).log_delta.upper
        wide = generic.claim(blanket, n=n, epsilon=epsilon).log_delta.upper
        lower = bound_named("witness").claim(blanket, n=n, epsilon=epsilon).log_delta.lower
        assert math.exp(lower) * (1 - 1e-9) - 1e-14 <= truth
        assert truth <= math.exp(upper) * (1 + 1e-9) + 1e-14
        assert truth <= math.exp(wide) * (1 + 1e-9) + 1e-14
    return checked


@pytest.mark.parametrize("seed", range(full(2, 10)))
def test_thousands_of_extremal_channels(seed: int) -> None:
    assert _check_extremal(seed, 1000) == 1000


def test_a_channel_with_messages_only_some_can_send() -> None:
    """Uncovered messages are paid for: at n = 1 the bound is exact, and it never falls below the truth."""
    rows = [[0.5, 0.3, 0.2, 0.0], [0.4, 0.5, 0.1, 0.0], [0.2, 0.2, 0.1, 0.5]]
    for n in (1, 2, 3):
        for epsilon in (0.0, 0.1, 0.7, 2.0):
            truth = true_delta(rows, n, epsilon)
            claim = bound_named("numeric").claim(Channel(rows).blanket(), n=n, epsilon=epsilon)
            assert truth <= math.exp(claim.log_delta.upper) * (1 + 1e-9)
            if n == 1:
                assert math.exp(claim.log_delta.upper) <= truth * (1 + 1e-6) + 1e-12


def test_a_witness_may_lack_messages_that_neither_of_the_two_sends() -> None:
    """All others hold one of the two, whose laws are 0 where only the third is not: the lower end knows such crowds, too."""
    rows, n, epsilon = [[0.5, 0.5, 0.0], [0.1, 0.9, 0.0], [0.3, 0.7 - 1e-6, 1e-6]], 4, 0.1
    lower = math.exp(bound_named("witness").claim(Channel(rows).blanket(), n=n, epsilon=epsilon).log_delta.lower)
    for x, z in ((0, 1), (1, 0)):
        for others in ([0] * (n - 1), [1] * (n - 1), [2] * (n - 1)):
            assert divergence(view(rows, [x, *others]), view(rows, [z, *others]), epsilon) <= lower * (1 + 1e-3)


def test_the_channel_of_a_response_is_that_response() -> None:
    p = math.exp(1.5)
    rows = [[(p if x == y else 1) / (p + 4) for y in range(5)] for x in range(5)]
    for n in (10, 10**4):
        channel = ends(best(Channel(rows), n=n))
        response = ends(best(RandomizedResponse(size=5, epsilon0=1.5), n=n))
        assert channel == pytest.approx(response, rel=1e-5)


@pytest.mark.parametrize(
    ("rows", "n", "epsilon", "truth"),
    [
        ([[2.847402061482251e-17, 1.0], [1.6968030814653562e-17, 1.0]], 2, 0.41041529317795267, 8.245e-35),
        ([[3.545588764776359e-17, 1.0], [6.07912051385877e-18, 1.0]], 10, 1.5211130711807654, 1.99e-136),
        ([[1.5413329406037278e-19, 1.0], [3.843690999263983e-20, 1.0]], 7, 1.1715842850678528, 1.47e-115),
    ],
)
def test_channels_with_almost_impossible_messages(
    rows: list[list[float]], n: int, epsilon: float, truth: float
) -> None:
    """Found by review: truths by enumeration at high precision, once outside the enclosure."""
    claim = bound_named("best").claim(Channel(rows).blanket(), n=n, epsilon=epsilon)
    assert claim.log_delta.lower <= math.log(truth) + 1e-3
    assert math.log(truth) - 1e-3 <= claim.log_delta.upper


@pytest.mark.parametrize(("shift", "n"), [(1e-8, 1), (1e-12, 2), (1e-12, 1000)])
def test_generic_is_not_below_a_witness_for_tiny_epsilon0(shift: float, n: int) -> None:
    blanket = Channel([[0.5 + shift / 3, 0.5 - shift / 3], [0.5, 0.5]]).blanket()
    upper = bound_named("generic").claim(blanket, n=n, epsilon=0.0).log_delta.upper
    assert upper >= bound_named("witness").claim(blanket, n=n, epsilon=0.0).log_delta.lower


def test_no_common_message_and_huge_ratios_are_answered() -> None:
    disjoint = Channel([[0.0, 0.3, 0.7], [1.0, 0.0, 0.0]]).blanket()
    assert bound_named("best").claim(disjoint, n=2, epsilon=0.1).regime is not None
    for epsilon0 in (200.0, 400.0, 700.0):
        found = best(RandomizedResponse(size=3, epsilon0=epsilon0), n=2)
        assert found.value == epsilon0
        assert found.lower is None


# Gaussian.


@pytest.mark.parametrize("sigma", [0.5, 1.0, 2.0, 5.0])
def test_gaussian_of_one_user_is_the_exact_mechanism(sigma: float) -> None:
    """delta(epsilon) = Phi(1/(2s) - e s) - e^e Phi(-1/(2s) - e s) (Balle and Wang 2018)."""
    for epsilon in (0.01, 0.3, 1.0, 3.0):
        exact = norm.cdf(0.5 / sigma - epsilon * sigma) - math.exp(epsilon) * norm.cdf(-0.5 / sigma - epsilon * sigma)
        claim = bound_named("best").claim(Gaussian(sigma=sigma).blanket(), n=1, epsilon=epsilon)
        assert math.exp(claim.log_delta.lower) <= exact * (1 + 1e-9)
        assert exact * (1 - 1e-9) <= math.exp(claim.log_delta.upper)
        if exact > 1e-12:  # beyond, the cells of the likelihood ratio are coarse: true, but not sharp
            assert math.exp(claim.log_delta.upper) <= exact * 1.05


@pytest.mark.parametrize("sigma", [0.5, 1.0, 2.0, 5.0])
@pytest.mark.parametrize("n", [10**3, 10**5, 10**8])
def test_gaussian_enclosure(sigma: float, n: int) -> None:
    found = best(Gaussian(sigma=sigma), n=n)
    lower, upper = ends(found)
    assert 0.5 * upper < lower <= upper
    assert found.caveat is not None


@pytest.mark.parametrize(("sigma", "epsilon"), [(0.5, 0.5), (1.0, 0.2), (2.0, 0.1)])
def test_gaussian_against_monte_carlo(sigma: float, epsilon: float) -> None:
    """Divergences of explicit datasets of three users, from permanents of densities at sampled messages."""
    rng, draws = np.random.default_rng(11), 200_000
    claim = bound_named("best").claim(Gaussian(sigma=sigma).blanket(), n=3, epsilon=epsilon)
    largest = 0.0
    for others in ((0.0, 0.0), (1.0, 1.0), (0.5, 0.5), (0.0, 1.0), (0.2, 0.9)):
        messages = np.array([*others, 0.0]) + sigma * rng.normal(size=(draws, 3))

        def views(mine: float, others: tuple[float, float] = others, messages: Any = messages) -> Any:
            density = norm.pdf(messages[:, :, None], loc=np.array([*others, mine]), scale=sigma)
            return sum(
                density[:, i, 0] * density[:, j, 1] * density[:, k, 2]
                for i, j, k in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))
            )

        terms = np.maximum(1 - math.exp(epsilon) * views(1.0) / views(0.0), 0)
        mean, error = float(terms.mean()), float(terms.std()) / math.sqrt(draws)
        assert mean - 6 * error <= math.exp(claim.log_delta.upper)
        largest = max(largest, mean + 6 * error)
    assert math.exp(claim.log_delta.lower) <= largest


def test_gaussian_worst_pair_on_a_grid() -> None:
    """The convex-order certificate: U_xx'(t) = sum (mu_x - a mu_x' - t eta)_+ never exceeds that of (0, 1)."""
    for sigma in (0.3, 0.6, 1.0, 2.0):
        y = np.linspace(-8 * sigma, 1 + 8 * sigma, 2001)
        left = y[1:] <= 0.5  # differences of small tails on either side
        cells = {
            x: np.where(left, np.diff(norm.cdf(y, loc=x, scale=sigma)), -np.diff(norm.sf(y, loc=x, scale=sigma)))
            for x in np.linspace(0, 1, 9).tolist()
        }
        eta = np.minimum(cells[0.0], cells[1.0])
        with np.errstate(divide="ignore", invalid="ignore"):
            for epsilon in (0.0, 0.1, 0.5, 2.0):
                a = math.exp(epsilon)
                kinks = ((cells[0.0] - a * cells[1.0]) / eta)[::20]
                kinks = kinks[np.isfinite(kinks)][:, None]
                worst = np.maximum(cells[0.0] - a * cells[1.0] - kinks * eta, 0).sum(axis=1)
                for x in cells:
                    for z in cells:
                        if x != z:
                            pair = np.maximum(cells[x] - a * cells[z] - kinks * eta, 0).sum(axis=1)
                            assert (pair <= worst * (1 + 1e-9) + 1e-12).all()


# Extremes.


@pytest.mark.parametrize("unknown", ["n", "epsilon0", "gamma", "delta"])
def test_every_unknown_has_two_sides(unknown: str) -> None:
    known = {"n": 10**5, "epsilon": 0.05, "delta": 1e-6}
    family: Any = RandomizedResponse(size=10, epsilon0=2.0).blanket()
    if unknown in ("epsilon0", "gamma"):
        family = RandomizedResponse.family(size=10, parameter=unknown)  # type: ignore[arg-type]
    else:
        del known[unknown]
    lower, upper = ends(solve(bound_named("best"), Problem(randomizer=family, **known)))  # type: ignore[arg-type]
    assert lower <= upper <= lower * (1.05 if unknown == "delta" else 1.005)


@pytest.mark.parametrize(
    ("low", "contradicts"), [(-4.0, True), (-5.0 + 1e-7, True), (-5.0 + 1e-12, False), (-5.0, False)]
)
def test_ends_that_contradict_each_other_are_not_returned(
    monkeypatch: pytest.MonkeyPatch, low: float, contradicts: bool
) -> None:
    """Up to rounding, no lower end may be above an upper one: then something is wrong, and nothing is claimed."""
    ends = {"upper": Claim(log_delta=Enclosure(-math.inf, -5.0)), "lower": Claim(log_delta=Enclosure(low, 0.0))}
    monkeypatch.setattr(Best, "_first", lambda *given: ends[given[-1]])
    blanket = RandomizedResponse(size=4, gamma=0.25).blanket()
    if contradicts:
        with pytest.raises(Contradiction, match="report this"):
            Best().claim(blanket, n=100, epsilon=0.3)
    else:
        assert Best().claim(blanket, n=100, epsilon=0.3).log_delta == Enclosure(min(low, -5.0), -5.0)
