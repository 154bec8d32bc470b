"""Numbers that somebody typed, on the command line or in a page: 1e6 is a whole number."""

import re
from decimal import Decimal, InvalidOperation

from shuffledp.errors import InvalidInput


def real(text: str) -> float:
    """The nearest double of a decimal number.

    >>> real(" 1e-6 ")
    1e-06
    """
    return float(_decimal(text.strip()))


def whole(text: str) -> int:
    """The integer that a text stands for.

    >>> whole("1e6")
    1000000
    """
    number = _decimal(text.strip())
    if number != number.to_integral_value():
        raise InvalidInput(f"{text.strip()} is not a whole number. Give a count, e.g. 1000 or 1e6.")
    return int(number)


def _decimal(text: str) -> Decimal:
    if re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?", text):
        raise InvalidInput(f"{text!r} is not a single number. Write it without commas: {text.replace(',', '')}.")
    if re.fullmatch(r"[+-]?\d*,\d+", text):
        raise InvalidInput(f"{text!r} is not a single number. Write {text.replace(',', '.')} if decimals are meant.")
    if "," in text:
        raise InvalidInput(f"{text!r} is not a single number. Give one number, with a decimal point: 0.5, 1e6.")
    percent = re.fullmatch(r"([+-]?(?:\d+\.?\d*|\.\d+))\s*%", text)
    if percent:
        raise InvalidInput(f"{text!r} is a percentage. Write it as {Decimal(percent[1]).scaleb(-2).normalize():f}.")
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise InvalidInput(f"{text!r} is not a number. Write it like 0.5, 1e6 or 1e-6.") from None
    if not number.is_finite() or (number != 0 and not -308 < number.adjusted() < 308):
        raise InvalidInput(f"{text} is not a usable number. Give 0 or one from 1e-307 to 1e307.")
    return number
