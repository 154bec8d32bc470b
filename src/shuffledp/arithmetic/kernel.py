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

Every step that is not exact is entered in the ledger: width of the smoothing, aliases, truncation of the sum, rounding.
docs/maths/kernel.md has the proofs. Assumption: numpy's exp, expm1, sin, cos, log1p are within 4 units in the last place.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shuffledp.arithmetic.enclosure import Enclosure
from shuffledp.arithmetic.law import ULP, Law, Reals

_CUT: Final = 8.8
"""Nodes go to t = _CUT / s, where the smoothing has decayed to e^-38.7."""
_MOST_WORK: Final = 4_000_000
"""Nodes times atoms of one evaluation, at the most."""
_PHI0: Final = 1 / math.sqrt(2 * math.pi)

Complexes = NDArray[np.complex128]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
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
    ledger: Ledger


def log_expected_positive_part(law: Law, n: int, *, tolerance: float = 1e-4) -> Expectation:
    """Encloses log E[(X_1 + ... + X_n)_+].

    The aim is a relative width of tolerance * max(1, z^2), where the sum has to deviate by z standard deviations to be
    positive: a relative change of the deviation (so of epsilon) by about tolerance / 2. If that costs too much the
    enclosure is wider, and still true.

    >>> coin = Law(np.array([1.0, -1.0]), np.array([0.5, 0.5]), np.array([1.0, 1.0]))
    >>> found = log_expected_positive_part(coin, 2)  # E = (1/4) * 2
    >>> math.exp(found.log.lower) <= 0.5 <= math.exp(found.log.upper)
    True
    """
    ceiling = _negligible(law, n)
    if ceiling is not None:
        return Expectation(log=Enclosure(-math.inf, ceiling), ledger=Ledger(rounding=1.0))
    if n == 1:
        return _single(law)
    return _Tilted(law, n).enclose(tolerance)


def chernoff(law: Law, n: int) -> float:
    """A quick upper bound on log E[(X_1 + ... + X_n)_+]: s_+ <= e^(theta s) / (e theta) at the saddle point."""
    ceiling = _negligible(law, n)
    if ceiling is not None:
        return ceiling
    tilted = _Tilted(law, n)
    slack = n * tilted.error_log_m + 16 * ULP * (1 + n * abs(tilted.log_m))
    return n * tilted.log_m - 1 - math.log(tilted.theta) + slack


def chernoff_many(laws: Sequence[Law], n: int) -> Reals:
    """`chernoff` for many laws at once, with a rougher saddle point (any is valid)."""
    width = max(len(law.values) for law in laws)
    if width == 0:
        return np.full(len(laws), -np.inf)

    def table(rows: list[Reals]) -> Reals:
        return np.array([np.pad(row, (0, width - len(row))) for row in rows])

    x, p, scales = table([w.values for w in laws]), table([w.masses for w in laws]), table([w.scales for w in laws])
    ulps = max(law.ulps for law in laws)
    top = np.where(p > 0, x, -np.inf).max(axis=1)
    result = np.empty(len(laws))
    for i in np.flatnonzero(top <= 0).tolist():
        result[i] = chernoff(laws[i], n)
    live = np.flatnonzero(top > 0)
    x, p, scales, top = x[live], p[live], scales[live], top[live]
    low = np.log(1e-3 / (math.sqrt(n) * np.abs(x).max(axis=1)))
    high = np.log(600 / top)
    for _ in range(24):
        middle = 0.5 * (low + high)
        theta = np.exp(middle)[:, None]
        slope = (p * x * np.exp(theta * (x - top[:, None]))).sum(axis=1)
        low, high = np.where(slope < 0, middle, low), np.where(slope < 0, high, middle)
    theta = np.exp(high)
    rises = np.expm1(theta[:, None] * x)
    m_less_1 = np.maximum((p * rises).sum(axis=1), -1 + 1e-9)
    per_atom = (6 + ulps + width) * np.abs(rises) + (2 + ulps) * theta[:, None] * scales * (1 + rises)
    log_m = np.log1p(m_less_1)
    error = 2 * ULP * (((p * per_atom).sum(axis=1) + width) / (1 + m_less_1) + 8 * np.abs(log_m))
    result[live] = n * (log_m + error) - 1 - np.log(theta) + 16 * ULP * (1 + n * np.abs(log_m))
    return result


