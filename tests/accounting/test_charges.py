"""What each bound adds for its own rounding, step by step, against 50 digits.

A claim is hardly larger for a step that is rounded the wrong way, and a test of claims alone would not notice: so every step is
compared by itself. What was computed before it is given, and laws claim to be off by a million units in the last place, so that
no charge is lost beside another.
"""

import math
from types import SimpleNamespace
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy.stats import binom

from oracles.precision import digits, exact
from shuffledp.accounting import cushion, numeric, rounds_lower_bound, witness
from shuffledp.arithmetic.enclosure import Enclosure
from shuffledp.arithmetic.positive_part import ErrorLedger, Expectation
from shuffledp.arithmetic.summand_law import ULP, Law
from shuffledp.core.pair import Pair

MANY = 1e6
"""Units in the last place."""
POINTS = 300
_digits = digits(50)


def rounded_up(found: float, truth: Any, size: float) -> bool:
    """Not below the truth, and above it by a few units in the last place of what was added up at most."""
    return bool(truth <= mp.mpf(found) <= truth + 64 * ULP * (1 + size))


def rounded_down(found: float, truth: Any, size: float) -> bool:
    return rounded_up(-found, -truth, size)


def exactly(end: float) -> Any:
    """In place of the kernel: both ends of the expectation are this."""
    return lambda *_, **__: Expectation(log=Enclosure(end, end), ledger=ErrorLedger())


def an_off_pair(seed: int) -> Pair:
    """Four messages that all can send and two that only some can, known to a million units in the last place."""
    generator = np.random.default_rng(seed)
    first, second = generator.dirichlet(np.ones(6)), generator.dirichlet(np.ones(6))
    eta = np.minimum(first, second)[:4] * generator.uniform(0.3, 1.0)
    return Pair(
        (first - second)[:4] / eta, second[:4] / eta, eta, bare_first=first[4:], bare_second=second[4:], ulps=MANY
    )


# Sums and differences of probabilities that are known by their logarithms.


def test_the_parts_of_a_delta_are_added_up() -> None:
    for seed in range(POINTS):
        generator = np.random.default_rng(seed)
        log_delta, more = -float(generator.exponential(20)), float(10.0 ** -generator.uniform(0, 12))
        truth = mp.log(mp.exp(log_delta) + mp.mpf(more))
        assert rounded_up(numeric._and_also(log_delta, more), truth, abs(log_delta) + abs(math.log(more)))
        assert numeric._and_also(log_delta, 0.0) == log_delta
        n, pair = int(10.0 ** generator.uniform(0, 12)), an_off_pair(seed)
        epsilon = float(generator.uniform(0, 2))
        found = numeric._with_uncovered(log_delta, pair, n, epsilon)
        truth = mp.log(mp.exp(log_delta) / n + mp.mpf(pair.uncovered_up(epsilon)))
        assert rounded_up(found, truth, abs(log_delta) + 2 * math.log(n) + 8 * abs(found))
        covered = Pair(pair.difference, pair.second, pair.masses)
        assert rounded_up(
            numeric._with_uncovered(log_delta, covered, n, 0.5), log_delta - mp.log(n), abs(log_delta) + 30
        )
        assert numeric._with_uncovered(-math.inf, covered, n, 0.5) == -math.inf


