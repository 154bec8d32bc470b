"""`--separator` and `--decimal`: how a CSV file is written."""

from collections.abc import Callable
from typing import Any, Final

import click

_TABS: Final = ("tab", "\\t")


class _Separator(click.ParamType):  # type: ignore[type-arg]
    """One character; a tab, which shells make hard to write, may be spelled out."""

    name = "character"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ARG002
        return "\t" if value in _TABS else str(value)


def separator_options(command: Callable[..., None]) -> Callable[..., None]:
    """Both, for a command that reads a CSV file."""
    separator = click.option(
        "--separator",
        type=_Separator(),
        default=",",
        show_default=True,
        help="Character between the cells of the CSV file; tab for a tab.",
    )
    decimal = click.option(
        "--decimal",
        metavar="MARK",
        default=".",
        show_default=True,
        help="Mark before the decimals of numbers in the CSV file: a point or a comma.",
    )
    return separator(decimal(command))
