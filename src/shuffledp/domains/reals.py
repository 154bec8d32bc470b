"""A range of real numbers, and what becomes of numbers outside it."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.core.document import Readers, Written, number
from shuffledp.domains.columns import numbers
from shuffledp.domains.domain import STRICT, Clean, Numeric, Policy, refusal, settle_missing
from shuffledp.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class RealRange(Written, Numeric):
    """A number of [low, high].

    >>> RealRange(0.0, 10.0).clean([2.5, 12.0], Policy(outside="clamp")).values.tolist()
    [2.5, 10.0]
    """

    low: float = 0.0
    high: float = 1.0
    kind = "reals"
    readers: ClassVar[Readers] = {"low": number, "high": number}

    def __post_init__(self) -> None:
        for name, value in (("low", self.low), ("high", self.high)):
            number = checks.real(value, name)
            checks.settle(self, **{name: number})
            if not abs(number) <= 1e100:
                raise InvalidInput(
                    f"{name} must be a number from -1e100 to 1e100; got {value}. Give the range of the values."
                )
        if not self.high - self.low >= 1e-100:
            raise InvalidInput(f"low must be below high; got {self.low} and {self.high}. Give the range of the values.")

    @property
    def span(self) -> float:
        """How far apart two values can be."""
        return self.high - self.low

    def clean(self, raw: Any, policy: Policy = STRICT, first_row: int | None = None) -> Clean:
        """The numbers, all in the range."""
        self.check(policy)
        values = numbers(raw, first_row)
        if checks.within(values, self.low, self.high):  # not so if one is missing
            return Clean(values=values, within=(self.low, self.high))
        missing = np.isnan(values)
        outside = (values < self.low) | (values > self.high)
        clamped = int(outside.sum())
        if clamped:
            if policy.outside == "refuse":
                limits = f"[{self.low:.6g}, {self.high:.6g}]"
                raise refusal(f"is outside {limits}", outside, first_row, "Use `outside='clamp'`, or a wider plan")
            values = np.clip(values, self.low, self.high)
        clean = settle_missing(
            values, missing, policy, stand_in=self._stand_in(policy), blank=self.low, first_row=first_row
        )
        if clamped:
            clean.adjusted["clamped"] += clamped
        return clean

    def samples(self) -> list[float]:
        """Both ends, and some between."""
        return [self.low, *(self.low + part * self.span for part in (0.05, 0.5, 0.93)), self.high]

    def share(self, values: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """Where values lie between low (0) and high (1)."""
        return np.asarray((np.asarray(values, dtype=np.float64) - self.low) / self.span)

    def _stand_in(self, policy: Policy) -> float | None:
        if policy.missing_as is None:
            return None
        try:
            number = float(policy.missing_as)
        except ValueError:
            number = np.nan
        if not self.low <= number <= self.high:
            raise InvalidInput(f"`missing_as` must be a number in [{self.low:.6g}, {self.high:.6g}].")
        return number
