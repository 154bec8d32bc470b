"""The bound for two messages, step by step as docs/maths/binary.md states it, against 40 digits."""

import math
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from flint import arb
from scipy.stats import binom

from oracles.precision import digits
from shuffledp import Channel
from shuffledp.accounting import binary
from shuffledp.arithmetic.summand_law import ULP

Q, R, EPSILON = 0.6, 0.25, 0.4
A = mp.exp(mp.mpf(EPSILON))
ALPHA = mp.mpf(Q) - A * mp.mpf(R)
_digits = digits(40)


def coins() -> Any:
    return binary._Coins(arb(Q), arb(R), arb(Q) - arb(EPSILON).exp() * arb(R), EPSILON)


def law(ones: int, zeros: int) -> list[Any]:
    """Of the number of ones among people with two coins."""
    found = [mp.mpf(1)]
    for chance in [mp.mpf(Q)] * ones + [mp.mpf(R)] * zeros:
        found = [
            (found[j] * (1 - chance) if j < len(found) else 0) + (found[j - 1] * chance if j else 0)
            for j in range(len(found) + 1)
        ]
    return found


def divergence(masses: list[Any], j: int) -> Any:
    """alpha P(N = j - 1) - (a - 1) P(N >= j)."""
    before = masses[j - 1] if 1 <= j <= len(masses) else 0
    return ALPHA * before - mp.expm1(mp.mpf(EPSILON)) * mp.fsum(masses[max(j, 0) :])


def wholes(*numbers: int) -> Any:
    return np.array(numbers, dtype=np.int64)


def copies_charged(ones: int, zeros: int, theta: float, center: int, stride: int, period: int) -> Any:
    periods = np.array([float(period)])
    found = coins()._aliases(wholes(ones), wholes(zeros), np.array([theta]), wholes(center), wholes(stride), periods)
    return mp.mpf(float(found[0]))


# Datasets.


