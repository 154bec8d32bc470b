"""Certified bounds on log E[(X_1 + ... + X_n)_+] for i.i.d. bounded X, at a cost that does not grow with n.

For theta > 0, s_+ is the inverse Laplace transform of 1/z^2 along z = theta + i t, so with M(z) = E[e^(zX)]

    E[S_+] = (1/2 pi) integral of M(theta + i t)^n / (theta + i t)^2 dt.

Smoothing. x_+ lies between x Phi(x/s) and x Phi(x/s) + s phi(x/s) for every s > 0. Their transforms are
e^(s^2 z^2/2) (1/z^2 - s^2) and e^(s^2 z^2/2) / z^2: both integrands decay like e^(-s^2 t^2/2), whatever the law.
Sampling. The trapezoidal sum with step h equals the sum over all integers j of e^(-theta x_j) E[g(S + x_j)], x_j = 2 pi j / h
(Poisson). The term j = 0 is wanted; the others are aliases: not negative for the upper function, and at most a
geometric series of Chernoff bounds for the lower one.
Tilting. theta is near the saddle point, where M(theta + i t)^n / M(theta)^n is largest at t = 0, so a few thousand
nodes give *relative* accuracy however small the expectation is.

Poisson sums. With a Poisson number of summands, M(z)^n becomes e^(mean (M(z) - 1)); `tilt` has both, and nothing else changes.

Every step that is not exact is entered in the ledger: width of the smoothing, aliases, truncation of the sum, rounding.
docs/maths/kernel.md has the proofs, one heading for each part of this file.
Assumption: numpy's exp, expm1, sin, cos, tan, log, log1p, arctan2 are within 4 units in the last place, and so are exp and expm1
of a complex number, relative to the modulus.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from shuffledp.arithmetic.enclosure import Enclosure
from shuffledp.arithmetic.summand_law import ULP, Complexes, Law, Reals, Summands
from shuffledp.arithmetic.tilt import Tilted, at_saddle, negligible

_CUT: Final = 8.8
"""Nodes go to t = _CUT / s, where the smoothing has decayed to e^-38.7."""
_MOST_WORK: Final = 4_000_000
"""Nodes times atoms of one evaluation, at the most."""
_FEWEST_NODES: Final = 64
"""However many atoms there are."""
_FIRST_PERIOD: Final = 10.0
"""Standard deviations of the tilted sum in the first sampling period tried."""
_LONGEST_PERIOD: Final = 1e4
"""And in the last."""
_SMOOTHING_SHARE: Final = 0.7
"""Share of the tolerance that is meant for the smoothing."""
_TOO_MUCH: Final = 0.3
"""Share of the tolerance above which a part of the width is worth another evaluation."""
_CLEAR: Final = 0.1
"""A node whose relative error exceeds this is charged in full instead."""
_INFLATED: Final = 1 + 1e-9
"""Covers the rounding of a bound that is itself computed in doubles."""
_OVERFLOW: Final = 600.0
"""Exponents are capped here: e^600 is already worth nothing as a bound."""
_STEEPEST: Final = 650.0
"""Largest theta x of a tilt that bounds aliases."""
_TILTS_BELOW: Final = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97)
"""Relative steps below theta at which aliases to the right are bounded."""
_TILTS_ABOVE: Final = np.geomspace(0.5, 40, 12)
"""Steps above theta, in reciprocal standard deviations, at which aliases to the left are bounded."""
_LOG_NEGLIGIBLE: Final = -46.0
"""Nodes below this in modulus, relative to the one at 0, are left out, and charged as if they were e^-45."""
_NEGLIGIBLE: Final = math.exp(-45.0)
_PHI0: Final = 1 / math.sqrt(2 * math.pi)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorLedger:
    """Where the width of an enclosure comes from, each relative to its upper end."""

    smoothing: float = 0.0
    aliasing: float = 0.0
    truncation: float = 0.0
    rounding: float = 0.0
    nodes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """log E[S_+], enclosed, and how."""

    log: Enclosure
    ledger: ErrorLedger

    def intersected(self, other: "Expectation") -> "Expectation":
        """Both enclosures at once, with the ledger of the other."""
        low, high = max(self.log.lower, other.log.lower), min(self.log.upper, other.log.upper)
        return Expectation(log=Enclosure(low, high), ledger=other.ledger)


def log_expected_positive_part(law: Law, n: Summands, *, tolerance: float = 1e-4) -> Expectation:
    """Encloses log E[(X_1 + ... + X_n)_+], or the same for a Poisson number of summands.

    The aim is a relative width of tolerance * max(1, z^2), where the sum has to deviate by z standard deviations to be
    positive: a relative change of the deviation (so of epsilon) by about tolerance / 2. If that costs too much the
    enclosure is wider, and still true.

    >>> coin = Law(np.array([1.0, -1.0]), np.array([0.5, 0.5]), np.array([1.0, 1.0]))
    >>> found = log_expected_positive_part(coin, 2)  # E = (1/4) * 2
    >>> math.exp(found.log.lower) <= 0.5 <= math.exp(found.log.upper)
    True
    """
    ceiling = negligible(law, n)
    if ceiling is not None:
        return Expectation(log=Enclosure(-math.inf, ceiling), ledger=ErrorLedger(rounding=1.0))
    if n == 1:
        return _one_summand(law)
    return _refined(at_saddle(law, n), tolerance)


def _one_summand(law: Law) -> Expectation:
    """One summand: the sum over the positive atoms, each moved by its error."""
    errors = (law.ulps + 2) * 2 * ULP * law.scales

    def log_sum(values: Reals) -> float:
        total = math.fsum((np.maximum(values, 0.0) * law.masses).tolist())
        return math.log(total) if total > 0 else -math.inf

    low, high = log_sum(law.values - errors), log_sum(law.values + errors)
    slack = (law.ulps + 4) * 2 * ULP + 4 * ULP * abs(high)
    return Expectation(
        log=Enclosure(low - slack, high + slack), ledger=ErrorLedger(rounding=min(1.0, high - low + 2 * slack))
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grid:
    """Where and how the integral is sampled: width s of the smoothing, period W, number of nodes t = 0, h, 2h, ..."""

    smoothing: float
    period: float
    nodes: int

    @property
    def step(self) -> float:
        """H = 2 pi / W."""
        return 2 * math.pi / self.period

    @property
    def cut(self) -> float:
        """T, the first t that is left out."""
        return self.step * self.nodes


@dataclass(frozen=True, slots=True)
class _Samples:
    """The integrand at the nodes where it is not negligible, relative to E[e^(theta S)].

    Attributes:
        t: these nodes, the first one 0.
        z: theta + i t.
        cumulant: the logarithm of the tilted characteristic function, for one summand.
        exponent: the same for the sum, + s^2 z^2 / 2.
        terms: e^exponent, those at t > 0 doubled: the nodes at -t are their conjugates.
        left_out: at most what the other nodes would add.
    """

    t: Reals
    z: Complexes
    cumulant: Complexes
    exponent: Complexes
    terms: Complexes
    left_out: float


def _refined(tilted: Tilted, tolerance: float) -> Expectation:
    """Refine the smoothing and the period until the relative width is within the tolerance, or further work too much."""
    z = max(1.0, tilted.theta * tilted.sd)
    tolerance = min(0.5, tolerance * z * z)
    guess = 1 / (tilted.theta * z * math.sqrt(2 * math.pi))
    period = _FIRST_PERIOD * tilted.sd
    aliases = _aliases(tilted)
    while aliases(period) > 0.02 * tolerance * guess and period < _LONGEST_PERIOD * tilted.sd:
        period *= 1.25
    smoothing = tilted.sd * math.sqrt(_SMOOTHING_SHARE * tolerance) / z
    affordable = max(_FEWEST_NODES, _MOST_WORK // len(tilted.x))
    best: Expectation | None = None
    while True:
        nodes = math.ceil(_CUT / smoothing * period / (2 * math.pi)) + 1
        if best is not None and nodes > affordable:
            return best
        enclosed = _evaluated(
            tilted, _Grid(smoothing=smoothing, period=period, nodes=min(nodes, affordable)), aliases(period)
        )
        best = enclosed if best is None else best.intersected(enclosed)
        ledger = enclosed.ledger
        done = best.log.upper - best.log.lower <= tolerance or ledger.rounding > 0.5 * tolerance
        if done or nodes > affordable or max(ledger.aliasing, ledger.smoothing) <= _TOO_MUCH * tolerance:
            return best
        if ledger.aliasing > _TOO_MUCH * tolerance:
            period *= 2
        if ledger.smoothing > _TOO_MUCH * tolerance:
            smoothing /= min(16.0, max(1.5, 1.1 * math.sqrt(ledger.smoothing / (_SMOOTHING_SHARE * tolerance))))


def _evaluated(tilted: Tilted, grid: _Grid, aliases: float) -> Expectation:
    """The trapezoidal sums of the upper and the lower function, and everything that is charged to them."""
    samples = _samples(tilted, grid)
    upper, bump = _smoothed_sums(grid, samples)
    nothing = _all_zeros(tilted, grid)
    rounding, truncation = _rounding(tilted, grid, samples), _truncation(tilted, grid)
    high = upper - nothing + rounding + truncation
    low = upper - bump - rounding - truncation - aliases
    if not high > 0 or not math.isfinite(high):
        return Expectation(log=Enclosure(-math.inf, math.inf), ledger=ErrorLedger(rounding=math.inf, nodes=grid.nodes))
    log_power = tilted.log_power
    slack = tilted.error_log_power + 16 * ULP * (1 + abs(log_power) + abs(math.log(high)))
    return Expectation(
        log=Enclosure(
            log_power + math.log(low) - slack if low > 0 else -math.inf,
            log_power + math.log(high) + slack,
        ),
        ledger=ErrorLedger(
            smoothing=max(0.0, bump - nothing) / high,
            aliasing=aliases / high,
            truncation=2 * truncation / high,
            rounding=2 * rounding / high + 2 * slack,
            nodes=grid.nodes,
        ),
    )


# Inversion.


def _samples(tilted: Tilted, grid: _Grid) -> _Samples:
    """E[e^(zS)] e^(s^2 z^2 / 2) at the nodes, relative to E[e^(theta S)]. Most are negligible, which their modulus tells."""
    s, theta = grid.smoothing, tilted.theta
    t: Reals = grid.step * np.arange(grid.nodes, dtype=np.float64)
    d, damping = _characteristic(tilted, grid), s * s * (theta * theta - t * t) / 2
    log_most = tilted.log_most(d, _characteristic_error(tilted) * t, t) + damping
    live = np.flatnonzero(~(log_most <= _LOG_NEGLIGIBLE))  # what is not a number stays
    t, damping = t[live], damping[live]
    z = np.asarray(theta + 1j * t, dtype=np.complex128)
    cumulant = tilted.cumulant(d[live])
    exponent = tilted.weight * cumulant + damping + 1j * (s * s * theta * t)
    if tilted.drift:
        exponent += 1j * (tilted.drift * t)
    terms = np.exp(exponent)
    terms[1:] *= 2
    dead = grid.nodes - len(live)
    left_out = dead * _NEGLIGIBLE * grid.step / math.pi * (1 / theta**2 + s * s) * _INFLATED
    return _Samples(t, z, cumulant, exponent, terms, left_out)


def _characteristic(tilted: Tilted, grid: _Grid) -> Complexes:
    """E_q[e^(i t X)] - 1 at the nodes: coarse and fine angles are combined by one matrix product.

    e^(i(u+v)) - 1 = A + B + AB with A = e^(iu) - 1, B = e^(iv) - 1: no digit of a small angle is lost.
    """
    h, nodes = grid.step, grid.nodes
    fine = max(1, math.isqrt(nodes))
    coarse = -(-nodes // fine)
    a = _circle(h * fine * np.arange(coarse, dtype=np.float64), tilted.x) * tilted.q
    b = _circle(h * np.arange(fine, dtype=np.float64), tilted.x)
    table: Complexes = a.sum(axis=1)[:, None] + (b @ tilted.q)[None, :] + a @ b.T
    return table.reshape(-1)[:nodes]


def _circle(t: Reals, x: Reals) -> Complexes:
    """e^(i t x) - 1, accurate for small angles."""
    angle = np.outer(t, x)
    half = np.sin(angle / 2)
    return -2 * half**2 + 1j * np.sin(angle)


# Smoothing.


def _smoothed_sums(grid: _Grid, samples: _Samples) -> tuple[float, float]:
    """The sum of the upper function, and by how much it exceeds that of the lower one: 1/z^2 and s^2 times the same terms."""
    s, h = grid.smoothing, grid.step
    bump = s * s * h / (2 * math.pi) * float(samples.terms.real.sum())
    return h / (2 * math.pi) * float((samples.terms / samples.z**2).real.sum()), bump


def _all_zeros(tilted: Tilted, grid: _Grid) -> float:
    """What the upper function counts for S = 0 because every summand is: s phi(0) each time, and in truth nothing."""
    log_chance = tilted.log_chance_of_zeros()
    return grid.smoothing * _PHI0 * math.exp(min(0.0, log_chance)) * (1 - 1e-9)


# Sampling.


def _aliases(tilted: Tilted) -> Callable[[float], float]:
    """For a period: the sum over j != 0 of e^(-theta x_j) E[(S + x_j)_+] <= Chernoff at any theta' on the right side of theta."""
    below, above = -np.array(_TILTS_BELOW) * tilted.theta, _TILTS_ABOVE / tilted.sd
    theta = tilted.theta + np.concatenate([below, above])
    left = int(np.count_nonzero(theta[: len(below)] * tilted.x.max() < _STEEPEST))  # they rise on either side
    theta = theta[theta * tilted.x.max() < _STEEPEST]
    if not 0 < left < len(theta):
        return lambda period: math.inf  # noqa: ARG005
    rate = np.abs(theta - tilted.theta)
    at_least = tilted.rise(theta) - 1 - np.log(theta)

    def sums(period: float) -> float:
        shift = rate * period
        log_bound = at_least - shift - np.log(-np.expm1(-shift))
        return sum(
            _INFLATED * math.exp(min(_OVERFLOW, float(side.min()))) for side in (log_bound[:left], log_bound[left:])
        )

    return sums


