"""Numbers as people give them, made plain ints and floats: once, where they come in.

Anything that is one number is taken: Python's and numpy's scalars, arrays of no dimension, fractions and decimals. What is no
double is rounded to the side that claims less.
"""

import contextlib
import math
import operator
from typing import Any, Final, Literal

from shuffledp.errors import InvalidInput

Side = Literal["nearest", "down", "up"]
_LARGEST_WHOLE: Final = 1e30


def settle(noun: object, **values: Any) -> None:
    """Give fields of a frozen dataclass the values that were made of what was given."""
    for name, value in values.items():
        object.__setattr__(noun, name, value)


def real(value: Any, name: str, side: Side = "nearest") -> float:
    """Anything that is a number, as a double: the nearest, or the next one on a side.

    >>> from fractions import Fraction
    >>> real(Fraction(1, 10), "x", "down") < Fraction(1, 10) < real(Fraction(1, 10), "x", "up")
    True
    """
    if isinstance(value, float):
        return float(value)
    if isinstance(value, str | bytes):
        raise InvalidInput(f"{name} must be a number; got a {type(value).__name__}. Give it without quotes.")
    if _is_number(value):
        with contextlib.suppress(TypeError, ValueError, ArithmeticError):
            number = float(value)
            if side == "down" and number > value:
                return math.nextafter(number, -math.inf)
            if side == "up" and number < value:
                return math.nextafter(number, math.inf)
            return number
    raise InvalidInput(f"{name} must be a number; got a {_kind(value)}. Give e.g. 0.5.")


def _is_number(value: Any) -> bool:
    """Whether it is one real number; numpy and pandas would make one of dates, truth values and columns of one row, too."""
    if getattr(value, "ndim", 0) != 0 or isinstance(value, bool | complex):
        return False
    kind = getattr(getattr(value, "dtype", None), "kind", "f")
    return kind in "iuf" or (kind == "O" and _is_number(value.item()))


def _kind(value: Any) -> str:
    """What was given in place of a number, without its value."""
    dimensions = getattr(value, "ndim", 0)
    return f"{type(value).__name__} of several values" if dimensions else type(value).__name__


def whole(value: Any, name: str, remedy: str) -> int:
    """A whole number, written 1000 or 1e3, and no truth value."""
    if _is_number(value):
        with contextlib.suppress(TypeError):
            return operator.index(value)
        with contextlib.suppress(TypeError, ValueError, ArithmeticError):
            if abs(float(value)) < _LARGEST_WHOLE and int(value) == value:  # a decimal may have a billion digits
                return int(value)
    shown = repr(value) if isinstance(value, bool | float | str) else _kind(value)
    raise InvalidInput(f"{name} must be a whole number; got {shown}. {remedy}")
