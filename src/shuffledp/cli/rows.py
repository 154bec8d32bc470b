"""Options of commands that read rows: which ones, of whom, and what becomes of values that do not fit."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from shuffledp.cli.numbers import Whole
from shuffledp.cli.separators import separator_options
from shuffledp.engines.registry import ENGINES
from shuffledp.engines.tables import files_like
from shuffledp.errors import InvalidInput

_FILE = click.Path(dir_okay=False, path_type=Path)
_OPTIONS: Final = [
    click.argument("plan", type=_FILE),
    click.argument("data", type=_FILE, required=False),
    click.option(
        "--files",
        metavar="PATTERN",
        help='Instead of DATA: all files like this, e.g. "people/day-??.parquet", in the order of their names.',
    ),
    click.option("--column", help="Column with the values."),
    click.option("--query", help="SQL expression over the columns of one row, instead of a column."),
    click.option(
        "--missing",
        type=click.Choice(["refuse", "skip"]),
        default="refuse",
        show_default=True,
        help="What to do with missing values.",
    ),
    click.option("--missing-as", metavar="VALUE", help="Count missing values as this bin or number."),
    click.option(
        "--outside",
        type=click.Choice(["refuse", "clamp"]),
        default="refuse",
        show_default=True,
        help="What to do with numbers outside the plan's range.",
    ),
    click.option("--other", metavar="LABEL", help="Count labels that the plan does not list as this one."),
    click.option(
        "--user", metavar="COLUMN", help="Column that says whose row it is; a second row of the same person is refused."
    ),
    click.option(
        "--max-rows-per-user", type=Whole(), help="Use at most this many rows per person, and account for all of them."
    ),
    click.option(
        "--row-id",
        metavar="COLUMN",
        help="Column with another whole number for each row: its randomness is that of its number, wherever it stands.",
    ),
    click.option("--multiline", is_flag=True, help="Cells of the CSV file may contain line breaks."),
    click.option(
        "--engine",
        type=click.Choice(list(ENGINES)),
        default="arrow",
        show_default=True,
        help="What runs the plan; all engines give the same answer.",
    ),
]


def row_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command with all of them."""
    command = separator_options(command)
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def chosen_files(data: Path | None, files: str | None) -> list[Path]:
    """The one file, or those like a pattern."""
    if (data is None) == (files is None):
        raise InvalidInput("the rows come from either one file or all files like a pattern. Give DATA or --files.")
    return [data] if data is not None else files_like(files or "")
