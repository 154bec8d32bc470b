"""Options of commands that read rows: which ones, of whom, and what becomes of values that do not fit."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import click

from shuffledp.cli.csv_options import separator_options
from shuffledp.cli.keyword import Choice, Registered
from shuffledp.cli.numbers import Whole
from shuffledp.cli.spark_options import SPARK_OPTIONS, chosen_engine
from shuffledp.cluster.spark_session import session
from shuffledp.engines.engine import Engine
from shuffledp.engines.registry import ENGINES
from shuffledp.engines.spark import Spark
from shuffledp.errors import InvalidInput
from shuffledp.sources.file_source import FileSource
from shuffledp.sources.source import Source
from shuffledp.sources.spark_table import SparkSource, spark_table
from shuffledp.sources.table_files import files_like

_FILE = click.Path(dir_okay=False, path_type=Path)


def _stand_ins(_: click.Context, option: click.Parameter, given: tuple[str, ...]) -> str | None:
    """What values count as: one text, or one for each of several names, as a JSON object."""
    if len(given) <= 1:
        return given[0] if given else None
    named = [one.partition("=") for one in given]
    names = [name.strip() for name, _, _ in named]
    if not all(equals and name for name, (_, equals, _) in zip(names, named, strict=True)):
        raise click.UsageError(f"{option.opts[0]} is given {len(given)} times. Give it once, or NAME=VALUE each time.")
    if len(set(names)) < len(names):
        raise click.UsageError(f"{option.opts[0]} names a column twice. Give one value for each.")
    return json.dumps(dict(zip(names, (value.strip() for _, _, value in named), strict=True)))


_POLICY: Final = [
    click.option(
        "--missing",
        type=Choice(["refuse", "skip"]),
        default="refuse",
        show_default=True,
        help="What to do with missing values. In a CSV file these are empty cells and NA, N/A, NaN, nan, null, NULL, None "
        "without quotation marks, unless the plan has such a label. Those of a query or an export cannot be skipped.",
    ),
    click.option(
        "--missing-as",
        metavar="VALUE",
        multiple=True,
        callback=_stand_ins,
        help="Count missing values as this bin or number; of a survey NAME=VALUE, as often as needed, or a JSON object.",
    ),
    click.option(
        "--outside",
        type=Choice(["refuse", "clamp"]),
        default="refuse",
        show_default=True,
        help="What to do with numbers outside the plan's range.",
    ),
    click.option(
        "--match",
        type=Choice(["exactly", "loosely"]),
        default="exactly",
        show_default=True,
        help="How labels are compared: letter by letter, or ignoring case, surrounding blanks and a final .0.",
    ),
    click.option(
        "--other",
        metavar="LABEL",
        multiple=True,
        callback=_stand_ins,
        help="Count labels that the plan does not list as this one; of a survey as for --missing-as.",
    ),
]
"""What becomes of values that do not fit."""
_OPTIONS: Final = [
    click.argument("plan", type=_FILE),
    click.argument("data", type=_FILE, required=False),
    click.option(
        "--files",
        metavar="PATTERN",
        help='Instead of DATA: all files that match, e.g. "people/day-??.parquet", in the order of their names.',
    ),
    click.option("--column", help="Column with the values."),
    click.option("--query", help="SQL expression over the columns of one row, instead of a column."),
    *_POLICY,
    click.option(
        "--explain-errors",
        is_flag=True,
        help="For the owner of the rows only: show which row a query fails on and why, and how many answers were adjusted.",
    ),
    click.option(
        "--user", metavar="COLUMN", help="Column that says whose row it is; a second row of the same person is refused."
    ),
    click.option(
        "--max-rows-per-user", type=Whole(), help="Use at most this many rows per person, and account for all of them."
    ),
    click.option(
        "--row-id",
        metavar="COLUMN",
        help="Column with a different whole number in each row, which fixes the row's randomness wherever the row stands.",
    ),
    click.option("--multiline", is_flag=True, help="Cells of the CSV file may contain line breaks."),
    click.option(
        "--engine",
        type=Registered(ENGINES.keys),
        default="arrow",
        show_default=True,
        help="What runs the plan; all engines give the same answer.",
    ),
    *SPARK_OPTIONS,
    click.option("--table", metavar="NAME", help="Instead of DATA: a table that Spark knows; needs --row-id."),
]


def row_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command with all of them."""
    return _with(_OPTIONS, separator_options(command))


def policy_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command with those about values that do not fit."""
    return _with(_POLICY, command)


def _with(options: list[Any], command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(options):
        command = option(command)
    return command


class ChosenRows(NamedTuple):
    """Where rows come from: their files if there are any, all of them as a source, and the engine that reads it."""

    paths: list[Path]
    source: Source
    engine: Engine


@contextmanager
def chosen_rows(
    data: Path | None, files: str | None, table: str | None, *, engine: str, master: str | None, remote: str | None,
    multiline: bool, separator: str, decimal: str, **columns: Any,
) -> Iterator[ChosenRows]:  # fmt: skip
    """The rows of one file, of those like a pattern, or of a table of Spark, while a session of Spark lasts if one is needed."""
    if sum(given is not None for given in (data, files, table)) != 1:
        raise InvalidInput(
            "the rows come from one file, from all files that match a pattern, or from a Spark table. "
            "Give DATA or --files, or --table."
        )
    written: dict[str, Any] = {"multiline": multiline, "separator": separator, "decimal": decimal}
    if table is None:
        paths = [data] if data is not None else files_like(files or "")
        source = FileSource(paths, **columns, **written)
        with chosen_engine(engine, master, remote) as chosen:
            yield ChosenRows(paths, source, chosen)
        return
    if engine != Spark.name:
        raise InvalidInput("only Spark knows tables by name. Use --engine spark.")
    if written != {"multiline": False, "separator": ",", "decimal": "."}:
        raise InvalidInput("a table of Spark is not a CSV file. Leave out --multiline, --separator and --decimal.")
    with session(master=master, remote=remote) as spark:
        yield ChosenRows([], SparkSource(spark_table(spark, table), **columns), Spark(spark))
