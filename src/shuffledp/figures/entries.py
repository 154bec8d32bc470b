"""The entries of a result's estimate, as numbers and as text."""

import math
import re
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import Final, NamedTuple

from shuffledp.core.document import Document

FEW: Final = 60
"""Up to this many entries each gets a line with its name."""
_NOT_IN_XML: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class Entry(NamedTuple):
    """One number of the estimate; the truth is None unless it was asked for."""

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


def entries(result: Document) -> list[Entry]:
    """All entries, their names cleaned."""
    estimate = result["estimate"]
    truth = result["truth"] or [None] * len(estimate["names"])
    columns = (estimate[key] for key in ("names", "value", "standard_error", "interval"))
    return [
        Entry(printable(name).strip() or "(empty)", value, error, low, high, exact)
        for name, value, error, (low, high), exact in zip(*columns, truth, strict=True)
    ]


def written(rows: Sequence[Entry]) -> list[Written]:
    """All with as many decimals as show two digits of the least standard error."""
    least = min((row.error for row in rows), default=1.0)
    largest = max((abs(end) for row in rows for end in (row.low, row.high, row.truth or 0)), default=0.0)
    ordinary = least > 1e-9 and largest < 1e12
    places = max(0, 1 - math.floor(math.log10(least))) if ordinary else None
    return [
        Written(
            row.name, _digits(row.value, places), _digits(row.error, places), _digits(row.low, places, ROUND_FLOOR),
            _digits(row.high, places, ROUND_CEILING), None if row.truth is None else _digits(row.truth, places),
        )
        for row in rows
    ]  # fmt: skip


def percent(result: Document) -> str:
    """The confidence of the intervals."""
    return f"{100 * result['estimate']['confidence']:g} %"


def printable(text: str) -> str:
    """A text without what neither HTML nor SVG can hold."""
    return _NOT_IN_XML.sub("\ufffd", text)


def _digits(value: float, places: int | None, rounding: str = ROUND_HALF_EVEN) -> str:
    """With this many decimals, or six digits of a number that is too large or too small for that."""
    decimal = Decimal(repr(value))
    if places is None:
        return f"{Context(prec=6, rounding=rounding).plus(decimal).normalize():g}"
    return f"{decimal.quantize(Decimal(1).scaleb(-places), rounding=rounding) + 0:,f}"  # + 0: no minus before a zero
