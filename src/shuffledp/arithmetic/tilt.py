"""Exponential tilting: log E[e^(theta S)] with an error bound, the saddle point, and Chernoff's bound from them.

S is the sum of n summands, or of a Poisson number of them; M(theta) = E[e^(theta X)] for the law of one summand X.
docs/maths/kernel.md, Inversion, Rounding and Poisson sums, has the proofs.
"""

import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from shuffledp.arithmetic.summand_law import ULP, Complexes, Law, Poisson, Reals, Summands, expected

TINY: Final = 1e-300
"""Stands in for 0 where a logarithm or a quotient is taken."""
_LARGEST_EXPONENT: Final = 600
"""Largest theta x: e^600 and its products are doubles."""
_SMALLEST_DEVIATIONS: Final = 1e-3
"""Smallest theta, in reciprocal standard deviations of the sum, that the search considers."""
_SADDLE_PRECISION: Final = 8e-3
"""Of log theta: more has no effect on the enclosure that is worth its time."""
_FEW: Final = 12
"""Atoms that are summed one by one sooner than by numpy."""


class Tilted:
    """The law of a sum of n summands, tilted to its saddle point.

    Attributes:
        x: the atoms' values, `p` their masses, `scales` their error scales.
        theta: the tilt.
        log_m: log M(theta), off by at most `error_log_m`.
        q: the tilted masses, p e^(theta x) / M(theta).
        weight: how many summands: `cumulant` times this is the logarithm of the tilted characteristic function of the sum.
        drift: what is added to the sum besides.
        log_power: log E[e^(theta S)], off by at most `error_log_power`.
        sd: standard deviation of the tilted sum.
    """

    drift = 0.0
    weight: float

    def __init__(self, law: Law, n: int) -> None:
        self._take(law)
        self.weight = n
        self.theta = _saddle(self.x, self.p, n)
        log_m, error_log_m = self.log_m_at(np.array([self.theta]))
        self.log_m, self.error_log_m = float(log_m[0]), float(error_log_m[0])
        self.log_power, self.error_log_power = n * self.log_m, n * self.error_log_m
        self.q = self.p * np.exp(self.theta * self.x - self.log_m)
        self.sd = math.sqrt(n * float(self.q @ self.x**2))

    def _take(self, law: Law) -> None:
        keep = law.masses > 0
        self.x, self.p, self.scales = law.values[keep], law.masses[keep], law.scales[keep]
        self.ulps, self.log_zero_down = law.ulps, law.log_zero_mass_down

    def cumulant(self, d: Complexes) -> Complexes:
        """The logarithm of 1 + d, d being the tilted characteristic function of a summand, less 1."""
        square_less_1 = np.maximum(2 * d.real + np.abs(d) ** 2, -1 + 1e-15)
        return np.asarray(0.5 * np.log1p(square_less_1) + 1j * np.arctan2(d.imag, 1 + d.real))

    def log_most(self, d: Complexes, off: Reals, t: Reals) -> Reals:  # noqa: ARG002
        """If d is off by this: a ceiling of the log of the modulus of the sum's characteristic function, in real arithmetic."""
        spread = np.abs(d.real) + np.abs(d.imag)
        square_less_1 = d.real * (2 + d.real) + d.imag * d.imag + 32 * ULP * spread
        square_less_1 = np.maximum(square_less_1, -1 + 1e-12)
        return np.asarray(self.weight * (0.5 * np.log1p(square_less_1) + off / np.sqrt(1 + square_less_1)))

    def spoiled(self, cumulant: Complexes, off: Reals, t: Reals) -> tuple[Reals, Reals]:  # noqa: ARG002
        """If d is off by this: the relative error of the sum's characteristic function at t, and the log of its ceiling."""
        modulus = np.exp(cumulant.real)
        error = self.weight * (off / modulus + 8 * ULP * np.abs(cumulant))
        return error, self.weight * np.log(modulus + off)

    def rise(self, theta: Reals) -> Reals:
        """An upper bound on log E[e^(theta' S)] - log E[e^(theta S)] at several theta'."""
        log_m, error = self.log_m_at(theta)
        return np.asarray(self.weight * (log_m - self.log_m + error + self.error_log_m))

    def log_chance_of_zeros(self) -> float:
        """A lower bound on the logarithm of P(all summands are 0) / E[e^(theta S)]."""
        return self.weight * (self.log_zero_down - self.log_m - self.error_log_m)

    def log_m_at(self, theta: Reals) -> tuple[Reals, Reals]:
        """Log M at several thetas, and bounds on its errors."""
        exponents = np.outer(theta, self.x)
        rises = np.expm1(exponents)
        m_less_1 = rises @ self.p
        spread = theta[:, None] * self.scales
        # far below 1, M is summed from its positive terms instead; the mass at zero is then known to an absolute error
        small = m_less_1 < -0.5
        growth = np.exp(exponents)
        m = np.where(small, max(0.0, 1 - float(self.p.sum())) + growth @ self.p, 1 + m_less_1)
        log_m = np.where(small, np.log(np.maximum(m, TINY)), np.log1p(np.maximum(m_less_1, -0.5)))
        terms = np.where(small[:, None], growth, np.abs(rises))
        per_atom = (6 + self.ulps + len(self.x)) * terms + (2 + self.ulps) * spread * growth
        absolute = np.where(small, 4.0 + len(self.x), 0.0)
        return log_m, 2 * ULP * ((per_atom @ self.p + absolute) / np.maximum(m, TINY) + 8 * np.abs(log_m))