@pytest.mark.parametrize("others", [1, 2, 7, 199, 1200, 2398, 2399, 2400, 2401, 4799, 4800, 4801, 100_000])
def test_every_dataset_is_covered_by_a_smaller_one(others: int) -> None:
    ones, zeros = binary._cover(others)
    assert len(ones) <= 2400
    assert (ones >= 0).all()
    assert (zeros >= 0).all()
    number = np.arange(others + 1)
    at = np.searchsorted(ones, number, side="right") - 1
    assert (at >= 0).all()
    assert (zeros[at] <= others - number).all()
    dropped = others - ones - zeros
    assert dropped.max() == -(-(others + 1) // 2400) - 1  # and no more are dropped than must be
    assert np.isin(others, ones + dropped)


@pytest.mark.parametrize("others", [1, 2, 99, 100, 101, 250, 10**6])
def test_the_datasets_of_the_lower_end_exist(others: int) -> None:
    ones, zeros = binary._datasets(others)
    assert (ones + zeros == others).all()
    assert (ones >= 0).all()
    assert (zeros >= 0).all()
    near = np.arange(min(100, others + 1))
    assert np.isin([*near, *(others - near)], ones).all()
    assert np.diff(ones).max() <= max(1, -(-others // 100))


# The characteristic function.


def test_logarithms_of_turned_coins() -> None:
    generator = np.random.default_rng(1)
    angles = 10.0 ** generator.uniform(-9, 0.4, 100)
    chances = generator.uniform(0.01, 0.99, 100)
    less, sine = binary._less_and_sine(angles)
    for chance, angle, real, imaginary in zip(chances, angles, *binary._log_turned(chances, less, sine), strict=True):
        truth = mp.log(1 - mp.mpf(chance) + mp.mpf(chance) * mp.expj(mp.mpf(angle)))
        assert abs(mp.mpf(real) - truth.real) <= 1e-15 * (abs(truth.real) + chance * angle**2)
        assert abs(mp.mpf(imaginary) - truth.imag) <= 1e-15 * (abs(truth.imag) + chance * angle)


def test_moduli_are_rounded_up() -> None:
    generator = np.random.default_rng(2)
    count, chance = generator.integers(1, 10**6, 100), generator.uniform(0.01, 0.99, 100)
    t = generator.uniform(0.001, math.pi, 100)
    for found, n, c, at in zip(binary._log_modulus(count, chance, t), count, chance, t, strict=True):
        truth = int(n) * mp.log(abs(1 - mp.mpf(c) + mp.mpf(c) * mp.expj(mp.mpf(at))))
        assert truth <= found <= truth * (1 - 1e-10)


@pytest.mark.parametrize(("ones", "zeros"), [(0, 9), (30, 0), (12, 25)])
def test_the_tilted_law(ones: int, zeros: int) -> None:
    for theta in (0.05, 0.7, 3.0):
        masses = [mass * mp.exp(theta * j) for j, mass in enumerate(law(ones, zeros))]
        moment = mp.fsum(masses)
        mean = mp.fsum(j * mass for j, mass in enumerate(masses)) / moment
        sd = mp.sqrt(mp.fsum((j - mean) ** 2 * mass for j, mass in enumerate(masses)) / moment)
        one, zero, found_mean, found_sd = coins()._tilted(wholes(ones), wholes(zeros), np.array([theta]))
        for found, truth in (
            (found_mean[0], mean),
            (found_sd[0], sd),
            (one[0], Q * mp.exp(theta) / (1 - mp.mpf(Q) + Q * mp.exp(theta))),
            (zero[0], R * mp.exp(theta) / (1 - mp.mpf(R) + R * mp.exp(theta))),
        ):
            assert abs(mp.mpf(float(found)) - truth) <= 1e-12 * truth
        log_m = coins()._log_m(wholes(ones), wholes(zeros), np.array([theta]))[0]
        assert log_m == pytest.approx(float(mp.log(moment)), rel=1e-13)
        scale, fuzz = coins()._scale(wholes(ones), wholes(zeros), np.array([theta]), wholes(17))
        assert scale[0] == pytest.approx(float(mp.log(moment) - theta * 17), rel=1e-12)
        assert fuzz[0] == pytest.approx(64 * ULP * (1 + (ones + zeros + 17) * theta), rel=1e-9)


def test_the_tilt_is_that_of_the_best_threshold() -> None:
    """log(beta / alpha), at most 40; raised to 1 / sd, at most 1, where it is smaller than that."""
    beta = A * (1 - mp.mpf(R)) - (1 - mp.mpf(Q))
    assert coins().theta == pytest.approx(float(mp.log(beta / ALPHA)), rel=1e-13)
    tiny = binary._Coins(arb(Q), arb(R), arb(1e-30), EPSILON)
    assert tiny.theta == 40.0
    assert binary._Coins(arb(Q), arb(Q), arb(0, 1e-30), EPSILON).theta == 40.0
    flat = binary._Coins(arb(Q), arb(R), arb(Q) - arb(1e-9).exp() * arb(R), 1e-9)
    assert flat._raised(np.array([0.0, 0.5, 4.0, 1e5])).tolist() == [1.0, 1.0, 0.25, 1e-5]
    assert flat._raised(np.array([1e12]))[0] == flat.theta


# Values in the window, and what is charged for them.


@pytest.mark.parametrize(("cut", "period"), [(9.5, 26.0), (2.0, 26.0), (9.5, 4.0), (0.7, 3.0)])
@pytest.mark.parametrize(("ones", "zeros", "stride"), [(40, 0, 1), (0, 60, 1), (30, 25, 1), (30, 50, 2)])
def test_the_values_and_their_charges(
    monkeypatch: pytest.MonkeyPatch, cut: float, period: float, ones: int, zeros: int, stride: int
) -> None:
    """With few nodes truncation is what is charged most, with a short period the copies: none is lost beside another."""
    monkeypatch.setattr(binary, "_CUT", cut)
    monkeypatch.setattr(binary, "_PERIOD", period)
    monkeypatch.setattr(binary, "ULP", ULP * 2**20)  # rounding that counts
    pair, theta = coins(), np.array([0.45])
    _, _, mean, sd = pair._tilted(wholes(ones), wholes(zeros), theta)
    center = int(mean[0]) + 1
    nodes = binary._enough_nodes(sd)
    low, high = pair._enclose(wholes(ones), wholes(zeros), theta, wholes(center), wholes(stride), nodes)
    exact, masses = mp.mpf(0.45), law(ones, zeros)
    moment = mp.fsum(mass * mp.exp(exact * j) for j, mass in enumerate(masses))
    size = _nodes(float(sd[0]), cut, period)
    slack = _rounding_and_truncation(exact, ones, zeros, center, stride, size)
    copies = copies_charged(ones, zeros, 0.45, center, stride, size[0])
    for j, (down, up) in zip(range(-4, 5), zip(low[0], high[0], strict=True), strict=True):
        truth = divergence(masses, center + stride * j) / moment * mp.exp(exact * center)
        charged = slack * mp.exp(-exact * stride * j) + copies
        assert down <= max(truth, 0) * (1 + 1e-12)
        assert truth <= up * (1 + 1e-12)
        if down > 0:
            assert abs((mp.mpf(up) - mp.mpf(down)) / 2 / charged - 1) <= 1e-6
            assert charged <= (mp.mpf(up) - mp.mpf(down)) / 2


def _nodes(sd: float, cut: float, period: float) -> tuple[int, int, bool]:
    """How many nodes around the circle, an odd number; how many of one half are used; whether those are all."""
    around = 2 * math.ceil(max(period * sd, 40.0) / 2) + 1
    used = int(min(math.ceil(cut / sd / (2 * math.pi / around)), (around - 1) / 2)) + 1
    return around, used, 2 * used - 1 >= around


def _rounding_and_truncation(
    theta: Any, ones: int, zeros: int, center: int, stride: int, size: tuple[int, int, bool]
) -> Any:
    around, used, every = size
    rise, h = mp.expm1(mp.mpf(EPSILON)), 2 * mp.pi / around
    chances = [c * mp.exp(theta) / (1 - c + c * mp.exp(theta)) for c in (mp.mpf(Q), mp.mpf(R))]
    total = mp.mpf(0)
    for k in range(used):
        t = h * k
        log_psi = mp.fsum(
            n * mp.log(1 + c * mp.expm1(mp.mpc(0, t))) for n, c in zip((ones, zeros), chances, strict=True)
        )
        weight = (1 if k == 0 else 2) * abs(mp.exp(log_psi)) / around
        weight *= ALPHA * mp.exp(theta) + rise / abs(mp.expm1(-theta - mp.mpc(0, t)))
        phase = (ones * chances[0] + zeros * chances[1] + center + 8 * stride + 1) * t
        total += weight * (used + 64 * (1 + phase + abs(log_psi)))
    rounding = total * mp.mpf(ULP) * 2**20
    last = min(h * used, mp.pi)
    modulus = mp.fprod(abs(1 + c * mp.expm1(mp.mpc(0, last))) ** n for n, c in zip((ones, zeros), chances, strict=True))
    return rounding + (0 if every else modulus * (ALPHA * mp.exp(theta) + rise / -mp.expm1(-theta)))


@pytest.mark.parametrize(
    ("ones", "zeros", "period", "stride"), [(40, 0, 21, 1), (10, 30, 25, 1), (10, 30, 31, 2), (3, 3, 41, 1)]
)
def test_the_copies_are_at_most_what_is_charged(ones: int, zeros: int, period: int, stride: int) -> None:
    """What the sampling folds in at any point of the window, added up; and at most 300 times as much is charged."""
    pair, masses = coins(), law(ones, zeros)
    for theta in (0.3, 0.8):
        _, _, mean, _ = pair._tilted(wholes(ones), wholes(zeros), np.array([theta]))
        center = int(mean[0]) + 1
        moment = mp.fsum(mass * mp.exp(theta * j) for j, mass in enumerate(masses))
        charged = copies_charged(ones, zeros, theta, center, stride, period)
        most = mp.mpf(0)
        for j in range(-4, 5):
            at = center + stride * j
            copies = mp.fsum(
                abs(divergence(masses, at + fold * period)) * mp.exp(theta * fold * period)
                for fold in [*range(-60, 0), *range(1, 61)]
            )
            most = max(most, copies / moment * mp.exp(theta * center))
        assert most <= charged <= 300 * most


def test_many_users_a_stride_apart() -> None:
    """One kind of coin only, so that scipy knows the truth."""
    for n in (10**3, 10**5, 10**7, 3 * 10**8):
        epsilon = 3 / math.sqrt(n)
        pair = binary._Coins(arb(Q), arb(R), arb(Q) - arb(epsilon).exp() * arb(R), epsilon)
        (low,), (high,) = pair.log_divergence(wholes(n), wholes(0))
        law = binom(n, Q)
        beta_alpha = math.exp(pair.theta)
        # D is largest at the first j with f(j - 1) / f(j) > beta / alpha
        best = math.ceil((n + 1) * Q * beta_alpha / (1 - Q + Q * beta_alpha))
        truth = max(
            (Q - math.exp(epsilon) * R) * law.pmf(j - 1) - math.expm1(epsilon) * law.sf(j - 1)
            for j in range(best - 2, best + 3)
        )
        assert low <= math.log(truth) + 1e-7
        assert math.log(truth) - 1e-7 <= high
        assert high - low < (1e-6 if n < 10**6 else 2e-3)


def test_a_maximum_at_the_end_of_the_window_is_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """It might go on rising there; unless no threshold is beyond it."""
    pair = coins()
    shape = np.exp(-((np.arange(9) - 4.0) ** 2) / 8)

    def claimed(values: Any, ones: int, zeros: int) -> tuple[float, float]:
        monkeypatch.setattr(pair, "_enclose", lambda *_: (values[None] * 0.999, values[None] * 1.001))
        (low,), (high,) = pair.log_divergence(wholes(ones), wholes(zeros))
        theta = pair._raised(pair._tilted(wholes(ones), wholes(zeros), np.array([pair.theta]))[3])
        center = np.clip(np.ceil(ones_mean(pair, ones, zeros) + 0.5), 0, ones + zeros + 1).astype(np.int64)
        scale, fuzz = pair._scale(wholes(ones), wholes(zeros), theta, center)
        return float(low - scale[0] + fuzz[0]), float(high - scale[0] - fuzz[0])

    low, high = claimed(shape, 40, 40)
    assert low == pytest.approx(math.log(0.999), abs=1e-9)
    assert high == pytest.approx(math.log(1.001), abs=1e-9)
    for values in (shape[4::-1].repeat(2)[:9], shape.cumsum(), shape.cumsum()[::-1]):
        assert claimed(values, 40, 40)[1] == math.inf
    for few in (1, 2, 3):  # all thresholds are in the window
        assert claimed(shape.cumsum()[::-1], 0, few)[1] < math.inf


def ones_mean(pair: Any, ones: int, zeros: int) -> Any:
    return pair._tilted(wholes(ones), wholes(zeros), np.array([pair.theta]))[2]


# The claim.


def test_one_user_has_the_larger_of_two_divergences() -> None:
    for q, r in ((0.6, 0.25), (0.9, 0.7), (0.3, 0.1)):
        for epsilon in (0.0, 0.1, 0.3):
            truth = max(mp.mpf(q) - mp.exp(epsilon) * mp.mpf(r), (1 - mp.mpf(r)) - mp.exp(epsilon) * (1 - mp.mpf(q)))
            claim = binary.Binary().claim(Channel([[1 - q, q], [1 - r, r]]).blanket(), n=1, epsilon=epsilon)
            assert mp.exp(claim.log_delta.lower) <= truth * (1 + 1e-12)
            assert truth * (1 - 1e-12) <= mp.exp(claim.log_delta.upper)
            assert claim.log_delta.upper - claim.log_delta.lower < 1e-12


def test_each_side_can_be_asked_for_alone() -> None:
    blanket = Channel([[0.4, 0.6], [0.75, 0.25]]).blanket()
    both, upper, lower = (
        binary.Binary().claim(blanket, n=50, epsilon=0.3, side=side).log_delta for side in ("both", "upper", "lower")
    )
    assert (upper.lower, upper.upper) == (-math.inf, both.upper)
    assert (lower.lower, lower.upper) == (both.lower, 0.0)
