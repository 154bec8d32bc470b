"""What the kernel charges for each step that is not exact: term by term as docs/maths/kernel.md states it, in 40 digits.

An enclosure is hardly wider for a charge that is wrong, and a test of enclosures alone would not notice: so each is compared by
itself. Laws here claim to be off by a million units in the last place, so that no charge is lost beside another.
"""

import math
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy.optimize import brentq

from shuffledp import InvalidInput
from shuffledp.arithmetic import positive_part, tilt
from shuffledp.arithmetic.summand_law import Law, Poisson, Summands, expected
from shuffledp.arithmetic.tilt import at_saddle, chernoff, chernoff_many, negligible

U = mp.mpf(2) ** -53
ULPS = 1e6
CASES: dict[str, tuple[list[float], list[float], Summands]] = {
    "two atoms": ([1.0, -1.25], [0.3, 0.4], 40),
    "some mass at zero": ([0.5, -2.0, 0.125], [0.2, 0.15, 0.1], 7),
    "hardly any mass at zero": ([2.0, -1.5], [0.25, 0.7499], 300),
    "a rare gain": ([3.0, -0.5], [1e-4, 0.5], 1000),
    "almost always the loss": ([0.75, -4.0], [1e-3, 0.99], 3),
    "a Poisson number": ([0.5, -0.75, 0.25], [0.5, 0.25, 0.125], Poisson(12.0)),
    "a Poisson number and a drift": ([1.0, -0.5], [0.3, 0.2], Poisson(9.0, -1.75)),
}
every = pytest.mark.parametrize("name", CASES)


def law_of(name: str, ulps: float = ULPS) -> tuple[Law, Summands]:
    values, masses, n = CASES[name]
    x = np.array(values)
    return Law(x, np.array(masses), np.abs(x) * 1.5, ulps), n


def near(found: Any, truth: Any, relative: float = 1e-9) -> bool:
    return bool(abs(mp.mpf(float(found)) - truth) <= relative * abs(truth))


def atoms(law: Law) -> list[tuple[Any, Any, Any]]:
    return [tuple(map(mp.mpf, map(float, one))) for one in zip(law.values, law.masses, law.scales, strict=True)]


def m_less_1(law: Law, theta: Any) -> Any:
    return mp.fsum(p * mp.expm1(theta * x) for x, p, _ in atoms(law))


def error_of_log(law: Law, n: Summands, theta: Any) -> Any:
    """Of log M(theta) for one summand; of the whole power for a Poisson number."""
    count = len(law.values)
    rise, growth = m_less_1(law, theta), [mp.exp(theta * x) for x, _, _ in atoms(law)]
    small = not isinstance(n, Poisson) and rise < -0.5
    terms = growth if small else [abs(mp.expm1(theta * x)) for x, _, _ in atoms(law)]
    summed = mp.fsum(
        p * ((6 + law.ulps + count) * term + (2 + law.ulps) * theta * scale * grown)
        for (_, p, scale), term, grown in zip(atoms(law), terms, growth, strict=True)
    )
    if isinstance(n, Poisson):
        return 2 * U * (n.mean * (summed + 4 * abs(rise)) + 4 * abs(theta * n.drift) + 4)
    return 2 * U * ((summed + (4 + count if small else 0)) / (1 + rise) + 8 * abs(mp.log1p(rise)))


def log_power(law: Law, n: Summands, theta: Any) -> Any:
    rise = m_less_1(law, theta)
    return n.mean * rise + theta * n.drift if isinstance(n, Poisson) else n * mp.log1p(rise)


