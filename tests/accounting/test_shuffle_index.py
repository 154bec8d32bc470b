"""The shuffle index: its closed forms against quadrature and enumeration, and that it is what large crowds show."""

import json
import math
from dataclasses import replace
from types import SimpleNamespace

import mpmath as mp
import numpy as np
import pytest
from click.testing import CliRunner

from oracles.enumeration import divergence, expected_positive_part, response_rows, view
from shuffledp import Channel, Gaussian, Generic, Laplace, LatticeChannel, NotDefined, RandomizedResponse, shuffle_index
from shuffledp.accounting.account import bound_named
from shuffledp.accounting.shuffle_index import ShuffleIndex, index_of
from shuffledp.arithmetic.summand_law import ULP
from shuffledp.cli import cli
from shuffledp.core.pair import Pair
from shuffledp.randomizers.dummies import Dummies
from shuffledp.randomizers.identity import Identity


def _brute(rows: np.ndarray) -> tuple[float, float]:
    """The root of the largest sum of (mu_x - mu_x')^2 / mu_x'' over rows, and the same with their minimum."""
    gaps = (rows[:, None] - rows[None, :]) ** 2
    return math.sqrt((gaps[:, :, None] / rows).sum(axis=-1).max()), math.sqrt((gaps / rows.min(axis=0)).sum(-1).max())


@pytest.mark.parametrize(
    "randomizer", [Laplace(epsilon0=0.4), Laplace(epsilon0=3.0), Gaussian(sigma=0.6), Gaussian(sigma=2.0)]
)
def test_closed_forms_are_the_largest_over_a_grid_of_inputs(randomizer: Laplace | Gaussian) -> None:
    y = np.linspace(-60, 61, 121 * 400 + 1)  # every input of the grid is a node: no kink is stepped over
    rows = np.array([randomizer.density(y, x) for x in np.linspace(0, 1, 9)]) * (y[1] - y[0])
    rows = rows[:, rows.min(axis=0) > 1e-280]
    chi, blanket = _brute(rows)
    found = shuffle_index(randomizer)
    assert found.known
    assert found.lower == pytest.approx(chi, rel=1e-4)
    assert found.blanket == pytest.approx(blanket, rel=1e-4)


@pytest.mark.parametrize("size", [2, 3, 10])
def test_a_response_and_its_matrix_have_one_index(size: int) -> None:
    chi, blanket = _brute(np.array(response_rows(size, 1.5)))
    for randomizer in (RandomizedResponse(size=size, epsilon0=1.5), Channel(response_rows(size, 1.5))):
        found = shuffle_index(randomizer)
        assert found.lower <= chi * (1 + 1e-12)
        assert found.upper >= chi * (1 - 1e-12)
        assert found.blanket == pytest.approx(blanket, rel=1e-9)
        assert found.known


@pytest.mark.parametrize("seed", range(20))
def test_random_channels(seed: int) -> None:
    rows = np.random.default_rng(seed).dirichlet(np.ones(4), size=5)
    chi, blanket = _brute(rows / rows.sum(axis=1)[:, None])
    for randomizer in (Channel(rows), LatticeChannel.of(Channel(rows))):
        found = shuffle_index(randomizer)
        assert found.lower <= chi * (1 + 1e-9)
        assert found.upper >= chi * (1 - 1e-9)
        assert found.blanket == pytest.approx(blanket, rel=1e-9)
        assert found.lower <= found.upper <= found.blanket


def _gaussian_tail(chi: float, c: float) -> float:
    z = c / chi
    return chi * math.exp(-z * z / 2) / math.sqrt(2 * math.pi) - c * math.erfc(z / math.sqrt(2)) / 2


@pytest.mark.parametrize(
    "randomizer",
    [Laplace(epsilon0=2.0), RandomizedResponse(size=2, epsilon0=2.0), RandomizedResponse(size=20, epsilon0=2.0),
     Channel([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.4, 0.3, 0.3]]), Gaussian(sigma=1.0)],
)  # fmt: skip
@pytest.mark.parametrize("deviations", [0.5, 3.0])
def test_large_crowds_show_the_index(
    randomizer: Laplace | RandomizedResponse | Channel | Gaussian, deviations: float
) -> None:
    n, index = 10**12, shuffle_index(randomizer)
    c = deviations * index.lower
    for name, chi in (("witness", index.lower), ("numeric", index.blanket)):
        claim = bound_named(name).claim(randomizer.blanket(), n=n, epsilon=c / math.sqrt(n)).log_delta
        end = claim.lower if name == "witness" else claim.upper
        assert math.exp(end) * math.sqrt(n) == pytest.approx(_gaussian_tail(chi, c), rel=0.01)


