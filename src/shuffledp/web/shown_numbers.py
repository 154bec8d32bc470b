"""Numbers in texts: every digit that is known, and which way the page may round one when it shows fewer.

The page rounds, in one place (`static/digits.js`): so fewer digits or all of them are a matter of looking, not of asking again.
A number that is a claim about privacy is rounded so that the claim still holds: up, or down if it is a lower bound.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any, Final, Literal

from shuffledp.core.digits import rounded_down, rounded_up

Rounding = Literal["up", "down", "nearest"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of a text: all of its digits, and which way it may be rounded."""

    number: str
    rounding: Rounding


Text = str | Sequence[str | Figure]
"""What is shown: words, with figures among them."""


def up(value: float, digits: int = 7) -> Figure:
    """A claim that holds for every greater number too."""
    return Figure(rounded_up(value, digits), "up")


def down(value: float, digits: int = 7) -> Figure:
    """A lower bound, which the page may only round down."""
    return Figure(rounded_down(value, digits), "down")


def near(value: float, digits: int = 7) -> Figure:
    """A forecast, or a number that promises nothing.

    >>> near(12345678.9), near(0.25)
    (Figure(number='12345680', rounding='nearest'), Figure(number='0.25', rounding='nearest'))
    """
    decimal = Context(prec=digits, rounding=ROUND_HALF_EVEN).create_decimal(Decimal(repr(value))).normalize()
    return Figure(f"{decimal:f}" if value == 0 or 1e-5 <= abs(value) < 1e15 else f"{decimal:e}", "nearest")


_DECIMAL: Final = re.compile(r"""(?<![\w.,'"“-])\d[\d,]*\.\d+(?:e-?\d+)?(?![\w'"”]|\.\d)""")
_FORECAST: Final = re.compile(r"(?:probability|about|together by) $")


def said(line: str) -> Text:
    """A sentence of this package. Its numbers are claims, rounded up, except probabilities and forecasts.

    >>> said("epsilon is 0.57721; off by about 99.14")  # doctest: +NORMALIZE_WHITESPACE
    ['epsilon is ', Figure(number='0.57721', rounding='up'), '; off by about ',
     Figure(number='99.14', rounding='nearest')]
    """
    parts, end = list[str | Figure](), 0
    for place in _DECIMAL.finditer(line):
        before = line[end : place.start()]
        parts += [before, Figure(place.group(), "nearest" if _FORECAST.search(before) else "up")]
        end = place.end()
    return [part for part in (*parts, line[end:]) if part != ""]


def document(text: Text) -> Any:
    """As the page reads it."""
    if isinstance(text, str):
        return text
    return [part if isinstance(part, str) else {"number": part.number, "round": part.rounding} for part in text]


def exact(text: Text) -> str:
    """With all digits, as plain text.

    >>> exact(["± ", up(0.123), " points"])
    '± 0.123 points'
    """
    return text if isinstance(text, str) else "".join(part if isinstance(part, str) else part.number for part in text)