@every
def test_the_tilt(name: str) -> None:
    """Its power, masses and deviation; and that theta is at the saddle point, or where theta sd is 1."""
    law, n = law_of(name)
    found = at_saddle(law, n)
    theta = mp.mpf(found.theta)
    weight, drift = expected(n), n.drift if isinstance(n, Poisson) else 0.0
    m = 1 if isinstance(n, Poisson) else 1 + m_less_1(law, theta)
    assert near(found.log_power, log_power(law, n, theta), 1e-12)
    q = [p * mp.exp(theta * x) / m for x, p, _ in atoms(law)]
    assert all(near(one, truth, 1e-12) for one, truth in zip(found.q, q, strict=True))
    assert near(found.sd, mp.sqrt(weight * mp.fsum(one * x * x for one, (x, _, _) in zip(q, atoms(law), strict=True))))
    assert (found.weight, found.drift) == (weight, drift)
    error = error_of_log(law, n, theta)
    assert near(found.error_log_power, error if isinstance(n, Poisson) else n * error)

    def slope(log_theta: float) -> float:
        at = math.exp(log_theta)
        return float(np.sum(law.masses * law.values * np.exp(at * law.values))) + drift / weight

    def deviation(log_theta: float) -> float:
        at = math.exp(log_theta)
        scale = 1.0 if isinstance(n, Poisson) else float(1 + m_less_1(law, mp.mpf(at)))
        square = float(np.sum(law.masses * law.values**2 * np.exp(at * law.values))) / scale
        return log_theta + 0.5 * math.log(weight * square)

    roots = [brentq(one, -12, 4) for one in (slope, deviation) if one(-12) < 0]
    assert math.log(found.theta) == pytest.approx(max(roots), abs=0.009)


@every
def test_what_is_charged_for_other_tilts_and_for_zeros(name: str) -> None:
    law, n = law_of(name)
    found = at_saddle(law, n)
    here = mp.mpf(found.theta)
    for factor in (0.1, 0.5, 1.0, 1.5, 3.0):
        theta = mp.mpf(float(found.theta * factor))
        error = error_of_log(law, n, theta) + error_of_log(law, n, here)
        gap = log_power(law, n, theta) - log_power(law, n, here)
        claimed = found.rise(np.array([float(theta)]))[0]
        assert near(claimed, gap + (error if isinstance(n, Poisson) else n * error), 1e-8) or factor == 1.0
        assert claimed > gap
    total = mp.fsum(p for _, p, _ in atoms(law))
    if isinstance(n, Poisson):
        none = -n.mean * total if n.drift == 0 else -mp.inf
        off = n.mean * total * (len(law.values) + law.ulps + 6) * 2 * U + error_of_log(law, n, here)
        truth, charged = none - log_power(law, n, here), off
    else:
        truth = n * mp.log1p(-total) - log_power(law, n, here)
        up = total * (1 + (len(law.values) + law.ulps + 4) * 2 * U)
        charged = n * (mp.log1p(-total) - mp.log1p(-up) + error_of_log(law, n, here))
    claimed = found.log_chance_of_zeros()
    if truth == -mp.inf:
        assert claimed == -math.inf
    else:
        assert claimed < truth
        assert near(mp.mpf(claimed) - truth, -charged, 1e-3)


@every
def test_the_characteristic_function_is_as_near_as_is_charged(name: str) -> None:
    law, n = law_of(name)
    found = at_saddle(law, n)
    for nodes in (1, 2, 3, 10, 50):
        grid = positive_part._Grid(smoothing=0.25 * found.sd, period=11.0 * found.sd, nodes=nodes)
        assert grid.step == pytest.approx(2 * math.pi / (11.0 * found.sd), rel=1e-15)
        assert grid.cut == grid.step * nodes
        samples = positive_part._samples(found, grid)
        off = positive_part._characteristic_error(found)
        assert samples.t[0] == 0
        for k in range(nodes):
            t, s, theta = mp.mpf(k * grid.step), mp.mpf(grid.smoothing), mp.mpf(found.theta)
            d = mp.fsum(
                mp.mpf(float(q)) * (mp.expj(t * mp.mpf(float(x))) - 1) for q, x in zip(found.q, found.x, strict=True)
            )
            truth = d if isinstance(n, Poisson) else mp.log(1 + d)
            whole = found.weight * truth + s * s * (theta + 1j * t) ** 2 / 2 + 1j * mp.mpf(found.drift) * t
            if k * grid.step not in samples.t:
                assert whole.real < -46
                continue
            j = int(np.searchsorted(samples.t, k * grid.step))
            assert abs(mp.mpc(samples.cumulant[j]) - truth) <= 1e-13 * (abs(truth) + mp.mpf(1e-3))
            double = 1 if k == 0 else 2
            assert abs(mp.mpc(samples.terms[j]) - double * mp.exp(whole)) <= 1e-10 * abs(double * mp.exp(whole))
            assert samples.z[j] == complex(found.theta, samples.t[j])
    count = len(law.values)
    of_atoms = mp.fsum(
        mp.mpf(float(q)) * (24 + 2 * law.ulps + 3 * count) * (1 + mp.mpf(found.theta) * scale) * scale
        for q, (_, _, scale) in zip(found.q, atoms(law), strict=True)
    )
    of_log_m = (
        2
        * mp.mpf(found.error_log_m)
        * mp.fsum(mp.mpf(float(q)) * scale for q, (_, _, scale) in zip(found.q, atoms(law), strict=True))
    )
    assert near(off, 2 * U * of_atoms + of_log_m)
    assert (found.error_log_m == 0) == isinstance(n, Poisson)


