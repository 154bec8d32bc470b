"""Numbers on the command line: 1e6 is a whole number, a comma makes a sweep, and printing rounds to the safe side."""

from decimal import Decimal, InvalidOperation
from typing import Any

import click

from shuffledp.accounting.solve import Quantity
from shuffledp.core.digits import rounded_down, rounded_up


class Real(click.ParamType):  # type: ignore[type-arg]
    """One real number."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The nearest double of a decimal number."""
        return float(_decimal(self, value, param, ctx))


class Whole(click.ParamType):  # type: ignore[type-arg]
    """One whole number; 1e6 is one."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The integer that the text stands for."""
        number = _decimal(self, value, param, ctx)
        if number != number.to_integral_value():
            self.fail(f"{value} is not a whole number. Give a count, e.g. 1000 or 1e6.", param, ctx)
        return int(number)


class Reals(click.ParamType):  # type: ignore[type-arg]
    """One real number, or several separated by commas."""

    name = "number[,number...]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, ...]:
        """Each as `Real` does."""
        return tuple(Real().convert(text.strip(), param, ctx) for text in str(value).split(","))


class Wholes(click.ParamType):  # type: ignore[type-arg]
    """One whole number, or several separated by commas."""

    name = "number[,number...]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Each as `Whole` does."""
        return tuple(Whole().convert(text.strip(), param, ctx) for text in str(value).split(","))


def _decimal(kind: Real | Whole, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:
    text = str(value).strip()
    if "," in text:
        kind.fail(f"{text!r} is not a single number. Give one number, with a decimal point: 0.5, 1e6.", param, ctx)
    try:
        number = Decimal(text)
    except InvalidOperation:
        kind.fail(f"{text!r} is not a number. Write it like 0.5, 1e6 or 1e-6.", param, ctx)
    if not number.is_finite() or (number != 0 and not -308 < number.adjusted() < 308):
        kind.fail(f"{text} is not a usable number. Give 0 or one from 1e-307 to 1e307.", param, ctx)
    return number


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