# Truncation.


def _truncation(tilted: Tilted, grid: _Grid) -> float:
    """At most what the nodes from T on would add."""
    s, h, cut, theta = grid.smoothing, grid.step, grid.cut, tilted.theta
    if cut <= theta:
        return math.inf
    decay = math.exp(min(0.0, s * s * (theta * theta - cut * cut) / 2))
    return decay * (1 / cut**2 + s * s) * (h + 1 / (s * s * cut)) / math.pi


# Rounding.


def _rounding(tilted: Tilted, grid: _Grid, samples: _Samples) -> float:
    """At most what floating point has added to or taken from the sum of both functions, and what was left out of it."""
    s, theta, h, size = grid.smoothing, tilted.theta, grid.step, np.abs(samples.terms)
    error, log_most = tilted.spoiled(samples.cumulant, _characteristic_error(tilted) * samples.t, samples.t)
    error += 16 * ULP * (1 + np.abs(samples.exponent))
    # where the relative error is not small, both the true and the computed node are below the most they can be
    log_ceiling = log_most + s * s * (theta * theta - samples.t * samples.t) / 2
    ceiling = np.exp(np.minimum(log_ceiling, _OVERFLOW))
    spoiled = np.where(error < _CLEAR, size * np.expm1(np.minimum(error, _CLEAR)), 2 * (size + 2 * ceiling))
    magnitude = 1 / np.abs(samples.z) ** 2 + s * s
    with np.errstate(over="ignore"):  # what is too large for a double is unbounded, which is safe
        live = h / (2 * math.pi) * float(((spoiled + grid.nodes * ULP * size) * magnitude).sum()) * _INFLATED
    return live + samples.left_out


def _characteristic_error(tilted: Tilted) -> float:
    """E_q[e^(itX)] - 1 is off by at most this times |t|."""
    # masses and tilt, angles, sines, the matrix product
    weight = (24 + 2 * tilted.ulps + 3 * len(tilted.x)) * (1 + tilted.theta * tilted.scales) * tilted.scales
    # and the error of log M, which scales all of q: as if some of the mass at zero were misplaced
    return 2 * ULP * float(tilted.q @ weight) + 2 * tilted.error_log_m * float(tilted.q @ tilted.scales)