@every
def test_a_node_is_left_out_only_if_its_modulus_is_certainly_negligible(name: str) -> None:
    """The ceiling is above the modulus of everything that d may be, and no further than its rounding."""
    law, n = law_of(name)
    found = at_saddle(law, n)
    grid = positive_part._Grid(smoothing=0.01 * found.sd, period=11.0 * found.sd, nodes=200)
    t = grid.step * np.arange(grid.nodes, dtype=np.float64)
    d, off = positive_part._characteristic(found, grid), positive_part._characteristic_error(found) * t
    with mp.workdps(40):
        for k, most in enumerate(found.log_most(d, off, t)):
            psi, error = mp.mpc(d[k]), mp.mpf(off[k])
            if isinstance(n, Poisson):
                truth = n.mean * (psi.real + error)
                slack = n.mean * 12 * U * abs(psi) + 8 * U * abs(n.drift) * mp.mpf(t[k])
            else:
                square = max(abs(1 + psi) ** 2 + 32 * U * (abs(psi.real) + abs(psi.imag)), mp.mpf(10) ** -12)
                truth = n * mp.log(abs(1 + psi) + error)
                slack = n * (mp.log(square) / 2 + error / mp.sqrt(square)) - truth
            assert truth * (1 - 8 * U * mp.sign(truth)) <= mp.mpf(float(most))
            assert abs(mp.mpf(float(most)) - (truth + slack)) <= mp.mpf(10) ** -12 * (1 + abs(truth))


