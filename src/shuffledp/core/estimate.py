"""What an analyzer says: a value, how far it may be off, and the guarantee it came with."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.core.digits import counted
from shuffledp.core.guarantee import Guarantee

Reals = NDArray[np.float64]


class Threshold(NamedTuple):
    """What is reported of values that nobody listed: those with estimates of at least `estimate`.

    Of values that nobody holds, `false_positives` reach it on average.
    """

    estimate: float
    false_positives: float


class Entry(NamedTuple):
    """One number of an estimate: NaN where there is none.

    Attributes:
        name: what it is.
        estimate: unbiased.
        standard_error: its standard deviation.
        low: the lower confidence limit.
        high: the upper one.
    """

    name: str
    estimate: float
    standard_error: float
    low: float
    high: float

    def __float__(self) -> float:
        return self.estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """An unbiased estimate, one entry per quantity.

    Attributes:
        value: the estimate.
        standard_error: its standard deviation, estimated from the same counts.
        n: number of reports.
        guarantee: what the release guarantees; None for a simulation.
        names: what each entry is, if that was said.
        threshold: which entries there are, if that was found out from the counts.
    """

    value: Reals
    standard_error: Reals
    n: int
    guarantee: Guarantee | None = None
    names: tuple[str, ...] = ()
    threshold: Threshold | None = None

    def interval(self, confidence: float = 0.95, *, simultaneous: bool = False) -> tuple[Reals, Reals]:
        """Confidence limits, for each entry or (Bonferroni) for all of them at once."""
        miss = 1 - checks.probability(confidence, "confidence", "0.95", side="up")
        if simultaneous:
            miss /= max(1, self.value.size)
        return self.limits(-NormalDist().inv_cdf(miss / 2))

    def entries(self, confidence: float = 0.95, *, simultaneous: bool = False) -> list[Entry]:
        """All entries with their confidence limits."""
        low, high = self.interval(confidence, simultaneous=simultaneous)
        columns = (self.value, self.standard_error, low, high)
        return [Entry(*row) for row in zip(self.names, *(column.tolist() for column in columns), strict=True)]

    def __repr__(self) -> str:
        entries = "1 entry" if self.value.size == 1 else f"{self.value.size:,} entries"
        return f"<{type(self).__name__}: {entries} from {counted(self.n, 'report')}>"

    def limits(self, z: float) -> tuple[Reals, Reals]:
        """As far from the estimate as z standard errors of a normal law."""
        return self.value - z * self.standard_error, self.value + z * self.standard_error

    @property
    def refused(self) -> dict[str, str]:
        """Entries without a number (their values are NaN), and why there is none."""
        return {}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SideBySide(Estimate):
    """Several estimates as one, each with intervals of its own kind.

    Attributes:
        parts: the estimates, in their order.
        prefixes: what stands before the names of each.
    """

    parts: tuple[Estimate, ...]
    prefixes: tuple[str, ...]

    @classmethod
    def of(cls, parts: Sequence[Estimate], prefixes: Sequence[str]) -> Self:
        """Put estimates from the same reports side by side."""
        return cls(
            value=np.concatenate([part.value for part in parts], axis=-1),
            standard_error=np.concatenate([part.standard_error for part in parts], axis=-1),
            n=parts[0].n,
            guarantee=parts[0].guarantee,
            names=tuple(f"{prefix}{name}" for part, prefix in zip(parts, prefixes, strict=True) for name in part.names),
            parts=tuple(parts),
            prefixes=tuple(prefixes),
        )

    def limits(self, z: float) -> tuple[Reals, Reals]:
        low, high = zip(*(part.limits(z) for part in self.parts), strict=True)
        return np.concatenate(low, axis=-1), np.concatenate(high, axis=-1)

    @property
    def refused(self) -> dict[str, str]:
        return {
            f"{prefix}{name}": why
            for part, prefix in zip(self.parts, self.prefixes, strict=True)
            for name, why in part.refused.items()
        }
