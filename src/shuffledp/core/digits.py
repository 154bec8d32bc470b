"""Printing a number so that the claim it makes still holds."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal


def rounded_up(value: float, digits: int = 6) -> str:
    """At most that many significant digits, not below the value.

    >>> rounded_up(0.1), rounded_up(0.12345678), rounded_up(1e-300)
    ('0.1', '0.123457', '1e-300')
    """
    return _rounded(value, digits, ROUND_CEILING)


def rounded_down(value: float, digits: int = 6) -> str:
    """At most that many significant digits, not above the value."""
    return _rounded(value, digits, ROUND_FLOOR)


def _rounded(value: float, digits: int, rounding: str) -> str:
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    # the shortest text of a double is that double: rounding starts from there
    decimal = Context(prec=digits, rounding=rounding).create_decimal(Decimal(repr(value))).normalize()
    return f"{decimal:f}" if 1e-5 <= abs(value) < 1e9 else f"{decimal:e}"
