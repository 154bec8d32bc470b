"""Numbers on the command line: 1e6 is a whole number, a comma makes a sweep, and printing rounds to the safe side."""

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from shuffledp.cli.option_names import as_flags
from shuffledp.core import number_text
from shuffledp.errors import InvalidInput

_PADDED = re.compile(r"e(-?)0+")
_Number = TypeVar("_Number", int, float)


class Real(click.ParamType):  # type: ignore[type-arg]
    """A real number as people type it: 0.1, 1e-6."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The nearest double of a decimal number."""
        return _read(self, number_text.real, value, param, ctx)


class Whole(click.ParamType):  # type: ignore[type-arg]
    """One whole number; 1e6 is one."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The integer that the text stands for."""
        return _read(self, number_text.whole, value, param, ctx)


class WholeRange(click.IntRange):
    """A whole number within limits."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        return _within(self, Whole().convert(value, param, ctx), param, ctx)


class RealRange(click.FloatRange):
    """A real number within limits."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        return _within(self, Real().convert(value, param, ctx), param, ctx)


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
        """Each as `Whole` does; 1,000 is one and none, and was not meant."""
        if re.fullmatch(r"\s*\d{1,3}(,\d{3})+\s*", str(value)) and re.search(",0", str(value)):
            self.fail(
                f"a comma stands between several values, and {str(value)!r} would be "
                f"{' and '.join(str(value).split(','))}. Write {str(value).replace(',', '').strip()}, or blanks after commas.",
                param, ctx,
            )  # fmt: skip
        return tuple(Whole().convert(text.strip(), param, ctx) for text in str(value).split(","))


def _read(
    kind: click.ParamType,  # type: ignore[type-arg]
    read: Callable[[str], _Number],
    value: Any,
    param: click.Parameter | None,
    ctx: click.Context | None,
) -> _Number:
    try:
        return read(str(value))
    except InvalidInput as refusal:
        kind.fail(as_flags(str(refusal)), param, ctx)


def _within(
    kind: WholeRange | RealRange, number: _Number, param: click.Parameter | None, ctx: click.Context | None
) -> _Number:
    low, high = kind.min, kind.max
    if low is not None and (number < low or (kind.min_open and number == low)):
        kind.fail(f"{number} is too small. Give {'more than' if kind.min_open else 'at least'} {low}.", param, ctx)
    if high is not None and number > high:
        kind.fail(f"{number} is too large. Give at most {high}.", param, ctx)
    return number


def given(value: object) -> str:
    """An input as it was understood, in full."""
    if isinstance(value, int):
        return f"{value:,}"
    if not isinstance(value, float):
        return str(value)
    return _PADDED.sub(r"e\1", repr(value).removesuffix(".0").replace("e+", "e"))
