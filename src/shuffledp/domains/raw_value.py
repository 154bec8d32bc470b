"""One value of a column as people have it: whether it is missing, and which label or number it is.

Columns of every kind (lists, arrays, frames, Arrow, files) are read by these rules, so that the same data mean the same in all.
"""

import re
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

import numpy as np

_DECIMAL: Final = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
_WHOLE: Final = re.compile(r"[+-]?\d+\.0+", re.ASCII)
_SPECIAL: Final = frozenset({"nan", "inf", "infinity"})


def is_missing(value: Any) -> bool:
    """None, what is not a number (NaN), and what numpy and pandas mark as missing or masked.

    >>> [is_missing(value) for value in (None, float("nan"), np.datetime64("NaT"), np.ma.masked, "", 0)]
    [True, True, True, True, False, False]
    """
    if value is None or value is np.ma.masked:
        return True
    if isinstance(value, str | bool | int):
        return False
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"  # of pandas, which is neither equal nor unequal to itself


def label_of(value: Any) -> str | None:
    """A text as it is; numbers, truth values and days as they are written in a file. Nothing else is a label.

    >>> [label_of(value) for value in ("yes", 1, 1.0, 0.5, True, Decimal("2.50"), date(2026, 1, 31), [1])]
    ['yes', '1', '1', '0.5', 'true', '2.5', '2026-01-31', None]
    """
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | np.integer) and not isinstance(value, np.timedelta64):
        return str(int(value))
    if isinstance(value, float | np.floating) or (isinstance(value, Decimal) and value.is_finite()):
        return str(int(value)) if value == value // 1 else _plain(value)
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    return None


def _plain(value: Any) -> str:
    return f"{value.normalize():f}" if isinstance(value, Decimal) else str(value)


def loosened(label: str) -> str:
    """What labels are compared by if case, blanks around them and ".0" do not matter.

    >>> loosened(" Insured") == loosened("INSURED "), loosened("1.0") == loosened("1")
    (True, True)
    """
    text = label.strip().casefold()
    return text.partition(".")[0] if _WHOLE.fullmatch(text) else text


def number_of(text: str) -> float | None:
    """The number that a text is, in digits; None if it is none.

    >>> [number_of(text) for text in ("1.5", " -2e3 ", "1_000", "nan", "yes")]
    [1.5, -2000.0, None, nan, None]
    """
    special = text.strip().lower().lstrip("+-") in _SPECIAL
    return float(text) if special or _DECIMAL.fullmatch(text) else None
