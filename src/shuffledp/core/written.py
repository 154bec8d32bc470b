"""Numbers that somebody typed, on the command line or in a page: 1e6 is a whole number."""

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
    if "," in text:
        raise InvalidInput(f"{text!r} is not a single number. Give one number, with a decimal point: 0.5, 1e6.")
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise InvalidInput(f"{text!r} is not a number. Write it like 0.5, 1e6 or 1e-6.") from None
    if not number.is_finite() or (number != 0 and not -308 < number.adjusted() < 308):
        raise InvalidInput(f"{text} is not a usable number. Give 0 or one from 1e-307 to 1e307.")
    return number