def _negligible(law: Law, n: int) -> float | None:
    """If no value is positive but for rounding: an upper bound on log E[S_+] <= log(n E[X_+]). Else None."""
    if (law.masses[law.values > 0] > 0).any():
        return None
    excess = float(np.maximum(law.values + law.ulps * ULP * law.scales, 0.0) @ law.masses)
    return math.log(n * excess) + 1e-12 if excess > 0 else -math.inf


def _single(law: Law) -> Expectation:
    """One summand: the sum over the positive atoms, each moved by its error."""
    errors = (law.ulps + 2) * 2 * ULP * law.scales

    def log_sum(values: Reals) -> float:
        total = math.fsum((np.maximum(values, 0.0) * law.masses).tolist())
        return math.log(total) if total > 0 else -math.inf

    low, high = log_sum(law.values - errors), log_sum(law.values + errors)
    slack = (law.ulps + 4) * 2 * ULP + 4 * ULP * abs(high)
    return Expectation(
        log=Enclosure(low - slack, high + slack), ledger=Ledger(rounding=min(1.0, high - low + 2 * slack))
    )


class _Tilted:
    """The law tilted to its saddle point: everything below is relative to M(theta)^n."""

    def __init__(self, law: Law, n: int) -> None:
        keep = law.masses > 0
        self.x, self.p, self.scales = law.values[keep], law.masses[keep], law.scales[keep]
        self.n, self.ulps, self.log_zero_down = n, law.ulps, law.log_zero_mass_down
        self.theta = _saddle(self.x, self.p, n)
        log_m, error_log_m = self._log_m(np.array([self.theta]))
        self.log_m, self.error_log_m = float(log_m[0]), float(error_log_m[0])
        self.q = self.p * np.exp(self.theta * self.x - self.log_m)
        self.sd = math.sqrt(n * float(self.q @ self.x**2))
        # E_q[e^(itX)] - 1 is off by at most error_slope |t|: masses and tilt, angles, sines, the matrix product
        weight = (24 + 2 * self.ulps + 3 * len(self.x)) * (1 + self.theta * self.scales) * self.scales
        # and the error of log M, which scales all of q: as if some of the mass at zero were misplaced
        self.error_slope = 2 * ULP * float(self.q @ weight) + 2 * self.error_log_m * float(self.q @ self.scales)

    def _log_m(self, theta: Reals) -> tuple[Reals, Reals]:
        """Log M(theta) and a bound on its error."""
        exponents = np.outer(theta, self.x)
        rises = np.expm1(exponents)
        m_less_1 = rises @ self.p
        spread = theta[:, None] * self.scales
        # far below 1, M is summed from its positive terms instead; the mass at zero is then known to an absolute error
        small = m_less_1 < -0.5
        growth = np.exp(exponents)
        m = np.where(small, max(0.0, 1 - float(self.p.sum())) + growth @ self.p, 1 + m_less_1)
        log_m = np.where(small, np.log(np.maximum(m, 1e-300)), np.log1p(np.maximum(m_less_1, -0.5)))
        terms = np.where(small[:, None], growth, np.abs(rises))
        per_atom = (6 + self.ulps + len(self.x)) * terms + (2 + self.ulps) * spread * growth
        absolute = np.where(small, 4.0 + len(self.x), 0.0)
        return log_m, 2 * ULP * ((per_atom @ self.p + absolute) / np.maximum(m, 1e-300) + 8 * np.abs(log_m))

    def enclose(self, tolerance: float) -> Expectation:
        """Refine the smoothing until the relative width is within the tolerance."""
        z = max(1.0, self.theta * self.sd)
        tolerance = min(0.5, tolerance * z * z)
        guess = 1 / (self.theta * z * math.sqrt(2 * math.pi))
        period = 10 * self.sd
        while (aliases := self._aliases(period)) > 0.02 * tolerance * guess and period < 1e4 * self.sd:
            period *= 1.25
        smoothing = self.sd * math.sqrt(0.7 * tolerance) / z
        best: Expectation | None = None
        while True:
            nodes = math.ceil(_CUT / smoothing * period / (2 * math.pi)) + 1
            affordable = max(64, _MOST_WORK // len(self.x))
            if best is not None and nodes > affordable:
                return best
            found = self._evaluate(smoothing, period, min(nodes, affordable), aliases)
            best = found if best is None else _intersection(best, found)
            ledger = found.ledger
            done = best.log.upper - best.log.lower <= tolerance or ledger.rounding > 0.5 * tolerance
            if done or nodes > affordable or max(ledger.aliasing, ledger.smoothing) <= 0.3 * tolerance:
                return best
            if ledger.aliasing > 0.3 * tolerance:
                period *= 2
                aliases = self._aliases(period)
            if ledger.smoothing > 0.3 * tolerance:
                smoothing /= min(16.0, max(1.5, 1.1 * math.sqrt(ledger.smoothing / (0.7 * tolerance))))

    def _aliases(self, period: float) -> float:
        """Sum over j != 0 of e^(-theta x_j) E[(S + x_j)_+] <= Chernoff at any theta' on the right side of theta."""
        total = 0.0
        for shifts in (
            -np.array([0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97]) * self.theta,
            np.geomspace(0.5, 40, 12) / self.sd,
        ):
            theta = self.theta + shifts
            theta = theta[theta * self.x.max() < 650]
            if len(theta) == 0:
                return math.inf
            log_m, error = self._log_m(theta)
            rise = self.n * (log_m - self.log_m + error + self.error_log_m)
            shift = np.abs(theta - self.theta) * period
            log_bound = rise - shift - 1 - np.log(theta) - np.log(-np.expm1(-shift))
            total += (1 + 1e-9) * math.exp(min(600.0, float(log_bound.min())))
        return total

    def _evaluate(self, s: float, period: float, nodes: int, aliases: float) -> Expectation:
        n, theta, h = self.n, self.theta, 2 * math.pi / period
        t = h * np.arange(nodes)
        d = self._characteristic(h, nodes)
        square_less_1 = np.maximum(2 * d.real + np.abs(d) ** 2, -1 + 1e-15)
        log_psi = 0.5 * np.log1p(square_less_1) + 1j * np.arctan2(d.imag, 1 + d.real)
        exponent = n * log_psi + s * s * (theta * theta - t * t) / 2 + 1j * (s * s * theta * t)
        z = theta + 1j * t
        base = np.exp(exponent)
        base[1:] *= 2
        upper_terms, size = base / z**2, np.abs(base)
        bump = s * s * h / (2 * math.pi) * float(base.real.sum())
        upper = h / (2 * math.pi) * float(upper_terms.real.sum())
        modulus = np.exp(log_psi.real)
        error = n * (self.error_slope * t / modulus + 8 * ULP * np.abs(log_psi)) + 16 * ULP * (1 + np.abs(exponent))
        # where the relative error is not small, both the true and the computed node are below (|psi| + error)^n
        ceiling = np.exp(
            np.minimum(n * np.log(modulus + self.error_slope * t) + s * s * (theta * theta - t * t) / 2, 600)
        )
        spoiled = np.where(error < 0.1, size * np.expm1(np.minimum(error, 0.1)), 2 * (size + 2 * ceiling))
        magnitude = 1 / np.abs(z) ** 2 + s * s
        rounding = h / (2 * math.pi) * float(((spoiled + nodes * ULP * size) * magnitude).sum()) * (1 + 1e-9)
        cut = h * nodes
        decay = math.exp(min(0.0, s * s * (theta * theta - cut * cut) / 2))
        truncation = decay * (1 / cut**2 + s * s) * (h + 1 / (s * s * cut)) / math.pi
        if cut <= theta:
            truncation = math.inf
        # S = 0 because every summand is: the upper function counts it as s phi(0), in truth it is worth nothing
        nothing = 0.0
        if self.log_zero_down > -math.inf:
            log_nothing = n * (self.log_zero_down - self.log_m - self.error_log_m)
            nothing = s * _PHI0 * math.exp(min(0.0, log_nothing)) * (1 - 1e-9)
        high = upper - nothing + rounding + truncation
        low = upper - bump - rounding - truncation - aliases
        return self._report(high, low, bump - nothing, rounding, truncation, aliases, nodes)

    def _report(
        self, high: float, low: float, smoothing: float, rounding: float, truncation: float, aliases: float, nodes: int
    ) -> Expectation:
        if not high > 0 or not math.isfinite(high):
            return Expectation(log=Enclosure(-math.inf, math.inf), ledger=Ledger(rounding=math.inf, nodes=nodes))
        shift = self.n * self.log_m
        slack = self.n * self.error_log_m + 16 * ULP * (1 + abs(shift) + abs(math.log(high)))
        return Expectation(
            log=Enclosure(
                shift + math.log(low) - slack if low > 0 else -math.inf,
                shift + math.log(high) + slack,
            ),
            ledger=Ledger(
                smoothing=max(0.0, smoothing) / high,
                aliasing=aliases / high,
                truncation=2 * truncation / high,
                rounding=2 * rounding / high + 2 * slack,
                nodes=nodes,
            ),
        )

    def _characteristic(self, h: float, nodes: int) -> Complexes:
        """E_q[e^(i t X)] - 1 at t = 0, h, 2h, ...: coarse and fine angles are combined by one matrix product.

        e^(i(u+v)) - 1 = A + B + AB with A = e^(iu) - 1, B = e^(iv) - 1: no digit of a small angle is lost.
        """
        fine = max(1, math.isqrt(nodes))
        coarse = -(-nodes // fine)
        a = _circle(h * fine * np.arange(coarse, dtype=np.float64), self.x) * self.q
        b = _circle(h * np.arange(fine, dtype=np.float64), self.x)
        table: Complexes = a.sum(axis=1)[:, None] + (b @ self.q)[None, :] + a @ b.T
        return table.reshape(-1)[:nodes]


def _circle(t: Reals, x: Reals) -> Complexes:
    """e^(i t x) - 1, accurate for small angles."""
    angle = np.outer(t, x)
    half = np.sin(angle / 2)
    return -2 * half**2 + 1j * np.sin(angle)


def _intersection(first: Expectation, second: Expectation) -> Expectation:
    low, high = max(first.log.lower, second.log.lower), min(first.log.upper, second.log.upper)
    return Expectation(log=Enclosure(low, high), ledger=second.ledger)


def _saddle(x: Reals, p: Reals, n: int) -> float:
    """Theta > 0 near the root of E[X e^(theta X)] = 0, or where theta sd is 1 if that is larger. Any theta is valid.

    Both conditions rise with theta. They are solved in log theta to the little accuracy that matters.
    """
    top = float(x.max())
    gains, losses = np.where(x > 0, p * x, 0.0), np.where(x < 0, -p * x, 0.0)
    squares, mass = p * x * x, float(p.sum())

    def excess(log_theta: float) -> float:
        """Positive once theta is large enough for both conditions."""
        theta = math.exp(log_theta)
        weights = np.exp(theta * (x - top))
        gain, loss, square = float(gains @ weights), float(losses @ weights), float(squares @ weights)
        balance = math.inf if loss == 0 else math.log(max(gain, 1e-300) / loss) * math.sqrt(n)
        # tilted second moment over M; the mass at zero and the untilted factor e^(-theta top) are put back
        log_m = math.log(max(0.0, 1 - mass) + float(p @ np.exp(theta * x)) + 1e-300)
        log_deviation = log_theta + 0.5 * (math.log(n * max(square, 1e-300)) + theta * top - log_m)
        return min(balance, 4 * log_deviation)

    limit = math.log(600 / top)
    low = math.log(1e-3 / (math.sqrt(n) * float(np.abs(x).max())))
    high = min(limit, low + 4)
    while excess(high) < 0 and high < limit:
        low, high = high, min(limit, high + 4)
    for _ in range(40):
        if high - low < 8e-3:
            break
        middle = 0.5 * (low + high)
        if excess(middle) < 0:
            low = middle
        else:
            high = middle
    return math.exp(high)
