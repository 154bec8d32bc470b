"""What happens to values that a plan has no place for: refused unless the operator chose otherwise, and always counted."""

import contextlib
import math
from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shuffledp.engines.table import arrow
from shuffledp.errors import InvalidInput
from shuffledp.protocols.bins import Bins
from shuffledp.protocols.histogram import Histogram
from shuffledp.protocols.summation import Summation

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What to do with awkward values.

    Attributes:
        missing: refuse the file, or skip the person. Who is skipped is then not protected: only their value would be.
        missing_as: or let them count as this bin or number.
        outside: refuse numbers outside the range, or clamp them to it.
        other: let labels that the plan does not know count as this one.
    """

    missing: Literal["refuse", "skip"] = "refuse"
    missing_as: str | None = None
    outside: Literal["refuse", "clamp"] = "refuse"
    other: str | None = None


class Intake:
    """Columns in, clean values out: symbols for a histogram, numbers in the range for a sum."""

    def __init__(self, protocol: Histogram | Summation, policy: Policy) -> None:
        self._bins: Bins | None = protocol.bins if isinstance(protocol, Histogram) else None
        self._policy = policy
        self.rejected: Counter[str] = Counter()
        self.adjusted: Counter[str] = Counter()
        low, high = (
            (protocol.bins.low, protocol.bins.high)
            if isinstance(protocol, Histogram)
            else (protocol.low, protocol.high)
        )
        self._numeric = low is not None
        self._low, self._high = low or 0.0, high or 0.0
        if policy.other is not None and (self._bins is None or self._numeric):
            raise InvalidInput("--other is for histograms with labels; for numbers use --outside clamp.")
        if policy.outside == "clamp" and not self._numeric:
            raise InvalidInput("--outside clamp is for numbers; for labels use --other LABEL.")
        if policy.missing == "skip" and policy.missing_as is not None:
            raise InvalidInput(
                "missing values are skipped or counted as something. Give one of --missing, --missing-as."
            )
        self._other = None if policy.other is None or self._bins is None else self._bins.index(policy.other)
        self._missing_as = None if policy.missing_as is None else self._stand_in(policy.missing_as)

    def take(self, column: Any, first_row: int) -> tuple[NDArray[Any], Mask | None]:
        """Clean values of a batch, and which rows to keep (None for all). A skipped row gets a stand-in value."""
        if self._numeric:
            values, missing = self._numbers(column, first_row)
        elif self._bins is not None and self._bins.labels is not None:
            values, missing = self._labels(column, first_row)
        else:
            values, missing = self._whole_numbers(column, first_row)
        kept = None
        if missing is not None:
            self._settle_missing(values, missing, first_row)
            kept = ~missing if self._missing_as is None else None
        if self._bins is not None and self._numeric:
            return self._bins.place(values), kept
        return values, kept

    def _settle_missing(self, values: NDArray[Any], missing: Mask, first_row: int) -> None:
        count = int(missing.sum())
        if self._missing_as is not None:
            self.adjusted["missing"] += count
            values[missing] = self._missing_as
        elif self._policy.missing == "skip":
            self.rejected["missing"] += count
            values[missing] = self._low if self._numeric else 0
        else:
            raise _refusal("the value is missing", missing, first_row, "Use --missing skip or --missing-as VALUE")

    def _numbers(self, column: Any, first_row: int) -> tuple[NDArray[np.float64], Mask | None]:
        values = _as_numbers(column, first_row)
        if len(values) == 0 or (values.min() >= self._low and values.max() <= self._high):  # not so if one is missing
            return values, None
        missing = np.isnan(values)
        outside = (values < self._low) | (values > self._high)
        if outside.any():
            if self._policy.outside == "refuse":
                limits = f"[{self._low:.6g}, {self._high:.6g}]"
                raise _refusal(
                    f"the value is outside {limits}", outside, first_row, "Use --outside clamp, or a wider plan"
                )
            self.adjusted["clamped"] += int(outside.sum())
            np.clip(values, self._low, self._high, out=values)
        return values, missing if missing.any() else None

    def _labels(self, column: Any, first_row: int) -> tuple[NDArray[Any], Mask | None]:
        pa = arrow()
        import pyarrow.compute as pc

        bins = self._bins or Bins(size=2)
        if pa.types.is_floating(column.type):
            column = pc.if_else(pc.is_nan(column), None, column)
        texts = None
        with contextlib.suppress(pa.ArrowException):
            texts = column.cast(pa.string())
        if texts is None:
            raise InvalidInput(f"a column of type {column.type} has no labels. Use one of texts or whole numbers.")
        found = pc.index_in(texts, value_set=pa.array(bins.names, type=pa.string()))
        missing = texts.is_null().to_numpy(zero_copy_only=False) if texts.null_count else None
        indices = found.fill_null(-1).to_numpy(zero_copy_only=False)
        unknown = indices < 0 if missing is None else (indices < 0) & ~missing
        return self._settle_unknown(indices, unknown, first_row), missing

    def _whole_numbers(self, column: Any, first_row: int) -> tuple[NDArray[Any], Mask | None]:
        bins = self._bins or Bins(size=2)
        numbers = _as_numbers(column, first_row)
        missing = np.isnan(numbers)
        unknown = ~missing & ~((numbers >= 0) & (numbers < bins.size) & (np.floor(numbers) == numbers))
        indices = np.where(missing | unknown, -1, numbers).astype(np.int64)
        return self._settle_unknown(indices, unknown, first_row), missing if missing.any() else None

    def _settle_unknown(self, indices: NDArray[Any], unknown: Mask, first_row: int) -> NDArray[Any]:
        bins = self._bins or Bins(size=2)
        if unknown.any():
            if self._other is None:
                raise _refusal(
                    "the value is none of the plan's bins", unknown, first_row, "Use --other LABEL, or another plan"
                )
            self.adjusted["other"] += int(unknown.sum())
            indices = np.where(unknown, self._other, indices)
        return np.where(indices < 0, 0, indices).astype(np.min_scalar_type(bins.size - 1))

    def _stand_in(self, text: str) -> float | int:
        if self._bins is not None and not self._numeric:
            return self._bins.index(text)
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not self._low <= number <= self._high:
            raise InvalidInput(f"--missing-as must be a number in [{self._low:.6g}, {self._high:.6g}].")
        return number


def _as_numbers(column: Any, first_row: int) -> NDArray[np.float64]:
    """A fresh array; missing values are NaN."""
    pa = arrow()
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.dictionary_decode()
        kind = column.type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.uint8())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        parsed = _cast(column)
        if parsed is None:
            bad = np.array([_cast(column[j : j + 1]) is None for j in range(len(column))])
            raise _refusal("the value is not a number", bad, first_row, "Mend the file, or use another column")
        column = parsed
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind)
              or pa.types.is_boolean(kind)):  # fmt: skip
        raise InvalidInput(
            f"a column of type {kind} has no numbers. Use another column, or a query that makes numbers."
        )
    return np.array(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)


def _cast(column: Any) -> Any:
    """Texts as doubles, None if one is no number: Arrow's own message would quote it."""
    pa = arrow()
    with contextlib.suppress(pa.ArrowException):
        return column.cast(pa.float64())
    return None


def _refusal(what: str, where: Mask, first_row: int, remedy: str) -> InvalidInput:
    first = int(np.argmax(where)) if where.any() else 0
    return InvalidInput(f"in data row {first_row + first + 1:,} {what}. {remedy}.")