def test_a_node_that_is_not_a_number_is_not_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would make the sum look smaller than it may be; so it says that nothing is known."""
    law, n = law_of("two atoms")
    found, computed = at_saddle(law, n), positive_part._characteristic

    def broken(tilted: tilt.Tilted, grid: positive_part._Grid) -> Any:
        d = computed(tilted, grid)
        d[-1] = math.nan
        return d

    grid = positive_part._Grid(smoothing=0.25 * found.sd, period=11.0 * found.sd, nodes=400)
    assert positive_part._evaluated(found, grid, 0.0).log.upper < math.inf
    monkeypatch.setattr(positive_part, "_characteristic", broken)
    assert positive_part._evaluated(found, grid, 0.0).log.upper == math.inf


@pytest.mark.parametrize("theta", [1e-6, 0.3, 40.0])
def test_a_handful_of_atoms_has_the_sums_of_many(theta: float) -> None:
    x, p = np.array([1.5, -2.0, 0.25, 0.0]), np.array([0.1, 0.2, 0.3, 0.05])
    assert tilt._few_sums(x, p, 1.5)(theta) == pytest.approx(tilt._many_sums(x, p, 1.5)(theta), rel=1e-13)


@pytest.mark.parametrize("ulps", [ULPS, 1e13])
@every
def test_what_is_charged_for_the_nodes(name: str, ulps: float) -> None:
    """Rounding node by node, those that are not known at all in full, and the nodes that are left out."""
    law, n = law_of(name, ulps)
    found = at_saddle(law, n)
    grid = positive_part._Grid(smoothing=0.25 * found.sd, period=11.0 * found.sd, nodes=70)
    samples = positive_part._samples(found, grid)
    s, h, theta = mp.mpf(grid.smoothing), mp.mpf(grid.step), mp.mpf(found.theta)
    off, total, full = mp.mpf(positive_part._characteristic_error(found)), mp.mpf(0), 0
    for k in range(len(samples.t)):
        t, log_psi, size = mp.mpf(samples.t[k]), mp.mpc(samples.cumulant[k]), mp.mpf(abs(samples.terms[k]))
        modulus = mp.exp(log_psi.real)
        if isinstance(n, Poisson):
            error = n.mean * (off * t + 12 * U * abs(log_psi)) + 8 * U * abs(n.drift) * t
            most = n.mean * log_psi.real + error
        else:
            error = n * (off * t / modulus + 8 * U * abs(log_psi))
            most = n * mp.log(modulus + off * t)
        error += 16 * U * (1 + abs(mp.mpc(samples.exponent[k])))
        ceiling = mp.exp(min(most + s * s * (theta * theta - t * t) / 2, 600))
        spoiled = size * mp.expm1(error) if error < 0.1 else 2 * (size + 2 * ceiling)
        full += error >= 0.1
        total += (spoiled + grid.nodes * U * size) * (1 / abs(theta + 1j * t) ** 2 + s * s)
    dead = grid.nodes - len(samples.t)
    assert near(samples.left_out, dead * mp.exp(-45) * h / mp.pi * (1 / theta**2 + s * s) * (1 + mp.mpf(10) ** -9))
    assert near(
        positive_part._rounding(found, grid, samples),
        h / (2 * mp.pi) * total * (1 + mp.mpf(10) ** -9) + mp.mpf(samples.left_out),
        1e-11 if not full else 1e-6,
    )
    assert full > 0 or ulps == ULPS
    for nodes in (20, 40, 70):
        cut = positive_part._Grid(smoothing=grid.smoothing, period=grid.period, nodes=nodes)
        last = nodes * h
        stated = mp.exp(s * s * (theta**2 - last**2) / 2) * (1 / last**2 + s * s) * (h + 1 / (s * s * last)) / mp.pi
        if last > theta:
            assert near(positive_part._truncation(found, cut), stated)
            beyond = [
                mp.exp(s * s * (theta**2 - (j * h) ** 2) / 2) * (1 / (j * h) ** 2 + s * s)
                for j in range(nodes, nodes + 300)
            ]
            assert mp.fsum(beyond) * h / mp.pi <= stated
    short = positive_part._Grid(smoothing=grid.smoothing, period=grid.period, nodes=1)
    assert positive_part._truncation(found, short) == math.inf or short.cut > found.theta
    bump = s * s * h / (2 * mp.pi) * mp.fsum(mp.mpf(float(one)) for one in samples.terms.real)
    upper = (
        h
        / (2 * mp.pi)
        * mp.fsum((mp.mpc(a) / mp.mpc(z) ** 2).real for a, z in zip(samples.terms, samples.z, strict=True))
    )
    sums = positive_part._smoothed_sums(grid, samples)
    assert near(sums[0], upper)
    assert near(sums[1], bump)
    chance = mp.exp(min(0, mp.mpf(found.log_chance_of_zeros())))
    assert chance < 1e-300 or near(
        positive_part._all_zeros(found, grid), s / mp.sqrt(2 * mp.pi) * chance * (1 - mp.mpf(10) ** -9), 1e-12
    )


@every
@pytest.mark.parametrize("deviations", [4.0, 8.0])
def test_aliases_are_at_most_what_is_charged(name: str, deviations: float) -> None:
    """The best geometric series of those tried, to the left and to the right."""
    law, n = law_of(name)
    found = at_saddle(law, n)
    period, theta, total = deviations * found.sd, mp.mpf(found.theta), mp.mpf(0)
    below = [theta * (1 - mp.mpf(step)) for step in positive_part._TILTS_BELOW]
    above = [theta + mp.mpf(float(step)) / mp.mpf(found.sd) for step in positive_part._TILTS_ABOVE]
    for side in (below, above):
        series = []
        for u in side:
            if u * max(law.values) < 650:
                rise = mp.mpf(float(found.rise(np.array([float(u)]))[0]))
                ratio = mp.exp(-abs(u - theta) * period)
                series.append(mp.exp(rise) * ratio / (mp.e * u) / (1 - ratio))
        total += min(series)
    assert near(positive_part._aliases(found)(period), total * (1 + mp.mpf(10) ** -9), 1e-8)


@pytest.mark.parametrize("top", [1.0, 0.01, 50.0])
def test_no_tilt_is_steeper_than_doubles_can_hold(top: float) -> None:
    """Where the saddle point is beyond that, theta stops at the limit, and the bound is still finite and true."""
    law = Law(np.array([top, -top / 1000]), np.array([1e-300, 0.5]), np.array([top, top]))
    found = at_saddle(law, 3)
    assert 599 < found.theta * top <= 600.0001
    assert math.isfinite(chernoff(law, 3))


def test_a_tilt_too_steep_bounds_no_alias() -> None:
    law, n = law_of("two atoms")
    found = at_saddle(law, n)
    found.x = found.x * 1e6
    assert positive_part._aliases(found)(10.0) == math.inf


@every
def test_the_ends_hold_everything_that_is_charged(name: str) -> None:
    law, n = law_of(name)
    found = at_saddle(law, n)
    grid = positive_part._Grid(smoothing=0.25 * found.sd, period=11.0 * found.sd, nodes=70)
    samples = positive_part._samples(found, grid)
    aliases = 0.25 * positive_part._smoothed_sums(grid, samples)[0]
    upper, bump = map(mp.mpf, positive_part._smoothed_sums(grid, samples))
    rounding, truncation = positive_part._rounding(found, grid, samples), positive_part._truncation(found, grid)
    zeros = positive_part._all_zeros(found, grid)
    high, low = upper - zeros + rounding + truncation, upper - bump - rounding - truncation - aliases
    ends = positive_part._evaluated(found, grid, aliases)
    if not high < math.inf:
        assert (ends.log.lower, ends.log.upper, ends.ledger.rounding) == (-math.inf, math.inf, math.inf)
        return
    power = mp.mpf(found.log_power)
    slack = mp.mpf(found.error_log_power) + 16 * U * (1 + abs(power) + abs(mp.log(high)))
    assert near(mp.exp(ends.log.upper - power), high * mp.exp(slack), 1e-12)
    if low > 0:
        assert near(mp.exp(ends.log.lower - power), low * mp.exp(-slack), 1e-11)
    else:
        assert ends.log.lower == -math.inf
    assert near(ends.ledger.aliasing, aliases / high)
    assert near(ends.ledger.truncation, 2 * truncation / high)
    assert near(ends.ledger.rounding, 2 * rounding / high + 2 * slack)
    assert near(ends.ledger.smoothing, max(0, bump - zeros) / high, 1e-7)
    assert ends.ledger.nodes == 70


def test_one_summand_is_moved_by_its_error() -> None:
    values, masses, scales = np.array([0.5, -2.0, 0.0]), np.array([0.25, 0.5, 0.125]), np.array([1.0, 2.0, 4.0])
    found = positive_part.log_expected_positive_part(Law(values, masses, scales, ULPS), 1)
    off = (ULPS + 2) * 2 * U
    high, low = (0.5 + off) * 0.25 + 4 * off * 0.125, (0.5 - off) * 0.25
    slack = (ULPS + 4) * 2 * U + 4 * U * abs(mp.log(high))
    assert near(mp.exp(found.log.upper), high * mp.exp(slack), 1e-13)
    assert near(mp.exp(found.log.lower), low * mp.exp(-slack), 1e-13)
    assert near(found.ledger.rounding, mp.log(high) - mp.log(low) + 2 * slack, 1e-6)


@every
def test_chernoffs_bound_alone_and_of_many(name: str) -> None:
    """S_+ <= e^(theta S) / (e theta), with the errors of the power and of what is computed after it."""
    law, n = law_of(name)
    found = at_saddle(law, n)
    theta, power = mp.mpf(found.theta), log_power(law, n, mp.mpf(found.theta))
    stated = power - 1 - mp.log(theta) + mp.mpf(found.error_log_power) + 16 * U * (1 + abs(power))
    assert near(chernoff(law, n), stated, 1e-13)
    other = Law(law.values[:1] * 1.5 - 0.1, law.masses[:1], law.scales[:1] * 1.5, 1.0)
    nothing = Law(-np.abs(law.values), law.masses, law.scales, 0.0)
    both = chernoff_many([law, other, nothing], n)
    assert both[2] == -math.inf
    if isinstance(n, Poisson):
        assert both[0] == chernoff(law, n)
        return
    # its tilt is its own, and near the same: what a less exact law costs is known without it
    root = float(
        brentq(lambda at: float(np.sum(law.masses * law.values * np.exp(at * law.values))), 1e-6, 600 / max(law.values))
    )
    rise, count = m_less_1(law, mp.mpf(root)), len(law.values)
    assert both[0] == pytest.approx(float(n * mp.log1p(rise) - 1 - mp.log(root)), abs=1e-5)
    summed = mp.fsum(p * (abs(mp.expm1(root * x)) + root * scale * mp.exp(root * x)) for x, p, scale in atoms(law))
    worse = Law(law.values, law.masses, law.scales, 1e3 * ULPS)
    more = mp.mpf(float(chernoff_many([worse], n)[0])) - mp.mpf(float(chernoff_many([law], n)[0]))
    assert near(more, n * 2 * U * 999 * ULPS * summed / (1 + rise), 1e-4)
    assert both[0] >= chernoff_many([law], n)[0]
    assert count > 1


def test_values_that_are_positive_by_rounding_only() -> None:
    law = Law(np.array([0.0, -1e-9, -2.0]), np.array([0.25, 0.5, 0.125]), np.array([1.0, 100.0, 2.0]), ULPS)
    excess = ULPS * U * 0.25 + (ULPS * U * 100 - mp.mpf(1e-9)) * 0.5
    assert near(negligible(law, 8), mp.log(8 * excess) + mp.mpf(1e-12), 1e-14)
    assert near(negligible(law, Poisson(2.5)), mp.log(2.5 * excess) + mp.mpf(1e-12), 1e-14)
    assert negligible(Law(np.array([-1.0]), np.array([0.5]), np.array([1.0]), 0.0), 8) == -math.inf
    assert negligible(Law(np.array([1.0, -1.0]), np.array([0.0, 0.5]), np.array([1.0, 1.0]), 0.0), 8) == -math.inf
    assert negligible(Law(np.array([1.0]), np.array([0.5]), np.array([1.0]), 0.0), 8) is None
    assert tilt.chernoff(law, 8) == negligible(law, 8)


def test_the_mass_at_zero_is_rounded_down() -> None:
    """With the error of each mass and of their sum; none is left over where the masses may sum to 1."""
    masses = np.array([0.25, 0.5])
    law = Law(masses, masses, masses, ULPS)
    up = mp.mpf(0.75) * (1 + (2 + ULPS + 4) * 2 * U)
    assert near(law.log_zero_mass_down, mp.log1p(-up), 1e-14)
    assert law.log_zero_mass_down < mp.log1p(-up)
    whole = Law(masses, np.array([0.5, 0.5]), masses, ULPS)
    assert whole.log_zero_mass_down == -math.inf


@pytest.mark.parametrize(
    ("values", "masses", "scales"),
    [
        ([1.0, 2.0], [0.5], [1.0, 2.0]), ([1.0], [0.5, 0.1], [1.0]), ([1.0], [0.5], [1.0, 2.0]), ([[1.0]], [[0.5]], [[1.0]]),
        ([math.inf], [0.5], [1.0]), ([math.nan], [0.5], [1.0]), ([1.0], [-0.1], [1.0]), ([1.0, 2.0], [0.6, 0.6], [1.0, 2.0]),
    ],
)  # fmt: skip
def test_what_is_no_law_is_refused(values: Any, masses: Any, scales: Any) -> None:
    with pytest.raises(InvalidInput, match="a law needs"):
        Law(np.array(values), np.array(masses), np.array(scales))


@pytest.mark.parametrize(
    ("mean", "drift"), [(0.0, 0.0), (-1.0, 0.0), (math.inf, 0.0), (1.0, 0.5), (1.0, -math.inf), (math.nan, 0.0)]
)
def test_what_is_no_poisson_number_is_refused(mean: float, drift: float) -> None:
    with pytest.raises(InvalidInput, match="a Poisson number"):
        Poisson(mean, drift)
    assert expected(Poisson(2.5)) == 2.5
    assert expected(3) == 3