class TiltedPoisson(Tilted):
    """Tilting for a Poisson number of summands and a drift: log E[e^(zS)] = mean (M(z) - 1) + z drift.

    Tilting multiplies the intensity of each atom by e^(theta x), so q is p e^(theta x): no M(theta) to divide by.
    """

    def __init__(self, law: Law, n: Poisson) -> None:  # not super().__init__: nothing of the sum is the same
        self._take(law)
        self.weight, self.drift, self.log_m, self.error_log_m = n.mean, n.drift, 0.0, 0.0
        self.theta = _saddle(self.x, self.p, n.mean, n.drift / n.mean)
        power, error = self._log_power_at(np.array([self.theta]))
        self.log_power, self.error_log_power = float(power[0]), float(error[0])
        self.q = self.p * np.exp(self.theta * self.x)
        self.sd = math.sqrt(n.mean * float(self.q @ self.x**2))

    def cumulant(self, d: Complexes) -> Complexes:
        """What is missing to 1 itself."""
        return d

    def log_most(self, d: Complexes, off: Reals, t: Reals) -> Reals:
        """The real part of the exponent, and its error."""
        return self.spoiled(d, off, t)[1]

    def spoiled(self, cumulant: Complexes, off: Reals, t: Reals) -> tuple[Reals, Reals]:
        error = self.weight * (off + 12 * ULP * np.abs(cumulant)) + 8 * ULP * abs(self.drift) * t
        return error, self.weight * cumulant.real + error

    def rise(self, theta: Reals) -> Reals:
        power, error = self._log_power_at(theta)
        return np.asarray(power - self.log_power + error + self.error_log_power)

    def log_chance_of_zeros(self) -> float:
        """No summand at all; with a drift the sum is not 0 then."""
        if self.drift != 0:
            return -math.inf
        none = self.weight * float(self.p.sum()) * (1 + (len(self.p) + self.ulps + 6) * 2 * ULP)
        return -none - self.log_power - self.error_log_power - 4 * ULP * (none + abs(self.log_power))

    def _log_power_at(self, theta: Reals) -> tuple[Reals, Reals]:
        """Log E[e^(theta S)] at several thetas, and bounds on its errors."""
        exponents = np.outer(theta, self.x)
        rises = np.expm1(exponents)
        spread = theta[:, None] * self.scales
        per_atom = (6 + self.ulps + len(self.x)) * np.abs(rises) + (2 + self.ulps) * spread * np.exp(exponents)
        m_less_1, shift = rises @ self.p, theta * self.drift
        error = self.weight * (per_atom @ self.p + 4 * np.abs(m_less_1)) + 4 * np.abs(shift) + 4
        return self.weight * m_less_1 + shift, 2 * ULP * error


def at_saddle(law: Law, n: Summands) -> Tilted:
    """The law of the sum, tilted to its saddle point."""
    return TiltedPoisson(law, n) if isinstance(n, Poisson) else Tilted(law, n)