def test_a_mixed_crowd_can_be_worse_than_its_users_one_by_one() -> None:
    rows, epsilon = [[0.2, 0.1, 0.7], [0.5, 0.3, 0.2]], 0.1  # why the theorem needs its cushion
    truth = divergence(view(rows, [0, 0, 1]), view(rows, [1, 0, 1]), epsilon)
    shifts = [u - math.exp(epsilon) * w for u, w in zip(*rows, strict=True)]

    def one_by_one(users: list[int]) -> float:
        amounts = {0.0: 1.0}
        for user in users:
            amounts = _sums(amounts, shifts, rows[user])
        return sum(max(s, 0.0) * mass for s, mass in amounts.items()) / len(users)

    assert truth == pytest.approx(0.2822, abs=1e-4)
    assert max(one_by_one([0, 0, 1]), one_by_one([1, 0, 1])) == pytest.approx(0.2380, abs=1e-4)
    homogeneous = expected_positive_part([s / m for s, m in zip(shifts, rows[0], strict=True)], rows[0], 3) / 3
    assert homogeneous == pytest.approx(divergence(view(rows, [0, 0, 0]), view(rows, [1, 0, 0]), epsilon), rel=1e-9)


def _sums(amounts: dict[float, float], shifts: list[float], row: list[float]) -> dict[float, float]:
    found: dict[float, float] = {}
    for s, mass in amounts.items():
        for shift, share in zip(shifts, row, strict=True):
            found[s + shift / share] = found.get(s + shift / share, 0.0) + mass * share
    return found


@pytest.mark.parametrize("seed", range(20))
def test_an_index_that_is_not_known_is_enclosed(seed: int) -> None:
    """By the witnesses from below and the blanket from above, whatever the last digits of either are."""
    generator, off = np.random.default_rng(seed), mp.mpf(1e6) * mp.mpf(ULP)
    pairs = [
        Pair(generator.normal(size=5), np.ones(5), generator.dirichlet(np.ones(6))[:5], ulps=1e6) for _ in range(4)
    ]
    blanket = SimpleNamespace(
        releases=lambda: (), needs_crowd=True, summands=lambda n: n, chi_squared=lambda: None,
        witnesses=lambda: pairs[:2], pairs=lambda: [pairs[2:3], [pairs[3], pairs[0]]],
    )  # fmt: skip
    with mp.workdps(40):
        squares = [
            mp.fsum(
                mp.mpf(d) ** 2 * mp.mpf(m) for d, m in zip(pair.difference.tolist(), pair.masses.tolist(), strict=True)
            )
            for pair in pairs
        ]
        found = index_of(blanket)  # type: ignore[arg-type]
        low, high = (mp.sqrt(max(some)) for some in (squares[:2], squares[2:]))
        # all differences and masses at the worst of what they may be
        assert low * mp.sqrt(1 - off) * (1 - 4 * off) <= found.lower <= low * mp.sqrt(1 - off) * (1 - off)
        assert high * mp.sqrt(1 + off) * (1 + off) <= found.upper <= high * mp.sqrt(1 + off) * (1 + 4 * off)
        assert found.blanket == found.upper
    blanket.witnesses = list
    assert index_of(blanket).lower == 0  # type: ignore[arg-type]
    some_only = Pair(np.ones(1), np.ones(1), np.ones(1), bare_first=np.array([0.1]), bare_second=np.array([0.0]))
    for bare in (some_only, replace(some_only, bare_first=np.array([0.0]), bare_second=np.array([0.1]))):
        blanket.witnesses, blanket.pairs = lambda one=bare: [one], lambda one=bare: [[one]]
        uncovered = index_of(blanket)  # type: ignore[arg-type]
        assert (uncovered.lower, uncovered.upper) == (0.0, math.inf)


def test_known_is_known_to_nine_digits_and_finite() -> None:
    assert ShuffleIndex(lower=1.0, upper=1 + 0.9e-9, blanket=2.0).known
    assert not ShuffleIndex(lower=1.0, upper=1 + 1.1e-9, blanket=2.0).known
    assert not ShuffleIndex(lower=math.inf, upper=math.inf, blanket=math.inf).known


def test_what_has_no_index_says_so() -> None:
    assert shuffle_index(Channel([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25]])).lower == math.inf
    assert not shuffle_index(Generic(epsilon0=1.0)).known
    with pytest.raises(NotDefined, match="dummies"):
        shuffle_index(Dummies(structure=Identity(size=4), dummies=1.0))


def test_the_command() -> None:
    done = CliRunner().invoke(cli, ["index", "--randomizer", "laplace", "--epsilon0", "1,2", "--json"])
    results = json.loads(done.stdout)["results"]
    assert results[1] == {"lower": pytest.approx(1.98296, abs=1e-5), "upper": pytest.approx(1.98296, abs=1e-5),
                          "blanket": pytest.approx(2.61402, abs=1e-5), "known": True}  # fmt: skip
    assert CliRunner().invoke(cli, ["index", "--randomizer", "gaussian"]).exit_code != 0
