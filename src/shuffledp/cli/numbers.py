"""Numbers on the command line: 1e6 is a whole number, a comma makes a sweep, and printing rounds to the safe side."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, InvalidOperation
from typing import Any

import click

from shuffledp.accounting.solve import Quantity

_DIGITS = 7


class Reals(click.ParamType):  # type: ignore[type-arg]
    """One real number, or several separated by commas."""

    name = "number[,number...]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, ...]:
        """Parse."""
        return tuple(float(number) for number in _decimals(self, value, param, ctx))


class Wholes(click.ParamType):  # type: ignore[type-arg]
    """One whole number, or several separated by commas; 1e6 is one."""

    name = "integer[,integer...]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Parse."""
        numbers = _decimals(self, value, param, ctx)
        for text, number in zip(str(value).split(","), numbers, strict=True):
            if number != number.to_integral_value():
                self.fail(f"{text.strip()} is not a whole number. Give a count, e.g. 1000 or 1e6.", param, ctx)
        return tuple(int(number) for number in numbers)


def _decimals(
    kind: Reals | Wholes, value: Any, param: click.Parameter | None, ctx: click.Context | None
) -> list[Decimal]:
    numbers = []
    for text in str(value).split(","):
        try:
            number = Decimal(text.strip())
        except InvalidOperation:
            kind.fail(f"{text.strip()!r} is not a number. Write it like 0.5, 1e6 or 1e-6.", param, ctx)
        if not number.is_finite() or abs(number.adjusted()) > 400:
            kind.fail(f"{text.strip()} is not a usable number. Give a finite one.", param, ctx)
        numbers.append(number)
    return numbers


def shown(value: float | int, quantity: Quantity) -> str:
    """Seven significant digits, rounded so that the printed claim still holds."""
    if isinstance(value, int):
        return f"{value:,}"
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    rounding = ROUND_FLOOR if quantity == "epsilon0" else ROUND_CEILING
    rounded = Context(prec=_DIGITS, rounding=rounding).create_decimal(Decimal(value))
    return f"{rounded.normalize():g}" if 1e-4 <= abs(value) < 1e7 else f"{rounded:.{_DIGITS - 1}e}"
