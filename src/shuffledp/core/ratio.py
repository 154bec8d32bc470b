"""Ratios of two estimates, such as means and shares within groups: with intervals that hold for small groups, or no number."""

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.estimate import Estimate

Reals = NDArray[np.float64]
SURE: Final = 4.0
"""A ratio has a number if the estimate below the line is at least so many of its standard errors."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Ratios(Estimate):
    """Estimates of T / B, in other units: start + span T / B.

    Formula: the standard error is sqrt(V(m)) / B at m = T / B, V(m) = Var T - 2 m Cov(T, B) + m^2 Var B. The interval is the
    set of all m with (T - m B)^2 <= z^2 V(m).
    Legend: T = top, B = bottom, z = the normal quantile of the confidence.
    Regime: there is a number if B >= 4 sqrt(Var B), and the interval is everything possible unless B > z sqrt(Var B).
    Reference: Fieller54.

    Attributes:
        top: unbiased estimates above the line.
        bottom: unbiased estimates below it, of what cannot be negative.
        variances: of both, and their covariance: Var T, Cov(T, B), Var B.
        start: what 0 stands for.
        span: what lies between that and what 1 stands for: all that is possible.
    """

    top: Reals
    bottom: Reals
    variances: tuple[Reals, Reals, Reals]
    start: float
    span: float

    @classmethod
    def between(
        cls,
        linear: Estimate,
        *,
        top: Reals,
        bottom: Reals,
        variances: tuple[Reals, Reals, Reals],
        names: tuple[str, ...],
        start: float = 0.0,
        span: float = 1.0,
    ) -> Self:
        """The ratios between parts of one estimate; NaN where there is no number."""
        above, across, below = variances
        sure = (bottom > 0) & (bottom >= SURE * np.sqrt(below))
        safe = np.where(sure, bottom, 1.0)
        m = np.where(sure, top / safe, 0.0)
        error = np.sqrt(np.maximum(above - 2 * m * across + m * m * below, 0.0)) / safe
        return cls(
            value=np.where(sure, start + span * m, np.nan), standard_error=np.where(sure, abs(span) * error, np.nan),
            n=linear.n, guarantee=linear.guarantee, names=names, top=top, bottom=bottom, variances=variances, start=start,
            span=span,
        )  # fmt: skip

    @property
    def refused(self) -> dict[str, str]:
        """Entries without a number."""
        below = np.sqrt(self.variances[2])
        return {
            name: f"too few users to say: {self.bottom[j]:,.0f}, with a standard error of {below[j]:,.0f}"
            for j, name in enumerate(self.names)
            if np.isnan(self.value[j])
        }

    def limits(self, z: float) -> tuple[Reals, Reals]:
        """The roots of a quadratic; everything possible if it has none."""
        sure, m = ~np.isnan(self.value), (self.value - self.start) / self.span
        least, most = fieller(self.top, self.bottom, self.variances, z)
        low = np.where(np.isfinite(least), least, np.minimum(0.0, m))
        high = np.where(np.isfinite(most), most, np.maximum(1.0, m))
        return tuple(np.where(sure, self.start + self.span * end, np.nan) for end in (low, high))  # type: ignore[return-value]


def fieller(top: Reals, bottom: Reals, variances: tuple[Reals, Reals, Reals], z: float) -> tuple[Reals, Reals]:
    """The least and the greatest m with (T - m B)^2 <= z^2 V(m), as in `Ratios`; infinite where there is no limit."""
    above, across, below = variances
    a = bottom**2 - z * z * below
    b = top * bottom - z * z * across
    c = top**2 - z * z * above
    bounded = a > 0
    safe = np.where(bounded, a, 1.0)
    root = np.sqrt(np.maximum(b * b - a * c, 0.0))
    return np.where(bounded, (b - root) / safe, -np.inf), np.where(bounded, (b + root) / safe, np.inf)
