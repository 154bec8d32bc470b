"""What an analyzer says: a value, how far it may be off, and the guarantee it came with."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.core.data_frame import data_frame
from shuffledp.core.digits import counted, decimals, fixed, interval
from shuffledp.core.display import page_of
from shuffledp.core.guarantee import Guarantee
from shuffledp.core.text_tables import aligned
from shuffledp.errors import unknown

Reals = NDArray[np.float64]
COLUMNS: Final = ("name", "estimate", "standard error", "95 % from", "to")
_LINES: Final = 50
"""Entries that are printed of an estimate that has more."""


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

    def columns(self, **how: Any) -> dict[str, Any]:
        """The entries as columns, of which any library makes a data frame: name, estimate, standard error, interval.

        Intervals are those of `interval`, which takes the same arguments.
        """
        low, high = self.interval(**how)
        return {
            "name": list(self.names), "estimate": self.value, "standard_error": self.standard_error, "low": low, "high": high
        }  # fmt: skip

    def to_frame(self, **how: Any) -> Any:
        """The entries as a data frame of pandas."""
        return data_frame(self.columns(**how))

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries())

    def __getitem__(self, name: object) -> Entry:
        """The entry of this name."""
        if str(name) not in self.names:
            raise unknown("entry", str(name), self.names)
        return self.entries()[self.names.index(str(name))]

    def rows(self) -> list[tuple[str, ...]]:
        """The first entries as people read them, with 95 % intervals, in as many decimals as the errors are worth."""
        shown = self.entries()[:_LINES]
        places = decimals((one.standard_error for one in shown), (end for one in shown for end in (one.low, one.high)))
        return [
            (
                one.name,
                fixed(one.estimate, places),
                fixed(one.standard_error, places),
                *interval(one.low, one.high, places),
            )
            for one in shown
        ]

    def __str__(self) -> str:
        if len(self.names) != self.value.size:
            return repr(self)
        rest = self.value.size - _LINES
        return "\n".join([aligned(COLUMNS, self.rows()), *([f"... and {rest:,} more"] if rest > 0 else [])])

    def _repr_html_(self) -> str:
        return page_of(self)

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