def negligible(law: Law, n: Summands) -> float | None:
    """If no value is positive but for rounding: an upper bound on log E[S_+] <= log(n E[X_+]). Else None."""
    if (law.masses[law.values > 0] > 0).any():
        return None
    excess = float(np.maximum(law.values + law.ulps * ULP * law.scales, 0.0) @ law.masses)
    return math.log(expected(n) * excess) + 1e-12 if excess > 0 else -math.inf


def chernoff(law: Law, n: Summands) -> float:
    """A quick upper bound on log E[(X_1 + ... + X_n)_+]: s_+ <= e^(theta s) / (e theta) at the saddle point."""
    ceiling = negligible(law, n)
    if ceiling is not None:
        return ceiling
    saddle = at_saddle(law, n)
    slack = saddle.error_log_power + 16 * ULP * (1 + abs(saddle.log_power))
    return saddle.log_power - 1 - math.log(saddle.theta) + slack


def chernoff_many(laws: Sequence[Law], n: Summands) -> Reals:
    """`chernoff` for many laws at once, with a rougher saddle point (any is valid)."""
    if isinstance(n, Poisson):
        return np.array([chernoff(law, n) for law in laws])
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
    low = np.log(_SMALLEST_DEVIATIONS / (math.sqrt(n) * np.abs(x).max(axis=1)))
    high = np.log(_LARGEST_EXPONENT / top)
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


def _saddle(x: Reals, p: Reals, n: float, drift: float | None = None) -> float:
    """Theta > 0 near the root of E[X e^(theta X)] + drift = 0, or where theta sd is 1 if that is larger. Any theta is valid.

    A drift, of each summand, is given if their number is Poisson.
    Both conditions rise with theta. They are solved in log theta to the little accuracy that matters.
    """
    top = float(x.max())
    mass = float(p.sum())
    sums = _few_sums(x, p, top) if len(x) <= _FEW else _many_sums(x, p, top)

    def excess(log_theta: float) -> float:
        """Positive once theta is large enough for both conditions."""
        theta = math.exp(log_theta)
        gain, loss, square, growth = sums(theta)
        if drift:
            loss -= drift * math.exp(-theta * top)
        balance = math.inf if loss == 0 else math.log(max(gain, TINY) / loss) * math.sqrt(n)
        # tilted second moment over M; the mass at zero and the untilted factor e^(-theta top) are put back
        log_m = math.log(max(0.0, 1 - mass) + growth + TINY) if drift is None else 0.0
        log_deviation = log_theta + 0.5 * (math.log(n * max(square, TINY)) + theta * top - log_m)
        return min(balance, 4 * log_deviation)

    limit = math.log(_LARGEST_EXPONENT / top)
    low = math.log(_SMALLEST_DEVIATIONS / (math.sqrt(n) * float(np.abs(x).max())))
    high = min(limit, low + 4)
    while excess(high) < 0 and high < limit:
        low, high = high, min(limit, high + 4)
    for _ in range(40):
        if high - low < _SADDLE_PRECISION:
            break
        middle = 0.5 * (low + high)
        if excess(middle) < 0:
            low = middle
        else:
            high = middle
    return math.exp(high)


_Sums = Callable[[float], tuple[float, float, float, float]]
"""Of theta: sums over atoms of p x e^(theta (x - top)) for x > 0, -p x e^... for x < 0, p x^2 e^..., and p e^(theta x)."""


def _many_sums(x: Reals, p: Reals, top: float) -> _Sums:
    gains, losses, squares = np.where(x > 0, p * x, 0.0), np.where(x < 0, -p * x, 0.0), p * x * x

    def at(theta: float) -> tuple[float, float, float, float]:
        weights = np.exp(theta * (x - top))
        return (
            float(gains @ weights),
            float(losses @ weights),
            float(squares @ weights),
            float(p @ np.exp(theta * x)),
        )

    return at


def _few_sums(x: Reals, p: Reals, top: float) -> _Sums:
    """The sums at a theta in plain Python: for a handful of atoms that takes a fraction of numpy's time."""
    atoms = list(zip(x.tolist(), p.tolist(), strict=True))

    def at(theta: float) -> tuple[float, float, float, float]:
        gain = loss = square = growth = 0.0
        for value, mass in atoms:
            weight = mass * math.exp(theta * (value - top))
            if value > 0:
                gain += value * weight
            else:
                loss -= value * weight
            square += value * value * weight
            growth += mass * math.exp(theta * value)
        return gain, loss, square, growth

    return at
