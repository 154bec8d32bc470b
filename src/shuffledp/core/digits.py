"""Printing a number so that the claim it makes still holds."""

import math
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import Final

NOTHING: Final = "-"
"""Where there is no number."""


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


def about(value: float, rounding: str = ROUND_HALF_EVEN, *, digits: int = 4) -> str:
    """Four digits of a forecast, or so many; a large one to the next whole number, thousands apart.

    >>> about(8.654821), about(0.1), about(12345.6), about(1e-7), about(math.inf)
    ('8.655', '0.1000', '12,346', '1e-7', 'inf')
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if not 1e-5 <= abs(value) < 1e15:
        return _rounded(value, digits, rounding)
    decimal = Decimal(repr(value))
    return f"{decimal.quantize(Decimal(1).scaleb(-max(0, digits - 1 - decimal.adjusted())), rounding=rounding):,f}"


def at_most(value: float) -> str:
    """Four digits of a bound, rounded up."""
    return about(value, ROUND_CEILING)


def counted(number: int, noun: str) -> str:
    """So many of them.

    >>> counted(1, "honest report"), counted(2000, "user")
    ('1 honest report', '2,000 users')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def decimals(errors: Iterable[float], numbers: Iterable[float]) -> int | None:
    """How many decimals show three digits of the least error; None if such numbers would be too long or too short.

    What is known exactly has no error, and is written like the others.

    >>> decimals([0.031, 12.0], [104.2]), decimals([9.5, 0.0], [2226.77]), decimals([9.5], [1e15])
    (4, 2, None)
    """
    least = min((error for error in errors if 0 < error < math.inf), default=1.0)
    most = max((abs(number) for number in numbers if not math.isnan(number)), default=0.0)
    return max(0, 2 - math.floor(math.log10(least))) if least > 1e-9 and most < 1e12 else None


def fixed(value: float, places: int | None, rounding: str = ROUND_HALF_EVEN) -> str:
    """With this many decimals, or six digits of a number that is too large or too small for that.

    >>> fixed(1234.567, 1), fixed(-0.04, 1), fixed(math.nan, 1)
    ('1,234.6', '0.0', '-')
    """
    if math.isnan(value):
        return NOTHING
    decimal = Decimal(repr(value))
    if places is None:
        return f"{Context(prec=6, rounding=rounding).plus(decimal).normalize():,g}"
    return f"{decimal.quantize(Decimal(1).scaleb(-places), rounding=rounding) + 0:,f}"  # + 0: no minus before a zero


def interval(low: float, high: float, places: int | None) -> tuple[str, str]:
    """Both ends, rounded outwards."""
    return fixed(low, places, ROUND_FLOOR), fixed(high, places, ROUND_CEILING)


def column_up(values: Sequence[float]) -> list[str]:
    """Claims below each other: as many decimals as four digits of the least take, none of them below its value.

    >>> column_up([0.24, 0.34671, 2.0])
    ['0.2400', '0.3468', '2.0000']
    """
    least = min((value for value in values if value > 0), default=1.0)
    return [fixed(value, max(0, 3 - math.floor(math.log10(least))), ROUND_CEILING) for value in values]
