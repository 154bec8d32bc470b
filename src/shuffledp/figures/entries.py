"""The entries of a result's estimate, as numbers and as text."""

import heapq
import math
import re
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import Final, NamedTuple

from shuffledp.core.document import Document

FEW: Final = 60
"""Up to this many entries each gets a line with its name."""
MANY: Final = 1000
"""Above so many entries only the largest are shown."""
NOTHING: Final = "-"
"""Where there is no number."""
_NUMBER: Final = re.compile(r"[\[(]?[-+]?\.?\d")
_NOT_IN_XML: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class Entry(NamedTuple):
    """One number of the estimate, NaN if there is none; the truth is None unless it was asked for."""

    name: str
    value: float
    error: float
    low: float
    high: float
    truth: float | None


class Written(NamedTuple):
    """The same as text; the interval is rounded outwards."""

    name: str
    value: str
    error: str
    low: str
    high: str
    truth: str | None


def entries(result: Document, shown: Sequence[int] | None = None) -> list[Entry]:
    """The entries at these places, or all; their names cleaned."""
    estimate, truth = result["estimate"], result["truth"]
    names, values, errors, intervals = (estimate[key] for key in ("names", "value", "standard_error", "interval"))
    return [
        Entry(
            name=printable(names[j]).strip() or "(empty)", value=_or_nan(values[j]), error=_or_nan(errors[j]), low=low, high=high,
            truth=None if truth is None else _or_nan(truth[j]),
        )
        for j in (range(len(names)) if shown is None else shown)
        for low, high in [intervals[j] or (math.nan, math.nan)]
    ]  # fmt: skip


def largest(values: Sequence[float | None], count: int) -> list[int]:
    """The places of the largest, in that order; equals in the order they have, those without a number last.

    >>> largest([1.0, 5.0, 3.0, 5.0], 3)
    [1, 3, 2]
    """
    return heapq.nsmallest(
        count, range(len(values)), key=lambda j: math.inf if (value := values[j]) is None else -value
    )


def shown(values: Sequence[float | None]) -> list[int]:
    """The places of all, or of the largest if there are too many."""
    return list(range(len(values))) if len(values) <= MANY else largest(values, MANY)


def are_ranked(result: Document) -> bool:
    """Whether the largest entries say more than all in order: there are very many, or their names are no numbers."""
    names = result["estimate"]["names"]
    return len(names) > FEW and (len(names) > MANY or not all(_NUMBER.match(name) for name in names))


def written(rows: Sequence[Entry]) -> list[Written]:
    """All with as many decimals as show two digits of the least standard error."""
    known = [row for row in rows if not math.isnan(row.value)]
    least = min((row.error for row in known), default=1.0)
    most = max((abs(end) for row in known for end in (row.low, row.high, row.truth or 0)), default=0.0)
    ordinary = least > 1e-9 and most < 1e12
    places = max(0, 1 - math.floor(math.log10(least))) if ordinary else None
    return [
        Written(
            row.name, _digits(row.value, places), _digits(row.error, places), _digits(row.low, places, ROUND_FLOOR),
            _digits(row.high, places, ROUND_CEILING), None if row.truth is None else _digits(row.truth, places),
        )
        for row in rows
    ]  # fmt: skip


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def percent(result: Document) -> str:
    """The confidence of the intervals."""
    return f"{100 * result['estimate']['confidence']:g} %"


def printable(text: str) -> str:
    """A text without what neither HTML nor SVG can hold."""
    return _NOT_IN_XML.sub("\ufffd", text)


def _digits(value: float, places: int | None, rounding: str = ROUND_HALF_EVEN) -> str:
    """With this many decimals, or six digits of a number that is too large or too small for that."""
    if math.isnan(value):
        return NOTHING
    decimal = Decimal(repr(value))
    if places is None:
        return f"{Context(prec=6, rounding=rounding).plus(decimal).normalize():g}"
    return f"{decimal.quantize(Decimal(1).scaleb(-places), rounding=rounding) + 0:,f}"  # + 0: no minus before a zero
