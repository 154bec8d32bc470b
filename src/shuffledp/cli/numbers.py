"""Numbers on the command line: 1e6 is a whole number, a comma makes a sweep, and printing rounds to the safe side."""

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from shuffledp.cli.flags import as_flags
from shuffledp.core import written
from shuffledp.errors import InvalidInput

_PADDED = re.compile(r"e(-?)0+")
_Number = TypeVar("_Number", int, float)


class Real(click.ParamType):  # type: ignore[type-arg]
    """One real number."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The nearest double of a decimal number."""
        return _read(self, written.real, value, param, ctx)


class Whole(click.ParamType):  # type: ignore[type-arg]
    """One whole number; 1e6 is one."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The integer that the text stands for."""
        return _read(self, written.whole, value, param, ctx)


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


def given(value: object) -> str:
    """An input as it was understood, in full."""
    if isinstance(value, int):
        return f"{value:,}"
    if not isinstance(value, float):
        return str(value)
    return _PADDED.sub(r"e\1", repr(value).removesuffix(".0").replace("e+", "e"))