def test_a_sum_of_logarithms_is_charged_eight_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is stated: 7 would hide among the last bits, so that a unit is a millionth here."""
    unit = 2.0**-20
    monkeypatch.setattr(numeric, "ULP", unit)
    for seed in range(POINTS):
        generator = np.random.default_rng(seed)
        log_delta, more = -float(generator.exponential(20)), float(10.0 ** -generator.uniform(0, 12))
        truth = mp.log(mp.exp(log_delta) + mp.mpf(more))
        stated = 8 * unit * (1 + abs(truth) + abs(mp.log(mp.mpf(more))))
        assert abs(mp.mpf(numeric._and_also(log_delta, more)) - truth - stated) <= stated / 1000


def test_a_shortfall_is_taken_off() -> None:
    for seed in range(POINTS):
        generator = np.random.default_rng(seed)
        log_delta = -float(generator.exponential(20))
        shortfall = math.exp(log_delta) * float(generator.uniform(0, 1.2)) ** 3
        left = mp.exp(log_delta) - mp.mpf(shortfall)
        found = witness._less(log_delta, shortfall)
        if left <= 0:
            assert found == -math.inf
        else:
            lost = float(mp.exp(log_delta) / left)  # how much larger errors are after the difference
            assert rounded_down(found, mp.log(left), (1 + abs(log_delta)) * lost)
        assert witness._less(log_delta, 0.0) == log_delta
        assert witness._less(-math.inf, 0.5) == -math.inf


@pytest.mark.parametrize("seed", range(40))
def test_a_mean_is_divided_by_the_number_of_users(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    generator = np.random.default_rng(seed)
    end, n = -float(generator.exponential(20)), int(10.0 ** generator.uniform(0, 12))
    pair = Pair(np.array([0.5, -0.5]), np.array([1.0, 1.0]), np.array([0.5, 0.5]))
    blanket: Any = SimpleNamespace(
        witnesses=lambda: [pair], summands=lambda n: n, shortfall=lambda n, epsilon: 0.0, epsilon0=lambda: None
    )
    monkeypatch.setattr(witness, "log_expected_positive_part", exactly(end))
    monkeypatch.setattr(witness, "chernoff_many", lambda laws, n: np.full(len(laws), 1e9))
    claim = witness.Witness().claim(blanket, n=n, epsilon=0.1)
    assert rounded_down(claim.log_delta.lower, end - mp.log(n), abs(end) + 30)
    monkeypatch.setattr(rounds_lower_bound, "log_expected_positive_part", exactly(end))
    low, high = rounds_lower_bound._ends(pair.law(0.1), n)
    truth = mp.exp(end) / n
    assert 1 - 1e-13 * (1 + abs(end)) <= low / truth <= 1 <= high / truth <= 1 + 1e-13 * (1 + abs(end))


# One user, and laws of l.


def test_the_delta_of_somebody_alone() -> None:
    for seed in range(POINTS):
        pair = an_off_pair(seed)
        epsilon = float(np.random.default_rng(seed).uniform(0, 1))
        law = pair.law(epsilon)
        off = mp.mpf(law.ulps) * mp.mpf(ULP)
        atoms = zip(exact(law.values), exact(law.masses), exact(law.scales), strict=True)
        # values and masses at the worst of what they may be
        total = mp.fsum(max(v + off * s, 0) * m * (1 + off) for v, m, s in atoms) + mp.mpf(pair.uncovered_up(epsilon))
        found = numeric._of_one(pair, epsilon)
        assert found < -700 if total == 0 else rounded_up(found, mp.log(total), abs(found))


def test_laws_are_as_near_as_they_say() -> None:
    for seed in range(40):
        off = an_off_pair(seed)
        pair = Pair(off.difference, off.second, off.masses, ulps=0.0)
        for epsilon in (0.0, 1e-9, 0.01, 0.7, 5.0):
            pairs = list(zip(exact(pair.difference), exact(pair.second), strict=True))
            ahead = [d - mp.expm1(mp.mpf(epsilon)) * second for d, second in pairs]
            behind = [mp.expm1(-mp.mpf(epsilon)) * second - d for d, second in pairs]
            for law, truths in ((pair.law(epsilon), ahead), (rounds_lower_bound._reverse(pair, epsilon), behind)):
                for value, truth, scale in zip(exact(law.values), truths, exact(law.scales), strict=True):
                    assert abs(value - truth) <= law.ulps * mp.mpf(ULP) * scale
                    assert scale >= abs(value) * (1 - 4 * ULP)
                assert law.masses is pair.masses
                assert law.ulps == 4
            gaps = zip(exact(an_off_pair(seed).bare_first), exact(an_off_pair(seed).bare_second), strict=True)
            bare = mp.fsum(max(u - mp.exp(mp.mpf(epsilon)) * v, 0) for u, v in gaps)
            claimed = an_off_pair(seed).uncovered_up(epsilon)
            assert bare <= claimed <= bare + 1e-12 * math.exp(epsilon)


# The cushion.

PROFILES = [
    cushion._Profile(ratio=ratio, gamma=gamma, inputs=inputs, chi=1.0, skew=1.0, size=1.0, blanket_chi=2.0)
    for ratio, gamma, inputs in ((1.5, 0.7, 2), (8.3, 0.11, 3), (40.0, 0.03, 5), (2.0, 0.9, 9))
]


@pytest.mark.parametrize("profile", PROFILES, ids=str)
def test_how_a_crowd_is_split(profile: Any) -> None:
    splits = 0
    for n in (1000, 30_011, 10**6 + 7, 10**12 + 39):
        for left in (7, n // 1000, n // 30, n // 4, n // 2, n - 2, n - 1):
            for log_failure in (-12.0, -40.0, -300.0):
                found = cushion._split(profile, n, left, log_failure)
                size = max(1, min(cushion._LARGEST_BLOCK, left // profile.inputs + 1))
                most = mp.mpf(profile.gamma) * (n - 1 - (n - 1 - left) // size * size)
                draws = most - mp.sqrt(2 * most * -log_failure)
                if found is None:
                    assert left > n - 1 - size or draws < max(1, profile.ratio) + 1
                    continue
                splits += 1
                assert (found.size, found.blocks) == (size, (n - 1 - left) // size)
                assert found.crowd == found.blocks * found.size
                assert left <= n - 1 - found.crowd < left + size  # whom the cushion consists of
                assert profile.inputs * (found.size - 1) <= left  # they fill no block
                taken = round(profile.ratio / found.log_factor)
                assert draws - 1 - 2e-9 * most <= taken <= draws
                rho = mp.mpf(profile.ratio) / taken
                assert rho <= found.log_factor <= rho * (1 + 1e-14)
                rise = mp.expm1(2 * rho)
                kappa = mp.exp(rho) * (3 * rho**2 * mp.exp(2 * rho) + mp.mpf(profile.ratio) / found.crowd * rise)
                assert kappa <= found.excess <= kappa * (1 + 1e-13)
                assert found.log_failure == log_failure
                assert binom.logcdf(taken - 1, n - 1 - found.crowd, profile.gamma) <= log_failure + 1e-6
    assert splits > 10


def test_a_cushion_of_one_draw_is_one() -> None:
    """A cushion may be as thin as e^eps0 draws; no thinner, and there is at least one block."""
    profile = cushion._Profile(ratio=1.0, gamma=1.0, inputs=2, chi=1.0, skew=1.0, size=1.0, blanket_chi=2.0)
    thin = cushion._split(profile, 6, 2, -0.1)
    assert thin is not None
    assert (thin.blocks, thin.size) == (1, 2)
    assert thin.log_factor == pytest.approx(1 / 2)  # floor(3 - sqrt(0.6))
    assert cushion._split(profile, 5, 3, -0.1) is None
    assert cushion._split(profile, 3, 1, -0.5) is None
    one = cushion._split(profile, 5, 2, -0.2)
    assert one is not None
    assert one.log_factor == pytest.approx(1.0)


def a_stack(seed: int) -> Any:
    generator = np.random.default_rng(seed)
    rows = generator.dirichlet(np.ones(4) * 5, size=3)
    return cushion._Stack(np.array([(rows[0] - rows[1]) / row for row in rows]), rows[1] / rows, rows, MANY)


@pytest.mark.parametrize("seed", range(20))
def test_a_crowd_with_its_excess(seed: int) -> None:
    stack, epsilon, excess = a_stack(seed), 0.1, 0.25
    crowd = cushion._Crowd(stack, excess, epsilon)
    assert crowd.ulps == MANY + 6
    laws = crowd.laws()
    for law, difference, second, masses in zip(laws, stack.difference, stack.second, stack.masses, strict=True):
        assert (law.masses == masses).all()
        assert law.ulps == crowd.ulps
        for value, scale, d, s in zip(
            exact(law.values), exact(law.scales), exact(difference), exact(second), strict=True
        ):
            one = d - mp.expm1(mp.mpf(epsilon)) * s
            assert abs(value - (one + mp.mpf(excess) * abs(one))) <= 6 * mp.mpf(ULP) * scale
            truth = (abs(d) + mp.expm1(mp.mpf(epsilon)) * s) * (1 + mp.mpf(excess))
            assert abs(scale - truth) <= 1e-14 * truth
    for n in (3, 1000, 10**7):
        weight = max(float((law.masses * law.values).sum()) for law in laws)
        square = max(float((law.masses * law.values**2).sum()) for law in laws)
        saddle = max(-weight / square, 0.3 / math.sqrt(n * square))
        off = mp.mpf(crowd.ulps) * mp.mpf(ULP)
        ceilings = []
        for theta in exact(saddle * cushion._TILTS):
            moments = [  # values and masses at the worst of what they may be
                mp.fsum(
                    m * (1 + off) * mp.exp(theta * (v + off * s))
                    for m, v, s in zip(exact(law.masses), exact(law.values), exact(law.scales), strict=True)
                )
                for law in laws
            ]
            ceilings.append(n * mp.log(max(moments)) - 1 - mp.log(theta))
        found = crowd.ceiling(n)
        assert min(ceilings) <= found
        widest = max(float(law.scales.max()) for law in laws)
        assert found <= min(ceilings) + 8 * n * off * (1 + 2 * saddle * widest) + 1e-12 * n


def test_where_moments_would_overflow_there_is_no_ceiling() -> None:
    stack = cushion._Stack(np.array([[1e4, -1e4]]), np.array([[1.0, 1e4]]), np.array([[1e-12, 1e-12]]), 4.0)
    assert cushion._Crowd(stack, 0.0, 0.3).ceiling(10) == math.inf


@pytest.mark.parametrize("ceilings", [[-5.0, -9.0, -7.0], [-9.0, -5.0, -5.5], [-5.0], [-7.0, -6.9, -6.8, -6.7]])
@pytest.mark.parametrize("lowered", [0.05, 1.0, 3.0])
@pytest.mark.parametrize("too_much", [0.0, 0.04])
def test_the_worst_of_several_crowds(
    monkeypatch: pytest.MonkeyPatch, ceilings: list[float], lowered: float, too_much: float
) -> None:
    """The most promising one, then all that may be worse: together, or by halves where that is too much for them."""
    asked: list[list[float]] = []
    first = max(ceilings)

    def evaluated(crowds: list[Any], _: Any, ceiling: float) -> tuple[float, str]:
        asked.append([crowd.ceiling(0) for crowd in crowds])
        assert ceiling == max(asked[-1])
        found = max(truly(one) for one in asked[-1])
        return found + (too_much if len(crowds) > 1 else 0.0), f"ledger {len(asked)}"

    def truly(one: float) -> float:
        return one - (lowered if one == first else 0.1)

    monkeypatch.setattr(cushion, "_stacks", lambda _: ceilings)
    monkeypatch.setattr(cushion, "_Crowd", lambda one, *_: SimpleNamespace(ceiling=lambda _: one))
    monkeypatch.setattr(cushion, "_evaluated", evaluated)
    split = cushion._Split(blocks=7, size=11, log_factor=0.3, excess=0.1, log_failure=-8.0)
    ledger: Any
    found, ledger = cushion._worst(None, split, 0.1)  # type: ignore[arg-type]
    rest = sorted((one for one in ceilings if one > first - lowered and one != first), reverse=True)
    assert asked[:2] == [[first]] + ([rest] if rest else [])
    assert all(len(group) < len(rest) for group in asked[2:])
    worst = max(map(truly, ceilings))
    held = worst == truly(first) and not (rest and truly(rest[0]) == worst)
    assert (ledger == "ledger 1") == held
    truth = mp.log(mp.exp(mp.mpf(worst) + mp.mpf(0.3)) / 77 + mp.exp(-8))
    assert rounded_up(found, truth, 40)


def test_a_crowd_of_any_size_is_rounded_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The logarithm of the crowd may be far larger than what it is taken from."""
    generator = np.random.default_rng(5)
    monkeypatch.setattr(cushion, "_stacks", lambda _: [0])
    monkeypatch.setattr(cushion, "_Crowd", lambda *_: SimpleNamespace(ceiling=lambda _: 0.0))
    for _ in range(POINTS):
        worst, blocks = -float(generator.exponential(0.1)), int(10.0 ** generator.uniform(0, 14))
        monkeypatch.setattr(cushion, "_evaluated", lambda *_, worst=worst: (worst, ErrorLedger()))
        log_failure = -float(generator.uniform(30, 60))
        split = cushion._Split(blocks=blocks, size=1234, log_factor=0.01, excess=0.1, log_failure=log_failure)
        found, _ = cushion._worst(None, split, 0.1)  # type: ignore[arg-type]
        truth = mp.log(mp.exp(mp.mpf(worst) + mp.mpf(0.01)) / (blocks * 1234) + mp.exp(log_failure))
        assert rounded_up(found, truth, 100)


def test_what_a_block_lacks_is_charged_for_every_block(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def block(laws: list[Law], size: int) -> Any:
        sizes.extend([len(laws), size])
        return SimpleNamespace(law=laws[0], shortfall=1e-4)

    monkeypatch.setattr(cushion, "largest_block", block)
    monkeypatch.setattr(cushion, "log_expected_positive_part", exactly(-6.0))
    split = cushion._Split(blocks=7, size=11, log_factor=0.3, excess=0.1, log_failure=-8.0)
    crowd = cushion._Crowd(a_stack(1), 0.1, 0.1)
    found, _ = cushion._evaluated([crowd, crowd], split, 0.0)
    assert sizes == [6, 11]
    assert found == pytest.approx(math.log(math.exp(-6) + 7e-4), rel=1e-14)
    assert cushion._evaluated([crowd], split, -6.5)[0] == -6.5
