"""Numbers on the command line: 1e6 is a whole number, a comma makes a sweep, and printing rounds to the safe side."""

from decimal import Decimal, InvalidOperation
from typing import Any

import click

from shuffledp.accounting.solve import Quantity
from shuffledp.core.digits import rounded_down, rounded_up


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
        if not number.is_finite() or (number != 0 and not -308 < number.adjusted() < 308):
            kind.fail(f"{text.strip()} is not a usable number. Give 0 or one from 1e-307 to 1e307.", param, ctx)
        numbers.append(number)
    return numbers


def shown(value: float | int, quantity: Quantity) -> str:
    """Seven significant digits, rounded so that the printed claim still holds."""
    if isinstance(value, int):
        return f"{value:,}"
    return (rounded_down if quantity == "epsilon0" else rounded_up)(value, 7)


def given(value: object) -> str:
    """An input as it was understood, in full."""
    if isinstance(value, int):
        return f"{value:,}"
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)
